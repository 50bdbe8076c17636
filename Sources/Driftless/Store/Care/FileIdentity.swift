import DriftlessSQLite
import Foundation

/// Which file a store lies in, kept in the store itself: a file that was copied, or put back, tells by it that it is another
/// one.
///
/// It is the number of the file, which file systems hand out again, with the time at which the file was made; and the
/// machine. In a store that syncs it is also the same of a symbolic link beside it (the *anchor*), since `cp` writes into a
/// file that is there, and leaves its number and time as they are. A link cannot be written into: whoever puts a folder
/// back makes it anew. It leads to the lock file, so that it is no loose end to those who follow it.
///
/// A disk that was copied whole is the same by all of these. There the zone tells: two replicas of one name send other
/// bytes under one push number, and transactions of other names make one identity.
struct FileIdentity: Hashable {
  /// The setting with the file.
  static let setting = "file"
  /// The setting of a store that turned out to be a copy, until its engine has taken note.
  static let copySetting = "isCopy"
  static let anchorSuffix = "-driftless-file"

  /// A file, and when it was made, where the file system says so.
  struct Mark: Hashable {
    let inode: UInt64
    let birth: Int64?

    var text: String { "\(inode)." + (birth.map { "\($0)" } ?? "") }

    init(_ status: FileStatus) {
      inode = status.inode
      birth = status.birth
    }

    init?(text: some StringProtocol) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard let inode = parts.first.flatMap({ UInt64($0) }) else { return nil }
      self.inode = inode
      birth = parts.count > 1 ? Int64(parts[1]) : nil
    }

    func isSame(_ other: Mark) -> Bool {
      inode == other.inode && (birth == nil || other.birth == nil || birth == other.birth)
    }
  }

  let file: Mark
  /// A digest of the machine's ID; nil where it has none.
  let machine: String?
  var anchor: Mark?
  /// Whether it was noted by a version that knew no more than the number of the file.
  private let isPartial: Bool

  /// Nil for what is no file.
  init?(of path: String) {
    guard let status = FileStatus(path) else { return nil }
    file = Mark(status)
    machine = Self.machine
    anchor = Self.anchor(of: path)
    isPartial = false
  }

  /// As it is kept: the file, the machine and the anchor, or `DEVICE:NUMBER`. Nil for a store that is a copy.
  init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    if parts.count == 3, let file = Mark(text: parts[0]) {
      self.file = file
      machine = parts[1].isEmpty ? nil : String(parts[1])
      anchor = Mark(text: parts[2])
      isPartial = false
    } else if let number = text.split(separator: ":").last, let file = Mark(text: number) {
      self.file = file
      machine = nil
      anchor = nil
      isPartial = true
    } else {
      return nil
    }
  }

  var text: String { "\(file.text) \(machine ?? "") \(anchor?.text ?? "")" }

  func isSame(_ other: FileIdentity) -> Bool {
    guard file.isSame(other.file) else { return false }
    if isPartial || other.isPartial { return true }
    if let machine, let theirs = other.machine, machine != theirs { return false }
    switch (anchor, other.anchor) {
    case (nil, nil): return true
    case (let anchor?, let theirs?): return anchor.isSame(theirs)
    case (nil, _?), (_?, nil): return false
    }
  }

  private static func anchor(of path: String) -> Mark? {
    guard let status = FileStatus(path + anchorSuffix), status.isSymbolicLink else { return nil }
    return Mark(status)
  }

  /// Makes the anchor of a store that has none. Where it cannot be made, the store does without.
  static func makeAnchor(of path: String) -> Mark? {
    let name = (path as NSString).lastPathComponent
    guard symlink(name + "-driftless-lock", path + anchorSuffix) == 0 else { return nil }
    return anchor(of: path)
  }

  /// Whether a link can be made beside a store, whose own name nothing else has.
  static func canMakeAnchor(of path: String) -> Bool {
    guard FileStatus(path + anchorSuffix) == nil else { return false }
    let trial = path + anchorSuffix + "-\(getpid())"
    guard symlink("none", trial) == 0 else { return errno == EEXIST }
    unlink(trial)
    return true
  }

  private static let machine: String? = {
    guard let text = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8) else {
      return nil
    }
    let id = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard id.count == 32 else { return nil }
    // The ID itself is the machine's secret.
    return SHA256Digest.hash(Array("driftless machine \(id)".utf8)).prefix(8)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }()

  // MARK: In a store

  private static let copyNote = SQLiteValue.text("copy")

  /// Notes in a copy that it is one, wherever it is put: even in the place of the original.
  static func markCopy(_ connection: SQLiteConnection) throws {
    guard try StoreSettings.exist(on: connection) else { return }
    try StoreSettings.set(setting, copyNote, on: connection)
  }

  /// Whether what a file notes of itself is that it is a copy.
  static func isOfCopy(_ note: SQLiteValue) -> Bool { note == copyNote }

  /// Gives a file that took another's place what that one had noted.
  static func keep(_ notes: Notes, in connection: SQLiteConnection) throws {
    guard try StoreSettings.exist(on: connection) else { return }
    try connection.transaction(.immediate) {
      try StoreSettings.set(setting, notes.identity, on: connection)
      try StoreSettings.set(copySetting, notes.isCopy, on: connection)
    }
  }

  static func notes(_ connection: SQLiteConnection) throws -> Notes {
    guard try StoreSettings.exist(on: connection) else { return (nil, nil) }
    let notes = try StoreSettings.values(of: setting, copySetting, on: connection)
    return (notes.first, notes.second)
  }

  /// What a file notes of itself.
  typealias Notes = (identity: SQLiteValue?, isCopy: SQLiteValue?)
}

