import DriftlessSQLite
import Foundation

/// A store's file without all that Driftless adds: as Core Data wrote files before it kept models in them.
enum StrippedFile {
  static func make(at url: URL) throws {
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { raw.close() }
    for row in try raw.rows(
      "SELECT name FROM sqlite_master WHERE name GLOB 'ZDL_*' AND type = 'table'")
    {
      if case .text(let name) = row[0] { try raw.execute("DROP TABLE \"\(name)\"") }
    }
    let hashes = ["NSStoreModelVersionHashes": ["Item": Data([1])]]
    let plist = try PropertyListSerialization.data(
      fromPropertyList: hashes, format: .binary, options: 0)
    try raw.run("UPDATE Z_METADATA SET Z_PLIST = ?", .blob(plist))
    _ = try raw.rows("PRAGMA journal_mode = DELETE")
  }

  static func execute(_ sql: String, at url: URL) throws {
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { raw.close() }
    try raw.execute(sql)
  }
}
