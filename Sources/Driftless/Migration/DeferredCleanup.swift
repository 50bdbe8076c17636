import DriftlessSQLite
import Foundation

/// What a migration left in a store's file for later: tables and columns that nobody reads any more. The list of them lies
/// in the store, and each is taken away in a transaction of its own, with its place in the list.
struct DeferredCleanup {
  struct Task: Hashable, Codable {
    let table: String
    /// Nil for the whole table.
    var column: String?
    /// The columns of what goes that may name files with large values.
    var fileColumns: [String] = []
  }

  private static let setting = "deferredCleanup"

  static func tasks(on connection: SQLiteConnection) throws -> [Task] {
    guard
      case .text(let text)? = try StoreSettings.value(of: setting, on: connection)
    else { return [] }
    return (try? JSONDecoder().decode([Task].self, from: Data(text.utf8))) ?? []
  }

  static func set(_ tasks: [Task], on connection: SQLiteConnection) throws {
    guard !tasks.isEmpty else { return try StoreSettings.set(setting, nil, on: connection) }
    let text = String(decoding: try JSONEncoder().encode(tasks), as: UTF8.self)
    try StoreSettings.set(setting, .text(text), on: connection)
  }

  /// Does the first piece of work, in the transaction that runs.
  ///
  /// - Parameter files: Gets the names of files that nobody needs when the transaction is committed.
  /// - Returns: How many are left.
  static func finishOne(
    on connection: SQLiteConnection, files: inout Set<String>
  ) throws -> Int {
    var tasks = try tasks(on: connection)
    guard let task = tasks.first else { return 0 }
    let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(task.table))
    files.formUnion(
      try ExternalData.referenced(
        task.fileColumns.filter { columns.contains([.text($0)]) }.map { (task.table, $0) },
        connection))
    if let column = task.column {
      if columns.contains([.text(column)]) {
        try connection.execute("ALTER TABLE \"\(task.table)\" DROP COLUMN \"\(column)\"")
      }
    } else {
      try connection.execute("DROP TABLE IF EXISTS \"\(task.table)\"")
    }
    tasks.removeFirst()
    try set(tasks, on: connection)
    return tasks.count
  }

  /// - Returns: The names of files that nobody needs when the transaction is committed.
  static func finishAll(on connection: SQLiteConnection) throws -> Set<String> {
    var files: Set<String> = []
    while try finishOne(on: connection, files: &files) > 0 {}
    return files
  }
}

extension PersistentStore {
  /// Takes one of the tables and columns away that a migration left for later.
  ///
  /// - Returns: Whether there are more.
  func finishDeferredTask() throws -> Bool {
    var files: Set<String> = []
    let (left, prefix) = try write(TransactionInfo()) {
      (
        try DeferredCleanup.finishOne(on: $0.connection, files: &files),
        try StoreSettings.mintPrefix(on: $0.connection) ?? []
      )
    }.0
    if let url { ExternalDataFolder(store: url.path).remove(Array(files), prefix: prefix) }
    if left == 0, hasDeferredCleanup {
      try setMetadata(nil, forKey: StoreMetadata.deferredCleanupKey)
    }
    return left > 0
  }
}

extension PersistentStoreCoordinator {
  /// Does what migrations of the stores left for later (``StoreOptions/defersMigrationCleanup``): a piece after the other, each
  /// in a transaction of its own. Others may work with the stores meanwhile, and wait for a piece at most. Killed anywhere, it
  /// goes on where it was when it is called again.
  ///
  /// - Throws: `StoreError`, say when there is no room; what was done stays done.
  public func finishDeferredLightweightMigration() throws {
    while try finishDeferredLightweightMigrationTask() {}
  }

  /// Does one piece of what migrations of the stores left for later, for a program that has little time at once.
  ///
  /// - Returns: Whether more is left.
  /// - Throws: `StoreError`.
  @discardableResult
  public func finishDeferredLightweightMigrationTask() throws -> Bool {
    let stores = persistentStores.filter { !$0.isReadOnly && $0.hasDeferredCleanup }
    guard let store = stores.first else { return false }
    return try store.finishDeferredTask() || stores.count > 1
  }
}
