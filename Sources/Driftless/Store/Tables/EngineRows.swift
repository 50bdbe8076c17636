import DriftlessSQLite
import Foundation

/// What the library does with tables that the engine of sync owns: a program without the engine reads, writes and migrates a
/// store that syncs. Only such a store has them.
package enum EngineRows {
  private static func has(_ table: String, _ connection: SQLiteConnection) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", .text(table)) != nil
  }

  /// The zone's own UUID; nil when the store does not sync.
  static func zoneID(on connection: SQLiteConnection) throws -> UUID? {
    guard try has("ZDL_REPLICA", connection),
      case .blob(let bytes)? = try connection.scalar("SELECT zone_id FROM ZDL_REPLICA")
    else { return nil }
    return UUID(networkBytes: bytes)
  }

  /// The objects that the change set in flight makes.
  static func runsInFlight(on connection: SQLiteConnection) throws -> [KeyRun] {
    guard try has("ZDL_OUTBOX", connection),
      case .blob(let bytes)? = try connection.scalar("SELECT runs FROM ZDL_OUTBOX")
    else { return [] }
    return [KeyRun](bytes: bytes) ?? []
  }

  /// Whether a change set is in flight, in a file that is attached under a name.
  static func isInFlight(in file: String, on connection: SQLiteConnection) throws -> Bool {
    let table = try connection.scalar(
      "SELECT 1 FROM \(file).sqlite_master WHERE name = 'ZDL_OUTBOX'")
    return try table != nil && connection.scalar("SELECT 1 FROM \(file).ZDL_OUTBOX") != nil
  }

  /// Whether an identity may stand for an object that was made with another.
  static func haveAliases(on connection: SQLiteConnection) throws -> Bool {
    try has("ZDL_ALIAS", connection)
      && connection.scalar("SELECT 1 FROM ZDL_ALIAS LIMIT 1") != nil
  }

  /// What an identity stands for since two objects became one; nil for one that was never united.
  static func alias(of identity: UUID, on connection: SQLiteConnection) throws -> ObjectKey? {
    guard try has("ZDL_ALIAS", connection) else { return nil }
    let statement = try connection.prepare("SELECT entity, key FROM ZDL_ALIAS WHERE identity = ?")
    defer { statement.reset() }
    statement.bind(identity, at: 1)
    return try statement.step() ? statement.objectKey(0, 1) : nil
  }

  /// Whether there are values of the zone that the model here cannot hold.
  static func haveParkedValues(on connection: SQLiteConnection) throws -> Bool {
    try has("ZDL_PARKED_VALUE", connection)
      && connection.scalar("SELECT 1 FROM ZDL_PARKED_VALUE LIMIT 1") != nil
  }

  /// Why the zone's value of a property is not here; nil when it is.
  static func reasonParked(
    _ key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> String? {
    guard
      case .text(let reason)? = try connection.scalar(
        "SELECT reason FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ? AND property = ?",
        .integer(Int64(key.entity)), .integer(key.key), .text(property))
    else { return nil }
    return reason
  }

  // MARK: Migration

  /// What became one under the old model stays one.
  static func confirmUnions(on connection: SQLiteConnection) throws {
    guard try has("ZDL_ALIAS", connection) else { return }
    try connection.execute("UPDATE main.ZDL_ALIAS SET row = NULL, state = NULL")
  }

  /// What a model has under no name, while the zone may have more of it: entities, and properties as `Entity.property`, a line
  /// each.
  package static let goneSetting = "sync.gone"

  /// Objects that the engine looks at again, as `Entity key`, a line each.
  package static let leftNote = "sync.limitsLeft"
  /// What a store held before a pull, as `Root last`, a line each.
  package static let heldNote = "sync.held"
  /// What was made there since, as `Root known first-last …`, a line each.
  package static let madeNote = "sync.madeMeanwhile"

  /// Notes what a migration took away, for a model that has it again.
  static func note(gone names: Set<String>, on connection: SQLiteConnection) throws {
    guard !names.isEmpty, try acknowledged(on: connection) != nil else { return }
    var all = names
    if case .text(let text)? = try StoreSettings.value(of: goneSetting, on: connection) {
      all.formUnion(text.split(separator: "\n").map(String.init))
    }
    try StoreSettings.set(
      goneSetting, .text(all.sorted().joined(separator: "\n")), on: connection)
  }

  /// The transaction up to which the zone has acknowledged everything; nil when the store does not sync.
  static func acknowledged(on connection: SQLiteConnection) throws -> Int64? {
    guard try has("ZDL_REPLICA", connection),
      case .integer(let number)? = try connection.scalar("SELECT acknowledged FROM ZDL_REPLICA")
    else { return nil }
    return number
  }

  /// What an import left pending of an object, in place of history up to a transaction.
  struct PendingState {
    let key: ObjectKey
    let transaction: Int64
    /// The zone does not have the object.
    var isNew = false
    var isDelete = false
    /// By property the number of the edit. What is only offered again is none.
    var edits: [String: Int64] = [:]
  }

  static func pendingStates(on connection: SQLiteConnection) throws -> [PendingState] {
    guard try has("ZDL_PENDING", connection) else { return [] }
    return try connection.rows(
      "SELECT entity, key, transaction_number, state FROM ZDL_PENDING"
    ).compactMap { row in
      guard case .integer(let entity) = row[0], case .integer(let key) = row[1],
        case .integer(let transaction) = row[2], case .blob(let bytes) = row[3],
        let entity = Int32(exactly: entity), let form = try? PendingForm.decode(bytes)
      else { return nil }
      var state = PendingState(
        key: ObjectKey(entity: entity, key: key), transaction: transaction)
      state.isNew = form.whole == "insert"
      state.isDelete = form.whole == "delete"
      state.edits = form.editNumbers
      return state
    }
  }

  /// Gives properties other names in what imports left pending of an entity's objects; those whose name is empty now are left
  /// out.
  static func renamePending(
    _ properties: [String: String], ofEntity entity: Int64, on connection: SQLiteConnection
  ) throws {
    guard !properties.isEmpty, try has("ZDL_PENDING", connection) else { return }
    for row in try connection.rows(
      "SELECT key, state FROM main.ZDL_PENDING WHERE entity = ?", .integer(entity))
    {
      guard case .blob(let bytes) = row[1], let form = try? PendingForm.decode(bytes)
      else { continue }
      try connection.run(
        "UPDATE main.ZDL_PENDING SET state = ? WHERE entity = ? AND key = ?",
        .blob(try form.renamed(properties).encoded()), .integer(entity), row[0])
    }
  }

  /// References to deleted objects of hierarchies that change: the objects have other keys, or roots of other numbers.
  ///
  /// - Parameter moved: where an object is by its root's number and its key; nil where its hierarchy is gone.
  static func moveTargets(
    on connection: SQLiteConnection, _ moved: (ObjectKey) throws -> ObjectKey?
  ) throws {
    guard try has("ZDL_DANGLING", connection) else { return }
    for row in try connection.rows("SELECT DISTINCT target_root, target_key FROM main.ZDL_DANGLING")
    {
      guard case .integer(let root) = row[0], case .integer(let key) = row[1],
        let number = Int32(exactly: root),
        let target = try moved(ObjectKey(entity: number, key: key))
      else { continue }
      // By way of negative keys, since a new key may be another's old one.
      try connection.run(
        """
        UPDATE main.ZDL_DANGLING SET target_root = ?, target_key = ?
        WHERE target_root = ? AND target_key = ?
        """, .integer(Int64(target.entity)), .integer(-target.key), row[0], row[1])
    }
    try connection.execute(
      "UPDATE main.ZDL_DANGLING SET target_key = -target_key WHERE target_key < 0")
  }

  /// What the zone has not acknowledged of what the new model no longer has: nobody can send it any more.
  struct UnsentChange {
    enum What {
      /// An edit: JSON, as the journal has values, and the value; nil for a set, and for one that no row of the journal holds.
      case edit(property: String, text: String, value: PropertyValue?)
      /// An object that was made, and says nothing beside.
      case object
      case delete
    }

    let object: UUID
    let entity: String
    let policy: String
    var what: What
    let time: HybridTime
    /// The object as it was, which nothing else has, with the identities of those that it refers to: one of several edits keeps it.
    var row: [PropertyValue]?

    /// What it takes in memory, values that are as large as any number among it.
    var memoryBytes: Int {
      let own = MemoryLayout<UnsentChange>.stride + entity.utf8.count + policy.utf8.count
      let row = (row?.count ?? 0) * MemoryLayout<PropertyValue>.stride
      guard case .edit(let property, _, _) = what else { return own + row + byteCount }
      return own + row + property.utf8.count + byteCount
    }

    /// What its text and values take of a row of the journal.
    var byteCount: Int {
      let row = (row ?? []).reduce(0) { $0 + $1.byteCount }
      guard case .edit(_, let text, let value) = what else { return row }
      return row + text.utf8.count + (value?.byteCount ?? 0)
    }

    /// Leaves out what no row of the journal holds.
    mutating func bound(by bounds: JournalBounds = JournalBounds()) {
      if case .edit(let property, let text, let value?) = what,
        text.utf8.count + value.byteCount > bounds.bytesMax
      {
        what = .edit(property: property, text: text, value: nil)
      }
      guard var row else { return }
      bounds.leaveOut(of: &row, beside: byteCount - row.reduce(0) { $0 + $1.byteCount })
      self.row = row
    }
  }

  /// Settled conflicts, which somebody may still want to undo: they know entities by name.
  struct Journal {
    private let connection: SQLiteConnection

    /// Nil for a store without a journal.
    init?(on connection: SQLiteConnection) throws {
      guard try has("ZDL_JOURNAL", connection) else { return nil }
      self.connection = connection
    }

    /// The entities that it names.
    func entities() throws -> [String] {
      try connection.rows("SELECT DISTINCT entity FROM main.ZDL_JOURNAL ORDER BY entity")
        .compactMap { if case .text(let name) = $0[0] { name } else { nil } }
    }

    /// Says in other words what is kept of an entity's objects.
    func mapRows(ofEntity entity: String, _ row: ([PropertyValue]) -> [PropertyValue]) throws {
      // Those of an earlier version have no rows.
      guard try StoreDefinition.hasColumn("row", of: "ZDL_JOURNAL", connection) else { return }
      for entry in try connection.rows(
        "SELECT number, row FROM main.ZDL_JOURNAL WHERE entity = ? AND row IS NOT NULL",
        .text(entity))
      {
        guard case .blob(let bytes) = entry[1] else { continue }
        try connection.run(
          "UPDATE main.ZDL_JOURNAL SET row = ? WHERE number = ?",
          .blob(RowArchive.encode(row(try RowArchive.decodeValues(bytes)))), entry[0])
      }
    }

    /// Says in other words the values that an entity's conflicts can put back.
    ///
    /// - Parameter value: gets a property by its former name, with the value of one side; nil where its text is all that is left.
    func mapValues(
      ofEntity entity: String, _ value: (String, PropertyValue) throws -> PropertyValue?
    ) throws {
      // Those of an earlier version have texts alone.
      guard try StoreDefinition.hasColumn("local_value", of: "ZDL_JOURNAL", connection) else {
        return
      }
      for column in ["local_value", "remote_value"] {
        for entry in try connection.rows(
          """
          SELECT number, property, \(column) FROM main.ZDL_JOURNAL
          WHERE entity = ? AND property IS NOT NULL AND \(column) IS NOT NULL
          """, .text(entity))
        {
          guard case .text(let property) = entry[1], case .blob(let bytes) = entry[2] else {
            continue
          }
          let values = try RowArchive.decodeValues(bytes).compactMap { try value(property, $0) }
          let changed = values.isEmpty ? SQLiteValue.null : .blob(RowArchive.encode(values))
          guard changed != entry[2] else { continue }
          try connection.run(
            "UPDATE main.ZDL_JOURNAL SET \(column) = ? WHERE number = ?", changed, entry[0])
        }
      }
    }

    /// Gives a property another name, which may be the former one of another, until `finish`.
    func rename(_ property: String, ofEntity entity: String, to name: String) throws {
      try connection.run(
        "UPDATE main.ZDL_JOURNAL SET property = ? WHERE entity = ? AND property = ?",
        .text(ObjectTables.mark + name), .text(entity), .text(property))
    }

    /// As above, an entity. It comes after its properties.
    func rename(entity: String, to name: String) throws {
      try connection.run(
        "UPDATE main.ZDL_JOURNAL SET entity = ? WHERE entity = ?",
        .text(ObjectTables.mark + name), .text(entity))
    }

    /// Something that nobody can send any more.
    ///
    /// - Parameter value: an edit's value as the new model has it.
    func append(_ change: UnsentChange, _ value: PropertyValue?) throws {
      var (property, local, said) = (SQLiteValue.null, SQLiteValue.null, "object")
      var what = change.entity
      switch change.what {
      case .object: break
      case .delete: said = "delete"
      case .edit(let name, let text, _):
        (property, local, said) = (.text(name), .text(text), "edit")
        what += ".\(name)"
      }
      try connection.run(
        """
        INSERT INTO main.ZDL_JOURNAL(object, entity, property, policy, local, outcome, origin,
          local_time, remote_time, transaction_number, sequence, explanation)
        VALUES (?, ?, ?, ?, ?, 'remote', zeroblob(16), ?, 0, 0, 0, ?)
        """,
        .blob(change.object.networkBytes), .text(change.entity), property, .text(change.policy),
        local, .integer(Int64(bitPattern: change.time.rawValue)),
        .text(
          "The store went to a model without \(what) before the zone acknowledged this \(said)."))
      // That of an earlier version has texts alone.
      guard value != nil || change.row != nil,
        try StoreDefinition.hasColumn("local_value", of: "ZDL_JOURNAL", connection)
      else { return }
      func archive(_ values: [PropertyValue]?) -> SQLiteValue {
        values.map { .blob(RowArchive.encode($0)) } ?? .null
      }
      try connection.run(
        "UPDATE main.ZDL_JOURNAL SET local_value = ?, row = ? WHERE number = last_insert_rowid()",
        archive(value.map { [$0] }), archive(change.row))
    }

    func finish() throws {
      try connection.execute(
        """
        UPDATE main.ZDL_JOURNAL SET entity = ltrim(entity, '\(ObjectTables.mark)'),
        property = ltrim(property, '\(ObjectTables.mark)')
        """)
    }
  }
}
