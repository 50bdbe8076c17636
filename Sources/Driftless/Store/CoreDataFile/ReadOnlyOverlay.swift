import DriftlessSQLite
import Foundation

/// What a file of Core Data's lacks, as tables of one connection: the file itself stays as it is.
///
/// A file that is opened for reading only cannot be given our tables, and those who read a store need not know.
enum ReadOnlyOverlay {
  /// The statements that a connection runs first.
  static func statements(identifier: String, on connection: SQLiteConnection) throws -> [String] {
    var statements = ["PRAGMA temp_store = MEMORY"]
    var missing: Set<String> = []
    for statement in StoreDefinition.historyTables + StoreDefinition.ownTables {
      guard statement.hasPrefix(StoreDefinition.createTable) else { continue }
      let rest = statement.dropFirst(StoreDefinition.createTable.count)
      let name = String(rest.prefix { $0 != " " })
      if try StoreFile.hasTable(name, connection) { continue }
      missing.insert(name)
      statements.append("CREATE TEMP TABLE \(rest)")
    }
    var views: [String] = []
    if !missing.contains(TransactionNotes.table),
      let view = try TransactionNotes.overlay(on: connection)
    {
      views.append(view)
    }
    if !missing.contains(TransactionDeltas.table),
      let view = try TransactionDeltas.overlay(on: connection)
    {
      views.append(view)
    }
    guard !missing.isEmpty || !views.isEmpty else { return [] }
    statements += views
    if missing.contains(StoreSettings.table) {
      // The same from connection to connection and from day to day: objects keep their identities.
      let prefix = (UUID(uuidString: identifier) ?? UUID()).networkBytes.prefix(6)
      statements.append(StoreSettings.overlay(mintPrefix: prefix))
    }
    if missing.contains(TransactionNotes.table), !missing.contains(TransactionTable.table) {
      statements.append(TransactionNotes.takeOver)
    }
    return statements
  }
}
