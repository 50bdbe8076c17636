import DriftlessSQLite
import Foundation

/// Makes connections to a store's file, and its tables in a fresh one.
struct StoreFile {
  /// Nil for a store in memory.
  let url: URL?
  let options: StoreOptions
  /// What each connection runs first: tables of its own that the file lacks.
  var overlay: [String] = []

  init(url: URL?, options: StoreOptions) {
    self.url = url.map(StorePath.resolved)
    self.options = options
  }

  var name: String { url?.path ?? "the store in memory" }

  /// - Parameter isReader: For one more connection of a store that is open: what may be done with the file was asked before.
  func connect(readOnly: Bool, isReader: Bool = false) throws -> SQLiteConnection {
    let mode: SQLiteConnection.Mode =
      if url == nil { .inMemory } else if options.isImmutable { .immutable } else if readOnly {
        .readOnly
      } else if options.createsFile { .readWriteCreate } else { .readWrite }
    if let url {
      try StoreObstacle.checkKind(of: url, allowsLinks: options.isImmutable)
      if options.isImmutable { try StoreObstacle.checkWholeWithoutLog(url) }
    }
    if let url, !isReader, mode == .readWriteCreate || mode == .readWrite {
      try StoreSideFile.checkRights(of: url)
    }
    if let url, mode == .readWriteCreate { Self.createPrivate(url) }
    if let url, mode == .readOnly {
      HotJournal.playBack(url, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
    }
    let connection = try SQLiteConnection(
      path: url?.path ?? "", mode: mode,
      busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
    do {
      try connection.execute(
        """
        PRAGMA cache_size = -\(StoreTuning.cacheKibibytes);
        PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL");
        """)
      try SQLFunction.register(on: connection)
      try TransactionName.register(on: connection)
      // The triggers of Core Data's derived attributes call these to tell its row cache.
      for name in [
        "DATriggerUpdatedAffectedObjectValue", "DATriggerInsertUpdatedAffectedObjectValue",
        "TriggerUpdateAffectedObjectValue",
      ] {
        try connection.createFunction("NSCoreData\(name)", argc: -1, deterministic: false) { _ in
          .null
        }
      }
      try ExternalData.attachReading(
        to: connection, folder: url.map { ExternalDataFolder(store: $0.path) })
      for statement in overlay { try connection.execute(statement) }
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// Makes the file, where it is not there yet, one that only its user may read; SQLite gives what lies
  /// beside it the same permissions. A failure shows when SQLite opens the file.
  ///
  /// It is made without a descriptor: another thread may open it at once, and would lose its locks when that is closed.
  static func createPrivate(_ url: URL) { mknod(url.path, S_IFREG | 0o600, 0) }

  static let useWAL = "PRAGMA journal_mode = WAL"
  static let useRollbackJournal = "PRAGMA journal_mode = DELETE"

  static func isEmpty(_ connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT COUNT(*) FROM sqlite_master") == .integer(0)
  }

  static func hasTable(_ name: String, _ connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT 1 FROM sqlite_master WHERE name = ?", .text(name)) != nil
  }

  /// Whether there is a table: a view in its place would run whatever it says.
  static func isTable(_ name: String, _ connection: SQLiteConnection) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", .text(name)) != nil
  }

  /// Runs `body` while no other process writes to the file or makes it.
  func alone<T>(_ body: () throws -> T) throws -> T {
    guard let url else { return try body() }
    let lock = try FileLock(path: url.path + "-driftless-lock")
    try lock.lock(.exclusive, milliseconds: options.busyTimeoutMilliseconds)
    defer { lock.unlock() }
    return try body()
  }

  /// Creates every table of the schema, in one transaction.
  ///
  /// - Parameter derives: Whether derived attributes are followed from now on; rows that come from elsewhere bring their own
  ///   values.
  func create(
    _ schema: StoreSchema, _ metadata: StoreMetadata, identifier: UUID, derives: Bool = true,
    on connection: SQLiteConnection
  ) throws {
    if url != nil {
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; \(Self.useWAL)")
    }
    try connection.transaction(.immediate) {
      for statement in StoreDefinition.statements(for: schema) {
        try connection.execute(statement)
      }
      if derives { try StoreDefinition.createDerivedTriggers(schema, on: connection) }
      try StoreDefinition.fill(schema, metadata, identifier: identifier, on: connection)
      try StoreDefinition.complete(schema, on: connection)
      if options.holdsToManyInColumns { try connection.execute(ChangeTable.coreDataIndex) }
    }
  }
}

/// The statements that make a store: Core Data's tables, and ours beside them (`ZDL_`).
enum StoreDefinition {
  static let createTable = "CREATE TABLE IF NOT EXISTS "

  static let historyTables = TransactionTable.statements + [ChangeTable.statement]

  private static let coreTables = [
    MetadataTable.statement, PrimaryKeyTable.statement, CachedModel.statement,
  ]

  static func statements(for schema: StoreSchema) -> [String] {
    var statements = coreTables
    for table in schema.tables { statements += definition(of: table, schema) }
    for join in schema.distinctJoinTables { statements += join.definition }
    return statements
  }

  /// Creates what a file of Core Data's may lack: tables of the history, and ours.
  static func complete(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    for statement in historyTables { try connection.execute(statement) }
    try completeOwnTables(on: connection)
    try ChangeTable.completeTombstones(schema, on: connection)
    try PrimaryKeyTable.completeHistory(on: connection)
    if try !ModelInside.isWritten(on: connection) {
      try fillOwn(schema, on: connection)
      try connection.execute(TransactionNotes.takeOver)
      try countVersions(schema, on: connection)
    }
  }

  /// A row that comes back has the number of its change for a version (`WriteTransaction.insert`): numbers begin above the versions
  /// that rows have which no history counted.
  private static func countVersions(
    _ schema: StoreSchema, on connection: SQLiteConnection
  ) throws {
    for table in schema.tables {
      guard
        case .integer(let version) = try connection.scalar(
          "SELECT MAX(Z_OPT) FROM \"\(table.name)\" WHERE Z_OPT < \(ReadTransaction.greatestNumber / 2)"
        ),
        try version > PrimaryKeyTable.lastKey(of: HistoryEntity.change, on: connection)
      else { continue }
      try PrimaryKeyTable.setLastKey(version, of: HistoryEntity.change, on: connection)
    }
  }

  static func definition(of table: EntityTable, _ schema: StoreSchema) -> [String] {
    let columns = table.columns.map { ", \"\($0.name)\" \($0.declaration.type)" }.joined()
    var statements = [
      """
      CREATE TABLE "\(table.name)" (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER\(columns))
      """
    ]
    for column in table.columns where column.kind == .reference {
      statements.append(
        "CREATE INDEX \"\(table.name)_\(column.name)_INDEX\" ON \"\(table.name)\" (\"\(column.name)\")"
      )
    }
    if table.entities.count > 1 {
      statements.append(
        "CREATE INDEX \"\(table.name)_Z_ENT_INDEX\" ON \"\(table.name)\" (Z_ENT)")
    }
    for entity in table.entities {
      statements += uniqueIndexes(of: entity, schema).map(\.sql)
      statements += FetchIndexes(entity, schema).statements.map(\.sql)
    }
    return statements
  }

  /// Writes the rows that every store has.
  static func fill(
    _ schema: StoreSchema, _ metadata: StoreMetadata, identifier: UUID,
    on connection: SQLiteConnection
  ) throws {
    try PrimaryKeyTable.write(schema, on: connection)
    try MetadataTable.write(metadata, identifier: identifier, on: connection)
  }

  /// Writes the rows of our own tables.
  private static func fillOwn(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    try ModelInside.write(ModelArchive.encode(schema.model), on: connection)
    try StoreSettings.setIfMissing(
      ExternalColumns.setting, .text(ExternalColumns.text(of: schema)), on: connection)
    if let file = FileIdentity(of: connection.path) {
      try StoreSettings.setIfMissing(FileIdentity.setting, .text(file.text), on: connection)
    }
    try StoreSettings.setIfMissing(
      StoreSettings.mintPrefix, .blob(Data((0..<6).map { _ in UInt8.random(in: .min ... .max) })),
      on: connection)
  }
}
