import DriftlessSQLite
public import Foundation

/// Logs beside a store's file that are not the file's own.
///
/// SQLite lays a write-ahead log over whatever file has the name, and plays a rollback journal back into it. Where a file was
/// put back alone, and a newer or older log lies beside it still, that gives pages of two times, and the first to close the
/// file makes it last. So it is looked for before anybody may write, by connections that write nothing into the file.
enum StrayLogs {
  /// Looks at the write-ahead log. The journal is looked at with what else may stand in a file's way (`StoreObstacle`).
  ///
  /// - Parameters:
  ///   - looks: How the two are looked at: each by a connection of its own, where nobody has the file open yet.
  ///   - asksAgain: Whether the caller asks again later where somebody has the file locked.
  /// - Returns: Whether that was seen: not where somebody keeps the file locked, or it cannot be read now.
  /// - Throws: `StoreError` with code `strayLog` where the log is not the file's; `busy` where a process has the file's log,
  ///   and its name is gone.
  @discardableResult
  static func check(
    _ url: URL, _ looks: Looks? = nil, asksAgain: Bool = false
  ) throws -> Bool {
    try RemovedLog.awaitCompletion(of: url)
    if isWithoutFile(url) { throw failureOfLoneLog(of: url) }
    let isStray = try hasStrayLog(url, looks ?? Looks(url), asksAgain: asksAgain)
    if isStray == true { throw failure(of: WriteAheadLog.path(of: url), beside: url) }
    return isStray != nil
  }

  /// What the file says alone, and what it says with its log.
  struct Looks {
    let alone: () throws -> Look
    let together: () throws -> Look

    init(alone: @escaping () throws -> Look, together: @escaping () throws -> Look) {
      self.alone = alone
      self.together = together
    }

    init(_ url: URL) {
      self.init(alone: { try Look(url, .immutable) }, together: { try Look(url, .readOnly) })
    }
  }

  /// A log that is not the file's, while nobody else has it open. While a journal lies there, SQLite reads nothing: that comes
  /// first.
  static func next(_ url: URL) throws -> String? {
    if isWithoutFile(url) { return WriteAheadLog.path(of: url) }
    if try journalFailure(url) != nil { return url.path + "-journal" }
    guard WriteAheadLog.hasPages(url), try isStray(url, Looks(url)) == true else { return nil }
    return WriteAheadLog.path(of: url)
  }

  private static func failure(of log: String, beside url: URL) -> StoreError {
    StoreError(
      .strayLog,
      """
      \(log) is no log of \(url.path) as it is now: one of the two was put back without the other, and together they would \
      give pages of two times. Nothing was changed.
      """,
      suggestion: """
        Put back what belongs together, the file with its log, or the file alone after: syncctl store set-aside \
        '\(url.path)', which moves the log to another name.
        """)
  }

  // MARK: The write-ahead log

  /// Whether a log lies where no file is, or an empty one, whose first page SQLite writes before it begins a log. It would take
  /// such a log for one of a file that is no more, and remove it with all that was saved into it.
  static func isWithoutFile(_ url: URL) -> Bool {
    FileNumber.size(of: url.path) ?? 0 == 0 && WriteAheadLog.hasPages(url)
  }

  static func failureOfLoneLog(of url: URL) -> StoreError {
    StoreError(
      .strayLog,
      """
      \(url.path) is \(FileNumber.size(of: url.path) == nil ? "not there" : "empty"), and its log is: \
      \(WriteAheadLog.path(of: url)) may have saves that nothing else has. Nothing was changed.
      """,
      suggestion: """
        Put the file back beside its log. To begin anew: syncctl store set-aside '\(url.path)', which moves the log to \
        another name.
        """)
  }

  /// Whether the log goes on from another content of the file; nil where that cannot be seen now. It is not told where
  /// somebody works in the file alone, who has looked before.
  private static func hasStrayLog(
    _ url: URL, _ looks: Looks, asksAgain: Bool
  ) throws -> Bool? {
    guard WriteAheadLog.hasPages(url), FileNumber.size(of: url.path) ?? 0 > 0 else { return false }
    let path = url.path + "-driftless-lock"
    // Nobody copies the log into the file meanwhile. Who may not lock the file looks twice.
    func lookTwice() throws -> Bool? {
      let first = try isStray(url, looks)
      return first == true ? try isStray(url, looks) : first
    }
    guard access(path, R_OK | W_OK) == 0 else { return try lookTwice() }
    let lock = try FileLock(path: path)
    guard lock.tryShared(milliseconds: StoreTuning.checkpointWaitMilliseconds) else {
      // Who has it copies the log, and may have been stopped in that; or moves it away, as it is not the file's.
      return asksAgain ? nil : try lookTwice()
    }
    defer { lock.unlock() }
    return try isStray(url, looks)
  }

