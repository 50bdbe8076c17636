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
    if try !missing.contains("ZDL_TRANSACTION")
      && !StoreDefinition.hasColumn("name", of: "ZDL_TRANSACTION", connection)
    {
      missing.insert("")
      statements.append(
        """
        CREATE TEMP VIEW ZDL_TRANSACTION AS SELECT *, CASE kind WHEN
        \(TransactionKind.imported.rawValue) THEN 0 ELSE
        \(TransactionName.derivedSQL("number", "hybrid_time")) END AS name
        FROM main.ZDL_TRANSACTION
        """)
    }
    if try !missing.contains("ZDL_DELTA")
      && !StoreDefinition.hasColumn("name", of: "ZDL_DELTA", connection)
    {
      missing.insert("")
      statements.append("CREATE TEMP VIEW ZDL_DELTA AS SELECT *, 0 AS name FROM main.ZDL_DELTA")
    }
    guard !missing.isEmpty else { return [] }
    if missing.contains("ZDL_STORE") {
      // The same from connection to connection and from day to day: objects keep their identities.
      let prefix = (UUID(uuidString: identifier) ?? UUID()).networkBytes.prefix(6)
      let digits = prefix.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      statements.append("INSERT INTO temp.ZDL_STORE VALUES ('mintPrefix', x'\(digits)')")
    }
    if missing.contains("ZDL_TRANSACTION"), !missing.contains("ATRANSACTION") {
      statements.append(StoreDefinition.takeOverHistory)
    }
    return statements
  }
}
