import DriftlessSQLite
import Foundation
import Synchronization

/// Which store the content of an open file is.
///
/// A file stays where it is when its store is destroyed or replaced, and another store is made in it, whose keys and versions begin
/// anew: an object of the former one would be saved into whatever object has its key now. A copy of the same store that is put back
/// may be of another model, whose rows nobody here can read. So each transaction looks before it reads or writes anything. What
/// brings other tables also changes the number that SQLite counts for them, which it has at hand; the identifier, and what the
/// file says of its model, are read where that number is another one than at the last look.
///
/// Who writes another content into the file past SQLite, as `cp` does, changes nothing that SQLite looks at as long as the log is
/// empty: its connections go on with the pages that they have, and write them over the other store. So where the file was written
/// since the last look, by a checkpoint or by anybody, a connection without pages says whose it is.
final class OpenedContent: Sendable {
  /// By which it is known: also the next one, while the store is given another.
  private let identifiers: Mutex<[String]>
  let path: String
  private let model: ManagedObjectModel
  /// As the store was opened.
  private let metadata: StoreMetadata
  /// The number at which the model was looked at last, by whatever connection.
  private let modelNumber = Mutex<Int64?>(nil)
  /// The file that the connections have.
  private let file: FileNumber?
  private let looks: Mutex<Looks>
  private let looking = Mutex(())

  /// What was seen of the file. One looks at a time, and who waited takes over what the other found.
  private struct Looks {
    /// As it was written when it was the store's for the last time, to who reads and to who writes; nil while that cannot be told
    /// from a later write.
    var ofReaders: FileStamp?
    var ofWriters: FileStamp?
    /// The latest look at it, and when it was seen first as it is.
    var latest: (stamp: FileStamp, instant: ContinuousClock.Instant)?
    var first: (stamp: FileStamp, instant: ContinuousClock.Instant)?
    /// It holds another store: that does not end.
    var isAnother = false
    // Of the transaction that writes.
    var atBegin: FileStamp?
    var changesAtBegin = 0
  }

  /// Made as soon as the store's first connection is open.
  init(
    identifier: String, path: String, file: FileNumber?, model: ManagedObjectModel,
    metadata: StoreMetadata
  ) {
    identifiers = Mutex([identifier])
    self.path = path
    self.file = file
    self.model = model
    self.metadata = metadata
    let stamp = FileStamp(of: path).flatMap { $0.isSettled ? $0 : nil }
    looks = Mutex(Looks(ofReaders: stamp, ofWriters: stamp))
  }

  /// The store is given another identifier: until that is settled, whoever looks may find either.
  func expect(_ identifier: String) { identifiers.withLock { $0.append(identifier) } }

  /// The other identifier is the store's, or was given up.
  func finishRename(isRenamed: Bool) {
    identifiers.withLock { identifiers in
      let identifier = isRenamed ? identifiers.last : identifiers.first
      identifiers = identifier.map { [$0] } ?? []
    }
  }

  /// The connection is in a transaction, and has written nothing in it.
  ///
  /// - Throws: `StoreError` with code `fileReplaced` where the file holds another store by now, or none.
  func check(_ connection: SQLiteConnection) throws {
    guard try isWrittenByOwn(connection) else { throw error }
    try checkTables(connection)
  }

  /// The connection is in a transaction that is to write, so that nobody else does: the file says exactly what the connection
  /// does, or its pages are of another content than those that it would be written beside.
  ///
  /// - Throws: as ``check(_:)``; what kept the file from being looked at: nothing is written into what is not known.
  func checkBeforeWriting(_ connection: SQLiteConnection) throws {
    let present = FileStamp(of: path)
    looks.withLock { ($0.atBegin, $0.changesAtBegin) = (present, connection.totalChanges) }
    guard !isAnother else { throw error }
    if let present, present.isOf(file), looks.withLock({ $0.ofWriters != present }) {
      let isSettled = isSettled(present)
      let isOwn = try look { fresh in
        try ContentState(of: fresh) == ContentState(of: connection)
      }
      guard isOwn else { throw noteAnother() }
      if isSettled { looks.withLock { $0.ofWriters = present } }
    }
    try checkTables(connection)
  }

  /// The transaction is about to end. It holds the lock of those who copy the log into the file, so that the file was not written
  /// meanwhile by any that keeps to it.
  ///
  /// - Parameter number: of the newest transaction before it.
  /// - Throws: as ``checkBeforeWriting(_:)``.
  func checkBeforeCommit(after number: Int64) throws {
    guard let present = FileStamp(of: path), present.isOf(file),
      looks.withLock({ $0.atBegin != present })
    else { return }
    // Its rights or its links may be others as well.
    guard try look({ try Self.newest($0) == number }) else { throw noteAnother() }
  }

  /// What is no save counts as well, so that no two states of the store are alike.
  func countWrite(_ connection: SQLiteConnection) throws {
    guard looks.withLock({ $0.changesAtBegin != connection.totalChanges }) else { return }
    let last = try ContentState.writeCount(connection)
    try StoreSettings.set(ContentState.setting, .integer(last &+ 1), on: connection)
  }

  private func checkTables(_ connection: SQLiteConnection) throws {
    let number = try connection.schemaNumber()
    if number == connection.knownSchemaNumber { return }
    guard try isThere(connection) else { throw error }
    connection.knownSchemaNumber = number
  }