  private static func isStray(_ url: URL, _ looks: Looks) throws -> Bool? {
    let alone: Look
    do { alone = try looks.alone() } catch is SQLiteError {
      // The log was copied into it in part, or it is no store.
      return nil
    }
    let isOfAnother: Bool
    do { isOfAnother = try looks.together().isStray(over: alone) } catch let error
      as SQLiteError
    {
      guard error.isCorrupt else { return nil }
      isOfAnother = true
    }
    return isOfAnother && Look.isWhole(url)
  }

  /// Whether the log that a connection sees goes on from another content than the file's.
  static func isStray(beside connection: SQLiteConnection, _ url: URL) -> Bool {
    WriteAheadLog.hasPages(url) && goesOnFromAnother(connection, url)
  }

  /// Whether the log that a connection sees, by whatever name, goes on from another content than the file's.
  private static func goesOnFromAnother(_ connection: SQLiteConnection, _ url: URL) -> Bool {
    guard let alone = try? Look(url, .immutable), let together = try? Look(connection) else {
      return false
    }
    return together.isStray(over: alone) && Look.isWhole(url)
  }

  /// Whether a log that has no name any more may be put into the file: the file was not written over by a copy meanwhile.
  static func belongs(_ connection: SQLiteConnection, to url: URL) -> Bool {
    guard let file = try? SQLiteConnection(path: url.path, mode: .immutable) else { return false }
    defer { file.close() }
    guard let alone = try? FileIdentity.notes(file).identity else {
      // All of a new store is in its log.
      return !goesOnFromAnother(connection, url)
    }
    // A backup says that it is one, until it is opened where it was put. What else a log changed of the note is its own.
    let isOfBackup = FileIdentity.isOfCopy(alone)
    return !goesOnFromAnother(connection, url)
      && (!isOfBackup || alone == (try? FileIdentity.notes(connection).identity))
  }

  /// What the file says, alone or with its log.
  struct Look {
    fileprivate let mark: LogLink?
    /// The number of the newest transaction.
    fileprivate let newest: Int64

    init(_ url: URL, _ mode: SQLiteConnection.Mode) throws {
      let connection = try SQLiteConnection(path: url.path, mode: mode)
      defer { connection.close() }
      try self.init(connection)
    }

    init(_ connection: SQLiteConnection) throws {
      let hasSettings = try StoreSettings.exist(on: connection)
      mark = hasSettings ? try LogLink.of(connection) : nil
      newest =
        hasSettings
        ? try PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection) : 0
    }

    fileprivate func isStray(over alone: Look) -> Bool {
      // Nothing noted where the log began: a version of before wrote it, or another program.
      guard let mark else { return false }
      // The file has some of this log already, and may have more than the log.
      if mark == alone.mark { return newest < alone.newest }
      return mark.base != alone.mark?.own ?? 0
    }

    /// Whether a file is a whole database by itself. One into which a log was copied in part, when its process was
    /// killed, is none, and what it says alone means nothing: the log completes it.
    fileprivate static func isWhole(_ url: URL) -> Bool {
      guard let connection = try? SQLiteConnection(path: url.path, mode: .immutable) else {
        return false
      }
      defer { connection.close() }
      return (try? connection.scalar("PRAGMA quick_check(1)")) == .text("ok")
    }
  }

  // MARK: The rollback journal

  /// What is wrong with a rollback journal that SQLite would play back into the file; nil for one that is the file's, and
  /// where none is.
  ///
  /// A store has a write-ahead log. Only while the kind of its log is changed it has a journal, which holds the file's first
  /// page alone, with the other kind.
  static func journalFailure(_ url: URL) throws -> StoreError? {
    let path = url.path + "-journal"
    guard let size = FileNumber.size(of: path), size > 0, FileNumber.size(of: url.path) ?? 0 > 0,
      let journal = RollbackJournal(path, size: size)
    else { return nil }
    let connection = try SQLiteConnection(path: url.path, mode: .immutable)
    defer { connection.close() }
    guard let head = try? connection.bytesOfFile(FirstPage.headBytes),
      FirstPage.hasWriteAheadLog(head)
    else { return nil }
    if !WriteAheadLog.hasPages(url), let kept = journal.onlyFirstPage,
      let present = try? connection.bytesOfFile(kept.count),
      FirstPage.isSame(kept, present)
    {
      return nil
    }
    // Who makes the file, or changes the kind of its log, has it locked until the journal is gone.
    func isInUse() -> Bool {
      connection.isReserved || FileNumber.size(of: path).map { $0 == 0 } ?? true
    }
    return isInUse() || isInUse() ? nil : failure(of: path, beside: url)
  }
}

/// The first page of a database.
private enum FirstPage {
  static let headBytes = 100
  static func hasWriteAheadLog(_ head: [UInt8]) -> Bool {
    head.starts(with: SQLiteConnection.magic) && head[18] == 2 && head[19] == 2
  }

