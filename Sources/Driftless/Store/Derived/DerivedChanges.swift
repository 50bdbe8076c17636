import DriftlessSQLite
import Synchronization

/// Hears of the objects whose derived attributes a transaction changed: the file's triggers change rows that nobody here
/// wrote, and contexts have objects of them.
final class DerivedChanges: Sendable {
  private let heard = Mutex<Set<ObjectKey>>([])
  private let columns: [(table: String, column: String)]

  /// Nil when the store has no derived attributes.
  init?(_ schema: StoreSchema) {
    let attributes = (try? DerivedAttribute.all(in: schema, skipsUnknown: true)) ?? []
    guard !attributes.isEmpty else { return nil }
    columns = attributes.map { ($0.table.name, $0.column) }
  }

  /// Prepares the connection that writes.
  func attach(to connection: SQLiteConnection) throws {
    try connection.createFunction("driftless_derived", argc: 2, deterministic: false) {
      [self] values in
      if case .integer(let entity)? = values.first, case .integer(let key)? = values.last {
        let key = ObjectKey(entity: Int32(exactly: entity) ?? -1, key: key)
        heard.withLock { _ = $0.insert(key) }
      }
      return .null
    }
    for (table, column) in columns {
      try connection.execute(
        """
        CREATE TEMP TRIGGER "driftless_derived_\(table)_\(column)"
        AFTER UPDATE OF "\(column)" ON main."\(table)" WHEN OLD."\(column)" IS NOT NEW."\(column)"
        BEGIN SELECT driftless_derived(NEW.Z_ENT, NEW.Z_PK); END
        """)
    }
  }

  /// What was heard in this transaction.
  var keys: Set<ObjectKey> { heard.withLock { $0 } }

  /// A transaction begins.
  func forget() { heard.withLock { $0 = [] } }
}

extension StoreDefinition {
  /// Makes the triggers of derived attributes.
  ///
  /// - Throws: `StoreError` with code `cannotDerive`.
  static func createDerivedTriggers(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    for attribute in try DerivedAttribute.all(in: schema) {
      for trigger in DerivedTriggers(attribute: attribute).all {
        try connection.execute(trigger.sql)
      }
    }
  }

  /// Makes the triggers of derived attributes where rows are there already, with their values of before: a time at which one
  /// was written stays.
  ///
  /// - Throws: `StoreError` with code `cannotDerive`.
  static func resumeDerivedTriggers(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    try createDerivedTriggers(schema, on: connection)
    for attribute in try DerivedAttribute.all(in: schema) {
      try connection.execute(DerivedTriggers(attribute: attribute).completion)
    }
  }

  /// Makes the triggers that a file of an older version lacks, and works out the values that they will keep.
  static func completeDerivedTriggers(
    _ schema: StoreSchema, on connection: SQLiteConnection
  ) throws {
    for attribute in try DerivedAttribute.all(in: schema, skipsUnknown: true) {
      let triggers = DerivedTriggers(attribute: attribute)
      let missing = try triggers.all.filter { try !StoreFile.hasTable($0.name, connection) }
      guard !missing.isEmpty else { continue }
      try connection.transaction(.immediate) {
        for trigger in missing { try connection.execute(trigger.sql) }
        try connection.execute(triggers.recomputation)
      }
    }
  }
}