/// What tells a file from all others of the host, as long as somebody has it open.
struct FileNumber: Hashable {
  fileprivate let device: UInt64
  fileprivate let inode: UInt64

  /// Nil when there is no file. A symbolic link is followed.
  init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }
}

extension PersistentStore {
  /// What tells the store's file from all others of the host, under whatever path, and from those that get its number when
  /// it is gone; nil for a store in memory, or whose file is gone.
  package var fileMark: String? {
    guard let url, let number = FileNumber(of: url.path) else { return nil }
    // When a file was made is not known of the one that a link leads to.
    let birth = FileStatus(StorePath.resolved(url).path)?.birth
    return "\(number.text) " + (birth.map { "\($0)" } ?? "")
  }
}

extension FileNumber {
  /// The device and the number.
  var text: String { "\(device):\(inode)" }

  /// The bytes of a file; nil when there is none.
  static func size(of path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }
}

extension PersistentStore {
  /// Looks whether the store still lies in the file that it was made in, and goes on where it was. One that was copied, put
  /// back from a backup or moved to another disk does not: objects made in it from now on get identities that the original
  /// never gives out, and before it syncs it becomes another replica. The objects that are there keep their identities.
  package func checkFileIdentity() throws {
    guard let url, !isReadOnly, let look = try read({ try look(at: url.path, $0) }),
      !look.isAsNoted
    else { return }
    // Where the anchor cannot be made, the store does without, and need not wait for others.
    if look.needsAnchor, look.isNoted, !FileIdentity.canMakeAnchor(of: url.path) { return }
    var made: FileIdentity.Mark?
    do {
      // Another process may have made the anchor, and not have noted it, while this one looked: what is done is done by what
      // stands there when nobody else writes.
      let (newest, _) = try write(TransactionInfo()) { transaction -> Int64? in
        guard var look = try self.look(at: url.path, transaction), !look.isAsNoted else {
          return nil
        }
        let isOther = look.isOther
        if look.needsAnchor {
          made = FileIdentity.makeAnchor(of: url.path)
          look.present.anchor = made
        }
        if isOther {
          try transaction.renewMintPrefix()
          try transaction.setSetting(FileIdentity.copySetting, .integer(1))
        }
        if look.lostCommits > 0 { try transaction.noteLostCommits(look.lostCommits, at: now) }
        try transaction.setSetting(FileIdentity.setting, .text(look.present.text))
        return look.newest
      }
      if let newest { connections.announce(CommitMark(store: identifier, number: newest)) }
    } catch {
      // Not noted, it would look like that of another file.
      if made != nil { unlink(url.path + FileIdentity.anchorSuffix) }
      throw error
    }
  }

  /// Whether the store's file is another than the one that its notes are of: a copy, or that one put back, which has not synced since.
  package func isOfOtherFile(_ transaction: ReadTransaction) throws -> Bool {
    guard try !transaction.isNotedAsCopy else { return true }
    guard let url, try transaction.setting(FileIdentity.setting) != nil else { return false }
    return try look(at: url.path, transaction)?.isOther ?? false
  }

  /// What a store notes of its file, beside what that is.
  private struct FileLook {
    var present: FileIdentity
    let kept: SQLiteValue?
    let syncs: Bool
    let newest: Int64
    /// Transactions that were announced, and that the file does not have.
    let lostCommits: Int64

    var needsAnchor: Bool { syncs && present.anchor == nil }

    var isOther: Bool {
      guard lostCommits == 0, case .text(let text)? = kept else { return lostCommits > 0 }
      return FileIdentity(text: text).map { !$0.isSame(present) } ?? true
    }

    /// Whether what it notes is what is there.
    var isNoted: Bool { !isOther && kept == .text(present.text) }

    var isAsNoted: Bool { isNoted && !needsAnchor }
  }

  /// Nil where the file is gone.
  private func look(at path: String, _ transaction: ReadTransaction) throws -> FileLook? {
    // Read before the history, which may go on meanwhile.
    let mark = connections.mark
    let kept = try transaction.setting(FileIdentity.setting)
    // And the file after the note of it, whose anchor was there before.
    guard let present = FileIdentity(of: path) else { return nil }
    let newest = try transaction.maximumTransactionNumber()
    let isOfStore = mark?.store == CommitMark(store: identifier, number: 0).store
    return FileLook(
      present: present, kept: kept,
      syncs: try transaction.setting(StoreSettings.syncing) != nil, newest: newest,
      lostCommits: isOfStore ? max(0, (mark?.number ?? 0) - newest) : 0)
  }
}

extension ReadTransaction {
  /// Whether the store turned out to be a copy, and its engine has not taken note.
  package var isNotedAsCopy: Bool {
    get throws { try setting(FileIdentity.copySetting) != nil }
  }
}

extension WriteTransaction {
  /// Whether the store turned out to be a copy since the last call.
  package func takeCopyNote() throws -> Bool {
    guard try isNotedAsCopy else { return false }
    try setSetting(FileIdentity.copySetting, nil)
    return true
  }
}
