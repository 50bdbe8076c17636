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

extension PersistentStore {
  /// Looks whether the store still lies in the file that it was made in. One that was copied, put back from a backup or moved
  /// to another disk does not: objects made in it from now on get identities that the original never gives out, and before it
  /// syncs it becomes another incarnation of its replica. The objects that are there keep their identities.
  package func settleFileIdentity() throws {
    guard let url, !isReadOnly, let present = FileIdentity.of(url.path),
      try read({ try $0.setting(FileIdentity.setting) }) != .text(present)
    else { return }
    _ = try write(TransactionInfo()) { transaction in
      if case .text(let kept)? = try transaction.setting(FileIdentity.setting),
        !FileIdentity.isSame(kept, present)
      {
        try transaction.renewMintPrefix()
        try transaction.setSetting(FileIdentity.copySetting, .integer(1))
      }
      try transaction.setSetting(FileIdentity.setting, .text(present))
    }
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