  /// Whether what was written into the file since the last look is the store's own, to who reads: others may have saved since.
  private func isWrittenByOwn(_ connection: SQLiteConnection) throws -> Bool {
    // Of a file that was moved or replaced others tell (`OpenedFiles`).
    guard let present = FileStamp(of: path), present.isOf(file) else { return true }
    let asked = ContinuousClock.now
    let (isKnown, isAnother) = looks.withLock { ($0.ofReaders == present, $0.isAnother) }
    if isAnother { return false }
    if isKnown { return true }
    return try looking.withLock { _ in
      if looks.withLock({ $0.latest.map { $0.stamp == present && $0.instant > asked } ?? false }) {
        return true
      }
      let isSettled = isSettled(present)
      // Where nothing was learnt, as where this process has too many files open, the next transaction looks again.
      guard let isOwn = try isOwn(connection) else { return true }
      guard isOwn else {
        _ = noteAnother()
        return false
      }
      looks.withLock {
        $0.latest = (present, .now)
        if isSettled { $0.ofReaders = present }
      }
      return true
    }
  }

  /// Whether the file holds what the connection does, or what others saved since; nil where it could not be looked at. Who puts an
  /// older copy back by SQLite's own means changes it for every connection: one whose state is from before that takes the present
  /// one, and is asked again.
  private func isOwn(_ connection: SQLiteConnection) throws -> Bool? {
    for _ in 0..<Self.statesMax {
      let least = try Self.newest(connection)
      do {
        if try look({ try Self.newest($0) >= least }) { return true }
      } catch is SQLiteError {
        return nil
      }
      try connection.renewState()
    }
    return false
  }

  /// So many times nobody puts a copy back within the moments of a look.
  private static let statesMax = 3

  /// Whether a later write gives another stamp, by the clock of files or, where that is wrong, by how long nothing was written.
  private func isSettled(_ present: FileStamp) -> Bool {
    if present.isSettled { return true }
    return looks.withLock { looks in
      guard let first = looks.first, first.stamp == present else {
        looks.first = (present, .now)
        return false
      }
      return ContinuousClock.now - first.instant
        > .nanoseconds(StoreTuning.fileClockStepNanoseconds)
    }
  }

  /// Looks at the file with a connection that has no pages of before.
  ///
  /// - Throws: what kept it from being looked at.
  private func look(_ isOwn: (SQLiteConnection) throws -> Bool) throws -> Bool {
    do {
      let fresh = try SQLiteConnection(path: path, mode: .readOnly)
      defer { fresh.close() }
      fresh.keepLogOnClose()
      return try fresh.reading {
        guard try StoreFile.isTable(MetadataTable.table, fresh),
          let found = try MetadataTable.identifier(on: fresh),
          identifiers.withLock({ $0.contains(found) })
        else { return false }
        // Of a log with pages, those are of the store that was there.
        guard !StrayLogs.isStray(beside: fresh, URL(fileURLWithPath: path)) else { return false }
        return try isOwn(fresh)
      }
    } catch let error as SQLiteError where error.isNotADatabase || error.isCorrupt {
      return false
    }
  }

  /// Whether it was seen that the file holds another store, or another state of it: that does not end.
  var isAnother: Bool { looks.withLock { $0.isAnother } }

  private func noteAnother() -> StoreError {
    looks.withLock { $0.isAnother = true }
    return error
  }

  /// The number of the newest transaction that a connection sees.
  private static func newest(_ connection: SQLiteConnection) throws -> Int64 {
    try PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection)
  }

  /// Whether the file is of the model still, with which the store was just opened when this is asked first.
  private func hasModel(_ connection: SQLiteConnection) throws -> Bool {
    let number = try connection.schemaNumber()
    guard let last = modelNumber.withLock({ $0 }) else {
      modelNumber.withLock { $0 = number }
      return true
    }
    if last == number { return true }
    let present = try MetadataTable.read(on: connection, path: path).1
    let hashes = metadata.values[StoreMetadata.versionHashesKey] as? [String: Data] ?? [:]
    let names = Set(hashes.keys)
    // Where the file's own words did not tell it when the store was opened, they do not tell now.
    guard
      !model.incompatibleEntities(metadata.values, among: names).isEmpty
        || model.incompatibleEntities(present.values, among: names).isEmpty
    else { return false }
    modelNumber.withLock { $0 = number }
    return true
  }

  /// Whether the file holds the store still, of the model that it had.
  func isThere(_ connection: SQLiteConnection) throws -> Bool {
    guard try StoreFile.isTable(MetadataTable.table, connection) else { return false }
    guard let found = try MetadataTable.identifier(on: connection) else { return false }
    guard identifiers.withLock({ $0.contains(found) }) else { return false }
    guard try hasModel(connection) else { return false }
    return try isWrittenByOwn(connection)
  }

  var text: String {
    "The store in \(path) was destroyed, or another one was put in its place, while it was open."
  }

  private var error: StoreError {
    StoreError(
      .fileReplaced, "\(text) Nothing is read or written here since.",
      suggestion: "Open the store again, which takes the one that is there now.")
  }
}

/// What the content of a store's file says of itself: no two states of a store are alike in it.
struct ContentState: Equatable {
  /// Counts what is written without being a save.
  static let setting = "writes"

  private let numbers: [Int64]
  private let newestTime: Double
  private let link: LogLink?

  init(of connection: SQLiteConnection) throws {
    numbers = [
      try connection.schemaNumber(), try Self.number("PRAGMA page_count", connection),
      try Self.number("PRAGMA freelist_count", connection),
      try PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection),
      try Self.writeCount(connection),
    ]
    newestTime = try TransactionTable.newestTime(on: connection) ?? 0
    link = try LogLink.of(connection)
  }

  private static func number(_ text: String, _ connection: SQLiteConnection) throws -> Int64 {
    guard case .integer(let number) = try connection.scalar(text) else { return 0 }
    return number
  }

  static func writeCount(_ connection: SQLiteConnection) throws -> Int64 {
    guard case .integer(let count)? = try StoreSettings.value(of: setting, on: connection) else {
      return 0
    }
    return count
  }
}
