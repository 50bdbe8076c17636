import DriftlessSQLite
public import Foundation
import Synchronization

/// A store: one SQLite file in Core Data's layout, which one or more processes on this host open.
///
/// It may be used from any thread: reads run on connections of their own, each on one snapshot; writes run one after
/// another, in this process and among all. A store stays open as long as it is referred to, or until `close()`.
///
/// ```swift
/// let store = try PersistentStore.open(url: url, model: model)
/// ```
///
/// Its only subclasses are those of the module `CoreData`: stores in memory that stand for what an application keeps in a
/// form of its own.
open class PersistentStore: @unchecked Sendable {  // changes before others know it
  /// The store's UUID, as text.
  public private(set) var identifier: String
  private(set) var tag: UInt32
  /// Nil for a store in memory.
  public private(set) var url: URL?
  let givenOptions: StoreOptions
  /// The model: the one the store was opened with, or the one that travels inside.
  public let model: ManagedObjectModel
  /// The configuration of the model whose entities the store has; nil for all entities.
  @_disfavoredOverload
  public var configurationName: String? { metadata.configurationName }
  package let schema: StoreSchema
  package let modelOrigin: ModelOrigin

  let file: StoreFile
  let connections: StoreConnections
  private(set) var notifications: CommitNotifications
  let checkpointer: Checkpointer?
  private let logLinker: LogLinker?
  let externalData: ExternalData?
  private let derivedChanges: DerivedChanges?
  let storedMetadata: Mutex<StoreMetadata>
  let clock = Mutex(StoreClock())
  /// Nil for a store in memory, and for a file that nobody may change.
  let openedFiles: OpenedFiles?
  /// Nil for the same.
  let content: OpenedContent?
  let fileLook = FileLook()

  private var isSealed = false
  /// Whether rows are asked for elsewhere as they are read; set before others know the store.
  package final var readsOutside = false

  /// Whether it was opened for reading only.
  public var isReadOnly: Bool { options.isReadOnly || isSealed }
  /// Opens a store, and creates it when the file is missing.
  ///
  /// - Parameters:
  ///   - url: The file; nil for a store in memory.
  ///   - model: Nil for the model that travels inside the store.
  ///   - configuration: The configuration of the model whose entities the store has, with what they inherit from. Nil for
  ///     all entities; without a model, for those that the store was made with.
  ///   - options: How it is opened, what a save waits for, and whether it may be migrated.
  /// - Throws: `StoreError`, or `ModelError` for a model that is wrong; nothing is left open.
  public static func open(
    url: URL?, model: ManagedObjectModel? = nil, configuration: String? = nil,
    options: StoreOptions = StoreOptions()
  ) throws -> PersistentStore {
    do {
      return try openAsIs(url: url, model: model, configuration, options: options)
    } catch let error as StoreError where error.code == .incompatibleModel {
      guard let url, let model, let migration = options.migration?.migrating, migration.isWanted,
        !options.isReadOnly
      else { throw error }
      // What belongs to other entities would be lost: that is for the application to ask for.
      guard try migratesByItself(url, to: configuration) else { throw error }
      try migration.migrate(at: url, to: model, configuration, options: options)
      return try openAsIs(url: url, model: model, configuration, options: options)
    }
  }

  private static func migratesByItself(_ url: URL, to configuration: String?) throws -> Bool {
    let store = try openAsIs(
      url: url, model: nil, nil, options: StoreOptions(isReadOnly: true, createsFile: false))
    defer { store.close() }
    return store.configurationName == configuration
  }

  private static func openAsIs(
    url: URL?, model: ManagedObjectModel?, _ configuration: String?, options: StoreOptions
  ) throws -> PersistentStore {
    try model?.freeze()
    if let model { _ = try StoreConfiguration(configuration, of: model) }
    let file = StoreFile(url: url, options: options)
    let before = file.url.map { OpenedFiles.Look(url: $0) }
    do {
      if url != nil, options.isReadOnly || !options.createsFile,
        !FileManager.default.fileExists(atPath: file.name)
      {
        throw missing(file.name)
      }
      if let url = file.url, !options.isImmutable {
        try StoreSideFile.checkName(of: url)
        try StoreObstacle.checkKind(of: url)
        try StrayLogs.check(url)
      }
      let connection = try file.connect(readOnly: options.isReadOnly)
      do {
        return try PersistentStore(
          file: file, connection: connection, model: model, configuration: configuration)
      } catch {
        connection.close()
        throw error
      }
    } catch let error as SQLiteError {
      if OpenedFiles.mayBeMixed(error), before?.isChanged == true {
        throw OpenedFiles.changedMeanwhile(file.name)
      }
      throw StoreError(error, path: file.name)
    }
  }

  /// - Parameter connection: It is the store's from now on, and the caller's to close when this throws.
  convenience init(
    file: StoreFile, connection: SQLiteConnection, model: ManagedObjectModel?,
    configuration: String?
  ) throws {
    try self.init(Beginning(file, connection, model, configuration))
  }

