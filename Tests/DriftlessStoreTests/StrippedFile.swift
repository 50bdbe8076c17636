import DriftlessSQLite
import Foundation

@testable import Driftless

/// A store's file without all that Driftless adds: as Core Data would have written it, but for its model's copy.
enum StrippedFile {
  /// - Parameter history: Whether the tables of the history stay.
  static func make(at url: URL, history: Bool = true, _ sql: String = "") throws {
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { raw.close() }
    // A trigger or an index of the tables may call functions of ours.
    try SQLFunction.register(on: raw)
    let names = try raw.rows("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap {
      if case .text(let name) = $0[0] { name } else { nil }
    }
    for name in names
    where name.hasPrefix("ZDL_")
      || (!history && ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"].contains(name))
    {
      try raw.execute("DROP TABLE \"\(name)\"")
    }
    if !history { try raw.execute("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT >= 16000") }
    var hashes: [String: Data] = [:]
    for row in try raw.rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 16000") {
      if case .text(let name) = row[0] { hashes[name] = Data(name.utf8) }
    }
    let plist = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreModelVersionHashes": hashes], format: .binary, options: 0)
    try raw.run("UPDATE Z_METADATA SET Z_PLIST = ?", .blob(plist))
    if !sql.isEmpty { try raw.execute(sql) }
    _ = try raw.rows("PRAGMA journal_mode = DELETE")
    for suffix in ["-driftless-lock", "-driftless-file"] {
      try? FileManager.default.removeItem(atPath: url.path + suffix)
    }
  }
}
