import DriftlessSQLite
import Foundation
import Synchronization

/// The files that the connections of a store have open: the file itself, its log, the log's memory that all who have it open
/// share, and its lock.
///
/// SQLite goes on with files that were moved, removed or replaced underneath it: what is saved then is in a file that nobody
/// else sees, and two logs of one file give pages of two times. So they are looked at before each write, and before reads
/// now and then. As long as a connection is open nobody who keeps to the rules removes any of them.
final class OpenedFiles: Sendable {
  /// What became of them.
  struct Change: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      /// The file is no more under its name.
      case moved
      /// Another file has its name.
      case replaced
      /// The file is there, and one beside it is not.
      case besideGone
      case besideReplaced
    }

    let kind: Kind
    let store: String
    /// The file that is meant.
    let path: String
  }

  /// What lies at a store's place before it is opened.
  struct Look {
    private let path: String
    private let numbers: [String: FileNumber]
    /// Nanoseconds since 1970.
    private let time: Int64
    private static let suffixes = ["", "-wal", "-shm"]

    init(url: URL, at date: Date = Date()) {
      path = url.path
      let path = path
      time = Int64(date.timeIntervalSince1970 * 1e9)
      numbers = Dictionary(
        Self.suffixes.compactMap { suffix in FileNumber(of: path + suffix).map { (suffix, $0) } },
        uniquingKeysWith: { first, _ in first })
    }

    /// Whether other files were put there since. Those beside the store that were made since are its own.
    var isChanged: Bool {
      Self.suffixes.contains { suffix in
        let present = FileNumber(of: path + suffix)
        guard present != numbers[suffix] else { return false }
        if suffix.isEmpty, numbers[suffix] != nil { return true }
        // The system's clock for files is somewhat behind.
        return FileStatus(path + suffix)?.birth.map { $0 < time - 1_000_000_000 } ?? false
      }
    }
  }

  private let path: String
  /// The file that the connections have; nil where it was gone as soon as it was open.
  let file: FileNumber?
  private let beside: [(path: String, number: FileNumber)]
  private let lastLook = Mutex(ContinuousClock.now)

  /// Made when the store's writer has the file and its log open.
  ///
  /// - Parameter followsBeside: Whether those beside it count: they do not for who only looks at the file.
  init(url: URL, followsBeside: Bool) {
    path = url.path
    file = FileNumber(of: path)
    beside =
      followsBeside
      ? [WriteAheadLog.path(of: url), url.path + "-shm", url.path + "-driftless-lock"]
        .compactMap { path in FileNumber(of: path).map { (path, $0) } }
      : []
  }

  /// Looks at each of them; nil when they are what they were.
  func change() -> Change? {
    guard let file else { return nil }
    let present = FileNumber(of: path)
    guard present == file else {
      return Change(kind: present == nil ? .moved : .replaced, store: path, path: path)
    }
    for (path, number) in beside {
      let present = FileNumber(of: path)
      if present == number { continue }
      return Change(
        kind: present == nil ? .besideGone : .besideReplaced, store: self.path, path: path)
    }
    return nil
  }

  /// - Throws: `StoreError` with code `fileReplaced`.
  func check() throws {
    if let change = change() { throw change.error }
  }

  /// The same for who asks often: it looks some times a second.
  func checkNowAndThen() throws {
    let now = ContinuousClock.now
    let isDue = lastLook.withLock { last in
      guard now - last >= StoreTuning.filesLookInterval else { return false }
      last = now
      return true
    }
    if isDue { try check() }
  }

  /// Whether SQLite may have said this of bytes of two files, of which each is whole: it names a failing disk then, or damage.
  static func mayBeMixed(_ error: SQLiteError) -> Bool {
    error.isReadOrWriteFailure || error.isCorrupt || error.isNotADatabase || error.cannotOpen
  }

  /// What SQLite said; or what became of the files meanwhile, where that is why.
  func told(_ error: SQLiteError, path: String) -> StoreError {
    if Self.mayBeMixed(error), let change = change() { return change.error }
    return StoreError(error, path: path)
  }

  /// Files were moved or replaced between the opening of the first and the last of them.
  static func changedMeanwhile(_ path: String) -> StoreError {
    StoreError(
      .fileReplaced, "\(path) was moved or replaced while it was opened.",
      suggestion: "Put what belongs together in its place, and open the store again.")
  }

  /// Whether the file that is open lies at another place by now.
  func areMoved(to place: URL) -> Bool {
    guard let file, change()?.kind == .moved else { return false }
    return FileNumber(of: place.path) == file
  }

  /// Whether what the removed log held may be put into the file: the file is the one that is open, and nobody has begun
  /// another log, or works by another lock.
  ///
  /// - Parameter place: Where the file is.
  func canBeCompleted(at place: URL) -> Bool {
    guard let file, FileNumber(of: place.path) == file else { return false }
    return beside.allSatisfy { path, number in
      guard let present = FileNumber(of: path) else { return true }
      // Who opened the file since has made a log, and could read nothing by it so far.
      return present == number || path.hasSuffix("-wal") && FileNumber.size(of: path) == 0
    }
  }
}

extension OpenedFiles.Change {
  /// What happened, as a sentence.
  var text: String {
    switch kind {
    case .moved: "\(path) was moved or removed while it was open."
    case .replaced: "Another file was put in the place of \(path) while that was open."
    case .besideGone: "\(path) was removed while \(store) was open."
    case .besideReplaced: "Another file was put in the place of \(path) while \(store) was open."
    }
  }

  var error: StoreError {
    let suggestion =
      switch kind {
      case .moved:
        "Put it back under its name with the files beside it, or open the store where it is now."
      case .replaced: "Open the store again, which takes the file that is there now."
      case .besideGone, .besideReplaced:
        "Open the store again: what can be saved of its log is saved as it is closed, and the store then says what is lost."
      }
    return StoreError(
      .fileReplaced, "\(text) Nothing is read or written here since.", suggestion: suggestion)
  }
}

extension PersistentStore {
  /// Whether another file took the place of the one that is open here, or that or a file beside it was moved or removed: what
  /// would be read and written here is in a file that nobody else sees. Or the store in the file was destroyed, or another one was
  /// put in its place: what was read here is of objects that it does not have. Reads and writes throw then; opened again, the store
  /// goes on with what is there.
  public var isReplaced: Bool { fileChange != nil }

  /// What became of its files while it was open, as a sentence; nil when they are what they were.
  package var fileChange: String? {
    guard !connections.isClosed else { return nil }
    if let change = openedFiles?.change() { return change.text }
    guard let content else { return nil }
    let isThere = try? connections.withReader(waits: false) { connection in
      try connection.reading { try content.isThere(connection) }
    }
    return isThere == false ? content.text : nil
  }

  /// What SQLite said; or what became of the store's files meanwhile, where that is why.
  func told(_ error: SQLiteError) -> StoreError {
    openedFiles?.told(error, path: file.name) ?? StoreError(error, path: file.name)
  }
}