  /// - Throws: `StoreError`; the connection stays open then.
  package init(_ beginning: Beginning) throws {
    var file = beginning.file
    let (connection, model) = (beginning.connection, beginning.model)
    let configuration = beginning.configuration
    let opening = StoreOpening(file: file, connection: connection)
    let opened = try opening.open(model: model, configuration: configuration)
    file.overlay = opened.overlay
    modelOrigin = opened.modelOrigin
    identifier = opened.identifier
    tag = StoreTags.tag(of: opened.identifier)
    schema = opened.schema
    self.model = opened.schema.model
    storedMetadata = Mutex(opened.metadata)
    url = file.url
    givenOptions = file.options
    self.file = file
    let lock = try file.url.flatMap { url in
      file.options.isReadOnly ? nil : try FileLock(path: url.path + "-driftless-lock")
    }
    checkpointer = lock.flatMap { lock in file.url.map { Checkpointer(url: $0, lock: lock) } }
    externalData = ExternalData(file: file, schema: opened.schema)
    derivedChanges = file.options.isReadOnly ? nil : DerivedChanges(opened.schema)
    try derivedChanges?.attach(to: connection)
    if !file.options.isReadOnly {
      if let externalData {
        try externalData.attach(to: connection)
      } else {
        try ExternalData.attachInline(to: connection)
      }
    }
    let isChangeable = !file.options.isImmutable
    openedFiles = file.url.flatMap { url in
      isChangeable ? OpenedFiles(url: url, followsBeside: !file.options.isReadOnly) : nil
    }
    content = openedFiles.map {
      OpenedContent(
        identifier: opened.identifier, path: file.name, file: $0.file, model: opened.schema.model,
        metadata: opened.metadata)
    }
    connections = StoreConnections(
      file: file, writer: connection, lock: lock, files: openedFiles)
    let number = openedFiles?.file
    logLinker = file.options.isReadOnly ? nil : file.url.map { LogLinker(url: $0, file: number) }
    notifications = CommitNotifications(
      url: file.url, store: opened.identifier, CommitNotifications.Posting(file.options))
    if options.postsRemoteChanges {
      notifications.watch { [weak self] in self?.newestTransaction }
    }
    if model != nil, !options.isReadOnly { try keepModelInside(configuration) }
    try checkFileIdentity()
    try sweepLeftFiles(hasLog: (checkpointer?.walBytes ?? 0) > 0)
  }

  /// Asked by the thread that hears of other processes' commits, for all stores: it waits for no reader.
  var newestTransaction: Int64? {
    try? read(waits: false) { try $0.maximumTransactionNumber() }
  }

  // MARK: Standing for another

  /// What a store is made of.
  package struct Beginning {
    fileprivate let file: StoreFile
    fileprivate let connection: SQLiteConnection
    fileprivate let model: ManagedObjectModel?
    fileprivate let configuration: String?

    fileprivate init(
      _ file: StoreFile, _ connection: SQLiteConnection, _ model: ManagedObjectModel?,
      _ configuration: String?
    ) {
      self.file = file
      self.connection = connection
      self.model = model
      self.configuration = configuration
    }

    /// - Throws: `ModelError` for a model that is wrong or has no such configuration, `StoreError`.
    package init(model: ManagedObjectModel, configuration: String?) throws {
      try model.freeze()
      _ = try StoreConfiguration(configuration, of: model)
      self.model = model
      self.configuration = configuration
      file = StoreFile(url: nil, options: StoreOptions())
      connection = try file.connect(readOnly: false)
    }
  }

  /// Has another identifier, before anybody knows the store: that of what it stands for.
  package final func become(identifier: String) throws {
    guard identifier != self.identifier else { return }
    _ = try write(TransactionInfo()) {
      try MetadataTable.setIdentifier(identifier, on: $0.connection)
    }
    self.identifier = identifier
    tag = StoreTags.tag(of: identifier)
    notifications.close()
    notifications = CommitNotifications(url: nil, store: identifier, .never)
  }

  /// Stands for what lies elsewhere.
  package final func stand(for url: URL) { self.url = url }

  /// Is for reading only from now on.
  package final func seal() { isSealed = true }

  deinit { close() }

  /// Closes every connection. Reads and writes after it fail.
  public func close() {
    notifications.close()
    connections.close {
      if let files = self.openedFiles, files.change() != nil {
        self.checkpointer?.complete($0, files)
        // SQLite removes a log by its name, which is another's.
        return $0.keepLogOnClose()
      }
      // Another content is in the file, and gets nothing of the log.
      if self.content?.isAnother == true { return $0.keepLogOnClose() }
      self.checkpoint($0, force: true)
      // What is left in the log is there because somebody reads, writes or looks at it: the next to open it goes on.
      if (self.checkpointer?.walBytes ?? 0) > 0 {
        $0.keepLogOnClose()
      } else if self.givenOptions.hasRollbackJournalWhenClosed, !self.isReadOnly {
        // Refused while another process has it open: the last one to close it says so, or nobody.
        _ = try? $0.scalar(StoreFile.useRollbackJournal)
      }
    }
  }

