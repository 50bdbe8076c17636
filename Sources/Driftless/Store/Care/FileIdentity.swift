import DriftlessSQLite
import Foundation

/// Which file a store lies in, kept in the store itself: a file that was copied tells by it that it is another one.
enum FileIdentity {
  /// The setting with the device and the number of the file.
  static let setting = "file"
  /// The setting of a store that turned out to be a copy, until its engine has taken note.
  static let copySetting = "isCopy"

  /// `DEVICE:NUMBER`; nil for what is no file.
  static func of(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return "\(status.st_dev):\(status.st_ino)"
  }

  /// Notes in a copy that it is one, wherever it is put: even in the place of the original.
  static func markCopy(_ connection: SQLiteConnection) throws {
    guard try StoreFile.hasTable("ZDL_STORE", connection) else { return }
    try connection.run("INSERT OR REPLACE INTO ZDL_STORE VALUES (?, 'copy')", .text(setting))
  }

  /// Gives a file that took another's place what that one had noted.
  static func keep(_ notes: [[SQLiteValue]], in connection: SQLiteConnection) throws {
    guard try StoreFile.hasTable("ZDL_STORE", connection) else { return }
    try connection.execute("BEGIN IMMEDIATE")
    try connection.run(
      "DELETE FROM ZDL_STORE WHERE key IN (?, ?)", .text(setting), .text(copySetting))
    for note in notes {
      try connection.run("INSERT INTO ZDL_STORE VALUES (?, ?)", note[0], note[1])
    }
    try connection.execute("COMMIT")
  }

  static func notes(_ connection: SQLiteConnection) throws -> [[SQLiteValue]] {
    guard try StoreFile.hasTable("ZDL_STORE", connection) else { return [] }
    return try connection.rows(
      "SELECT key, value FROM ZDL_STORE WHERE key IN (?, ?)", .text(setting), .text(copySetting))
  }

  /// Whether two are of one file. A device may have another number after it was mounted anew.
  static func isSame(_ one: String, _ other: String) -> Bool {
    one.split(separator: ":").last == other.split(separator: ":").last
  }
}

/// How far a store's history had come at the last commit, written into the lock file beside the store. An older content
/// that was written back into the same file is recognised by it: its history ends before the mark.
///
/// It is written after the commit and not waited for, so it may be behind the store, which tells nothing. Only where the
/// store lost commits, as it may without full durability, is it ahead; then those commits are as lost as those of a store that
/// was put back, and the same follows.
struct CommitMark: Hashable {
  static let byteCount = 24

  let store: UUID
  let number: Int64

  init(store: String, number: Int64) {
    self.store = UUID(uuidString: store) ?? Self.unknown
    self.number = number
  }

  private static let unknown = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// The store's UUID, and the number of the newest transaction, the lowest byte first.
  var bytes: [UInt8] {
    withUnsafeBytes(of: store.uuid) { Array($0) }
      + withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let store = UUID(networkBytes: Data(bytes.prefix(16)))
    else { return nil }
    self.store = store
    number = bytes.suffix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
  }
}

extension PersistentStore {
  /// Looks whether the store still lies in the file that it was made in, and goes on where it was. One that was copied, put
  /// back from a backup or moved to another disk does not: objects made in it from now on get identities that the original
  /// never gives out, and before it syncs it becomes another incarnation of its replica. The objects that are there keep
  /// their identities.
  package func settleFileIdentity() throws {
    guard let url, !isReadOnly, let present = FileIdentity.of(url.path) else { return }
    // Read before the history, which may go on meanwhile.
    let mark = connections.mark
    let (kept, newest) = try read {
      (try $0.setting(FileIdentity.setting), try $0.maximumTransactionNumber())
    }
    let isBehind = mark.map {
      $0.store == CommitMark(store: identifier, number: 0).store && $0.number > newest
    }
    guard kept != .text(present) || isBehind == true else { return }
    _ = try write(TransactionInfo()) { transaction in
      var isOther = isBehind == true
      if case .text(let kept)? = kept, !FileIdentity.isSame(kept, present) { isOther = true }
      if isOther {
        try transaction.renewMintPrefix()
        try transaction.setSetting(FileIdentity.copySetting, .integer(1))
      }
      try transaction.setSetting(FileIdentity.setting, .text(present))
    }
    connections.announce(CommitMark(store: identifier, number: newest))
  }
}

extension WriteTransaction {
  /// Whether the store turned out to be a copy since the last call.
  package func takeCopyNote() throws -> Bool {
    guard try setting(FileIdentity.copySetting) != nil else { return false }
    try setSetting(FileIdentity.copySetting, nil)
    return true
  }
}