  /// Whether two differ at most in the kind of the log, and in what counts changes.
  static func isSame(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    guard first.count == second.count, first.count >= headBytes else { return false }
    let mayDiffer = [18...19, 24...27, 92...99]
    return first.indices.allSatisfy { place in
      first[place] == second[place] || mayDiffer.contains { $0.contains(place) }
    }
  }
}

/// What a rollback journal holds.
private struct RollbackJournal {
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  private static let headBytes = 28

  /// The content of the first page, where that is all that there is.
  let onlyFirstPage: [UInt8]?

  /// Nil for one that is done with: SQLite plays nothing back.
  init?(_ path: String, size: Int64) {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    func bytes(_ count: Int, at offset: UInt64) -> [UInt8] {
      guard (try? file.seek(toOffset: offset)) != nil else { return [] }
      return [UInt8]((try? file.read(upToCount: count)).flatMap { $0 } ?? Data())
    }
    func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
    let head = bytes(Self.headBytes, at: 0)
    guard head.count == Self.headBytes, head.starts(with: Self.magic) else { return nil }
    let (sector, page) = (number(head[20..<24]), number(head[24..<28]))
    // Each page is there with its number and a sum.
    guard (512...65_536).contains(page), sector < 1 << 24, Int(size) <= sector + page + 8,
      number(bytes(4, at: UInt64(sector))) == 1
    else {
      onlyFirstPage = nil
      return
    }
    onlyFirstPage = bytes(page, at: UInt64(sector) + 4)
  }
}

extension PersistentStore {
  /// What is wrong where a store's log lies without its file; nil where it does not.
  package static func loneLog(at url: URL) -> StoreError? {
    StrayLogs.isWithoutFile(url) ? StrayLogs.failureOfLoneLog(of: url) : nil
  }

  /// Looks whether the file is still the one that the log goes on from: another content may have been written into it while
  /// it is open.
  ///
  /// - Throws: `StoreError` with code `strayLog`, or `fileReplaced` where it is not the file that is open.
  /// - Returns: Whether that was seen: not where somebody keeps the file locked, or it cannot be read now.
  @discardableResult
  package func checkLog() throws -> Bool {
    guard let url, !isReadOnly else { return true }
    try openedFiles?.check()
    do {
      let looks = StrayLogs.Looks(
        alone: { try self.fileLook.look(url) },
        // The store's connections have the file and its log open.
        together: {
          try self.connections.withReader(waits: false) { connection in
            try connection.reading { try StrayLogs.Look(connection) }
          }
        })
      return try StrayLogs.check(url, looks, asksAgain: true)
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
  }

  /// As ``checkLog()``, for who asks again and again: nil as well where the file was not written since a look that told.
  package var strayLogSinceLastLook: StoreError? {
    guard let url else { return nil }
    var found: StoreError?
    fileLook.ask(url) {
      do {
        return try checkLog()
      } catch let error as StoreError where error.code == .strayLog {
        found = error
        return true
      } catch {
        return false
      }
    }
    return found
  }

  /// Moves logs that are not the file's own out of its way, as ``StoreError/Code/strayLog`` tells of them: the file is then
  /// what it is alone. The logs stay beside it, under the name that they had with `.away` and a number.
  ///
  /// A store that is opened after that finds out how many acknowledged transactions it has not any more
  /// (``lostCommits()``), and is another replica when it syncs next.
  /// - Returns: Where the logs are now; empty where all are the file's own, which then stay where they are.
  /// - Throws: `StoreError`: `busy` or `syncLocked` while somebody has the store open, `cannotOpen` where there is no store or
  ///   its folder cannot be written, or what SQLite says of the file.
  public static func setAsideStrayLogs(at url: URL) throws -> [URL] {
    let url = StorePath.resolved(url)
    guard FileManager.default.fileExists(atPath: url.path) || StrayLogs.isWithoutFile(url) else {
      throw missing(url.path)
    }
    do {
      return try setAside(url)
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
  }

  private static func setAside(_ url: URL) throws -> [URL] {
    try StoreSideFile.check(of: url)
    let syncing = try SyncLock(path: url.path + "-driftless-sync")
    defer { withExtendedLifetime(syncing) {} }
    let writing = try FileLock(path: url.path + "-driftless-lock")
    try writing.lock(.exclusive)
    defer { writing.unlock() }
    if let holder = LockHolder.ofOpenDatabase(url.path) { throw holder.failure(url.path) }
    var moved: [URL] = []
    while let path = try StrayLogs.next(url) {
      let place = freePlace(path)
      guard rename(path, place) == 0 else {
        throw StoreError(
          .cannotOpen, "\(path) cannot be moved: \(String(cString: strerror(errno))).",
          suggestion: "Give this process the right to write the folder.")
      }
      moved.append(URL(fileURLWithPath: place))
    }
    // The index of the log.
    if !moved.isEmpty { unlink(url.path + "-shm") }
    return moved
  }

  private static func freePlace(_ path: String) -> String {
    var number = 1
    while access("\(path).away\(number)", F_OK) == 0 { number += 1 }
    return "\(path).away\(number)"
  }
}