  /// Checkpoints the write-ahead log, unless somebody writes.
  ///
  /// - Parameter sweeps: Whether to look for files that no row names, and to remove them.
  /// - Parameter place: Where somebody says that the file was moved to.
  /// - Returns: Whether all of the log is in the file.
  @discardableResult
  func checkpointNow(sweeps: Bool = false, movedTo place: URL? = nil) -> Bool {
    var isCut = false
    connections.withIdleWriter {
      guard let openedFiles, let place, openedFiles.areMoved(to: place) else {
        isCut = checkpoint($0, force: true, sweeps: sweeps)
        return
      }
      checkpointer?.complete($0, openedFiles, at: place)
    }
    return isCut
  }

  @discardableResult
  private func checkpoint(
    _ writer: SQLiteConnection, force: Bool, sweeps: Bool = false
  ) -> Bool {
    guard openedFiles?.change() == nil, content?.isAnother != true else { return false }
    var isCut = false
    checkpointer?.checkpoint(writer, force: force, always: sweeps) {
      isCut = true
      externalData?.nobodyReadsBehind(writer)
      if sweeps { sweepFiles(writer) }
    }
    return isCut
  }

  // MARK: Reading and writing

  /// Runs `body` on one snapshot of the store.
  package func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try read(waits: true, body)
  }

  /// - Parameter waits: Whether it waits while as many read as may (``StoreOptions/readersMax``).
  private func read<T>(waits: Bool, _ body: (ReadTransaction) throws -> T) throws -> T {
    if let joined = JoinedWrite.transaction(of: self) { return try body(joined) }
    do {
      return try connections.withReader(waits: waits) { connection in
        let transaction = ReadTransaction(connection: connection, schema: schema)
        // A store in memory has one connection: a read inside a read or a write is part of it.
        return try connection.reading {
          try content?.check(connection)
          return try body(transaction)
        }
      }
    } catch let error as SQLiteError {
      throw told(error)
    }
  }

  /// Runs `body` in one transaction of writes, and records it in the history. When `body` throws, nothing was done.
  ///
  /// - Returns: What `body` returned, and the history transaction, unless nothing changed.
  package func write<T>(
    _ info: TransactionInfo, _ body: (WriteTransaction) throws -> T
  ) throws -> (T, committed: CommittedTransaction?) {
    let (result, committed, news) = try writeUntold(info, body)
    if let news { tell(news) }
    return (result, committed: committed)
  }

  /// Writes; the caller tells of it, once it holds no lock.
  func writeUntold<T>(
    _ info: TransactionInfo, _ body: (WriteTransaction) throws -> T
  ) throws -> (result: T, committed: CommittedTransaction?, news: StoreCommits?) {
    guard !isReadOnly else {
      throw StoreError(
        .readOnly, "\(file.name) was opened for reading only.",
        suggestion: "Open it without the read-only option.")
    }
    if let joined = JoinedWrite.transaction(of: self) {
      derivedChanges?.forget()
      return (try body(joined), committed: nil, news: nil)
    }
    do {
      let outcome = try connections.withWriter { connection in
        guard !connection.isInTransaction else {
          throw StoreError(
            .busy, "\(file.name) is being written by the work that writes here.",
            suggestion: "Save after it: merge policies and handlers of batches change objects.")
        }
        do {
          let outcome = try connection.transaction(.immediate) {
            try content?.checkBeforeWriting(connection)
            let transaction = try WriteTransaction(
              connection: connection, schema: schema, info: info)
            logLinker?.begin(connection)
            derivedChanges?.forget()
            transaction.derivedChanges = derivedChanges
            let result = try body(transaction)
            let now = now
            let last = try transaction.hybridTime(of: transaction.number - 1)
            let own = last.next(at: time(now, transaction.clockOffset))
            let committed = try transaction.finish(
              hybridTime: max(info.hybridTime ?? own, own), now: now)
            if committed == nil { try content?.countWrite(connection) }
            try logLinker?.mark(connection)
            try externalData?.synchronize()
            try content?.checkBeforeCommit(after: transaction.number - 1)
            return (result, committed: committed)
          }
          logLinker?.committed()
          externalData?.committed(connection)
          return outcome
        } catch {
          externalData?.rolledBack()
          throw error
        }
      }
      guard let committed = outcome.committed else { return (outcome.0, nil, nil) }
      // Noted before the file's watch of this process can hear of it.
      let news = notifications.note(committed.number, by: info.contextNumber) { newestTransaction }
      connections.announce(CommitMark(store: identifier, number: committed.number))
      return (outcome.0, committed, news)
    } catch let error as SQLiteError {
      // The log has grown by what found no room, and nobody reads that.
      if error.isFull { connections.withIdleWriter { checkpoint($0, force: true) } }
      throw told(error)
    }
  }

  /// Tells observers, which may write.
  func tell(_ news: StoreCommits) {
    notifications.tell(news)
    if checkpointer?.isDue == true { connections.withIdleWriter { checkpoint($0, force: false) } }
  }
}
