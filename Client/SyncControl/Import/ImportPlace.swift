import Crypto
import Driftless
import DriftlessSQLite
import Foundation

/// Until where an import of a file came that adds to numbers, and has not reached its end: an import that is killed cannot say
/// it, and who imports the file again from its beginning adds twice. It is kept in the store, in the transaction of what is
/// saved up to there.
struct ImportPlace: Equatable {
  static let setting = "import.place"
  /// How many bytes at the file's beginning, and before the place, tell it from another one.
  private static let comparedBytes = 4096

  /// The last line that is saved, and the bytes up to its end.
  var line: Int
  var position: Int
  private var digest: String

  /// Nil of a pipe, whose beginning is not kept.
  init?(_ reader: LineReader, of bytes: ImportBytes) throws(ImportBytes.ReadFailure) {
    try self.init(line: reader.number, position: reader.position, of: bytes)
  }

  private init?(line: Int, position: Int, of bytes: ImportBytes) throws(ImportBytes.ReadFailure) {
    let count = min(position, Self.comparedBytes)
    guard let beginning = try bytes.bytes(at: 0, count: count),
      let end = try bytes.bytes(at: position - count, count: count)
    else { return nil }
    var hash = SHA256()
    hash.update(data: beginning)
    hash.update(data: end)
    self.line = line
    self.position = position
    digest = hash.finalize().prefix(16).map { String(format: "%02x", $0) }.joined()
  }

  /// What a store has of it; nil where it has none, or one that cannot be read.
  init?(in store: PersistentStore) throws {
    guard case .text(let text)? = try store.read({ try $0.setting(Self.setting) }) else {
      return nil
    }
    let parts = text.split(separator: " ")
    guard parts.count == 3, let line = Int(parts[0]), let position = Int(parts[1]), line > 0,
      position > 0
    else { return nil }
    self.line = line
    self.position = position
    digest = String(parts[2])
  }

  /// Whether a file has, up to the place, the bytes of the one that was imported.
  func isIn(_ bytes: ImportBytes) throws(ImportBytes.ReadFailure) -> Bool {
    try ImportPlace(line: line, position: position, of: bytes) == self
  }

  func keep(in transaction: WriteTransaction) throws {
    try transaction.setSetting(Self.setting, .text("\(line) \(position) \(digest)"))
  }

  static func drop(in store: PersistentStore) throws {
    _ = try store.write(TransactionInfo()) { try $0.setSetting(setting, nil) }
  }
}
