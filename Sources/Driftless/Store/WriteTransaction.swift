import DriftlessSQLite
import Foundation

/// Who writes, and in what capacity.
package struct TransactionInfo: Sendable {
  package var author: String?
  package var contextName: String?
  package var kind: TransactionKind
  /// Nil for now.
  package var hybridTime: HybridTime?

  package init(
    author: String? = nil, contextName: String? = nil, kind: TransactionKind = .local,
    hybridTime: HybridTime? = nil
  ) {
    self.author = author
    self.contextName = contextName
    self.kind = kind
    self.hybridTime = hybridTime
  }
}

/// What a history transaction is to sync.
package enum TransactionKind: Int64, Sendable {
  /// A change made here: pending until the zone has it.
  case local = 0
  /// A change of the zone's log, applied here.
  case imported = 1
  /// What a merge decided here: pending, like a local change.
  case resolution = 2
}

/// Writes of one SQLite transaction: the rows and their history, both or neither.
package final class WriteTransaction: ReadTransaction {
  package let info: TransactionInfo
  package let number: Int64
  /// Whether values that sync may need again are kept.
  package let keepsForSync: Bool
  var derivedChanges: DerivedChanges?
  private var keyRanges: [Int32: Int64] = [:]
  private let recorder: ChangeRecorder
  private var inserting: InsertPlan?
  private var updating: UpdatePlan?

  init(
    connection: SQLiteConnection, schema: StoreSchema, info: TransactionInfo
  ) throws {
    self.info = info
    number = try Self.lastNumber(HistoryEntity.transaction, connection) + 1
    let isSyncing =
      try connection.scalar("SELECT value FROM ZDL_STORE WHERE key = 'syncing'") == .integer(1)
    keepsForSync = isSyncing && info.kind != .imported
    recorder = try ChangeRecorder(
      connection: connection, transaction: number,
      first: Self.lastNumber(HistoryEntity.change, connection) + 1)
    super.init(connection: connection, schema: schema)
  }

  // MARK: Rows

  /// Keys that no object of the entity's hierarchy ever had.
  package func allocateKeys(_ entity: EntityDescription, count: Int) throws -> ClosedRange<Int64> {
    guard count > 0 else {
      throw StoreError(
        .invalidArgument, "\(count) keys were asked for.", suggestion: "Ask for one or more.")
    }
    let root = schema.entityNumber(of: entity.rootEntity)
    let first = try (keyRanges[root] ?? Self.lastNumber(Int64(root), connection)) + 1
    keyRanges[root] = first + Int64(count) - 1
    return first...(first + Int64(count) - 1)
  }

  /// Inserts a row and records it. Values are by slot.
  package func insert(_ entity: EntityDescription, _ key: Int64, values: [PropertyValue]) throws {
    try values.withUnsafeBufferPointer { try insert(entity, key, values: $0) }
  }

  package func insert(
    _ entity: EntityDescription, _ key: Int64, values: UnsafeBufferPointer<PropertyValue>
  ) throws {
    let plan = try insertPlan(entity)
    plan.statement.bind(key, at: 1)
    try RowBinder.run(plan.statement, plan.program.steps, values, at: 3) { _ in }
    try recorder.recordInsert(key, plan.program)
  }

  /// Inserts rows of one entity and records them.
  package func insert(_ entity: EntityDescription, _ rows: NewRows) throws {
    let program = try program(schema.entityNumber(of: entity))
    guard rows.count > 1 else { return try insertFew(entity, rows) }
    try rows.withRowsInMemory(program) { memory in
      try connection.run(connection.prepare(program.insertRowsSQL), reading: memory)
    }
    try recorder.recordInserts(rows.keys, program)
  }

  private func insertFew(_ entity: EntityDescription, _ rows: NewRows) throws {
    for row in 0..<rows.count {
      let values = (0..<entity.layout.slots.count).map { rows.value(row, $0) }
      try insert(entity, rows.keys[row], values: values)
    }
  }

  /// Writes the slots in `mask` and records them.
  ///
  /// - Throws: `StoreError` with code `conflict` when the row is gone, or is not at `expectedVersion`.
  package func update(
    _ key: ObjectKey, _ mask: PropertyMask, values: [PropertyValue], expectedVersion: Int64?
  ) throws {
    try values.withUnsafeBufferPointer {
      try update(key, mask, values: $0, expectedVersion: expectedVersion)
    }
  }

  package func update(
    _ key: ObjectKey, _ mask: PropertyMask, values: UnsafeBufferPointer<PropertyValue>,
    expectedVersion: Int64?
  ) throws {
    let program = try program(key.entity)
    if keepsForSync { try keepBases(of: key, mask, program, values) }
    let plan = try updatePlan(program, mask, checksVersion: expectedVersion != nil)
    let statement = plan.statement
    try RowBinder.run(statement, plan.steps, values, at: 1) { index in
      statement.bind(key.key, at: index)
      if let expectedVersion { statement.bind(expectedVersion, at: index + 1) }
    }
    guard connection.changes == 1 else { throw Self.conflict(key) }
    try recorder.recordUpdate(key.key, mask, program)
  }

  /// Deletes a row and records it.
  ///
  /// - Throws: `StoreError` with code `conflict` when the row is gone, or is not at `expectedVersion`.
  package func delete(_ key: ObjectKey, expectedVersion: Int64?) throws {
    let program = try program(key.entity)
    var row: Row?
    if keepsForSync || expectedVersion != nil || !program.tombstoneSlots.isEmpty {
      row = try self.row(key)
      guard let row, expectedVersion == nil || row.version == expectedVersion else {
        throw Self.conflict(key)
      }
      if keepsForSync { try bury(key, row.values) }
    }
    let statement = try connection.prepare(program.deleteSQL)
    statement.bind(key.key, at: 1)
    try statement.run()
    guard connection.changes == 1 else { throw Self.conflict(key) }
    try recorder.recordDelete(key.key, program)
    if let row { try recorder.recordTombstone(program, row.values) }
  }

  /// Rows of one entity mostly follow each other.
  private func insertPlan(_ entity: EntityDescription) throws -> InsertPlan {
    if let inserting, inserting.entity === entity { return inserting }
    let plan = try InsertPlan(
      entity, try program(schema.entityNumber(of: entity)), connection)
    inserting = plan
    return plan
  }

  private func updatePlan(
    _ program: RowProgram, _ mask: PropertyMask, checksVersion: Bool
  ) throws -> UpdatePlan {
    if let updating, updating.number == program.number, updating.mask == mask,
      updating.checksVersion == checksVersion
    {
      return updating
    }
    let plan = try UpdatePlan(program, mask, checksVersion: checksVersion, connection)
    updating = plan
    return plan
  }

  private func program(_ number: Int32) throws -> RowProgram {
    guard let program = schema.program(numbered: number) else {
      throw StoreError(
        .invalidArgument, "Entity number \(number) is not in the store's model.",
        suggestion: "Use entities of the model that the store was opened with.")
    }
    return program
  }

  private static func conflict(_ key: ObjectKey) -> StoreError {
    StoreError(
      .conflict, "An object was changed or deleted by another since it was read.",
      suggestion: "Refresh it and save again, or set a merge policy.", keys: [key])
  }

  // MARK: History

  /// Records that relationships of an object changed which are no columns of its own row.
  package func recordUpdate(_ key: ObjectKey, _ mask: PropertyMask) throws {
    try recorder.recordUpdate(key.key, mask, try program(key.entity))
  }

  /// Records an object whose row is there already.
  func recordInsert(_ key: ObjectKey) throws {
    try recorder.recordInsert(key.key, try program(key.entity))
  }

  /// Records that an object is gone whose row went before.
  func recordDelete(_ key: ObjectKey, _ values: [PropertyValue]) throws {
    let program = try program(key.entity)
    if keepsForSync { try bury(key, values) }
    try recorder.recordDelete(key.key, program)
    try recorder.recordTombstone(program, values)
  }

  // MARK: What sync may need again

  /// Keeps the row of an object that is about to be deleted.
  package func bury(_ key: ObjectKey, _ values: [PropertyValue]) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_GRAVE VALUES (?, ?, ?, ?)", .integer(Int64(key.entity)),
      .integer(key.key), .integer(number), .blob(RowArchive.encode(values)))
    guard let entity = schema.entity(numbered: key.entity) else { return }
    for slot in entity.layout.slots {
      guard let relationship = slot.relationship else { continue }
      if relationship.usesJoinTable, slot.isToMany {
        try keepBase(of: key, relationship)
      } else if let place = try place(of: key, in: relationship) {
        // The row is kept by its properties, and a place is none.
        try keepBase(
          of: key, PlaceName.of(relationship.name), RowArchive.encode([.integer(place)]))
      }
    }
  }

  /// Keeps what sync may need of attributes that are about to be changed.
  func keepBases(of key: ObjectKey, _ mask: PropertyMask) throws {
    guard keepsForSync else { return }
    try keepBases(
      of: key, mask, program(key.entity), UnsafeBufferPointer(start: nil, count: 0))
  }

  private func keepBases(
    of key: ObjectKey, _ mask: PropertyMask, _ program: RowProgram,
    _ values: UnsafeBufferPointer<PropertyValue>
  ) throws {
    guard let layout = schema.entity(numbered: key.entity)?.layout else { return }
    var needed: [PropertySlot] = []
    var cut: [PropertySlot] = []
    mask.forEach { index in
      guard index < layout.slots.count else { return }
      let slot = layout.slots[index]
      if slot.needsBase {
        needed.append(slot)
      } else if slot.relationship != nil, !slot.isToMany, values[index].isNull {
        cut.append(slot)
      }
    }
    guard !needed.isEmpty || !cut.isEmpty, let row = try row(key) else { return }
    for slot in needed {
      try keepBase(of: key, slot.name, RowArchive.encode([row.values[slot.index]]))
    }
    // A link that is cut because its target is deleted comes back when the target does: the last
    // one counts.
    for slot in cut where !row.values[slot.index].isNull {
      try connection.run(
        "INSERT OR REPLACE INTO ZDL_BASE VALUES (?, ?, ?, ?)", .integer(Int64(key.entity)),
        .integer(key.key), .text(slot.name), .blob(RowArchive.encode([row.values[slot.index]])))
    }
  }

  /// Keeps what a many-to-many relationship held before the first local change.
  func keepBase(of key: ObjectKey, _ relationship: RelationshipDescription) throws {
    guard keepsForSync else { return }
    let isKept = try connection.scalar(
      "SELECT 1 FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      .integer(Int64(key.entity)), .integer(key.key), .text(relationship.name))
    guard isKept == nil else { return }
    try keepBase(of: key, relationship.name, RowArchive.encode(toManyKeys(of: key, relationship)))
  }

  private func keepBase(of key: ObjectKey, _ property: String, _ value: Data) throws {
    try connection.run(
      "INSERT OR IGNORE INTO ZDL_BASE VALUES (?, ?, ?, ?)", .integer(Int64(key.entity)),
      .integer(key.key), .text(property), .blob(value))
  }

  // MARK: End

  /// The objects whose derived attributes have other values now, by what was written so far.
  package var derivedKeys: Set<ObjectKey> { derivedChanges?.keys ?? [] }

  /// The number that the next change of history gets.
  package var nextChange: Int64 { recorder.first + recorder.count }

  /// Writes what the whole transaction is known by. Nil when it changed nothing.
  func finish(hybridTime: HybridTime, now: Date) throws -> CommittedTransaction? {
    for (root, key) in keyRanges {
      try connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", .integer(key), .integer(Int64(root)))
    }
    guard recorder.count > 0 else { return nil }
    try recorder.flush()
    try HistoryWriter(connection: connection).write(
      number: number, info: info, hybridTime: hybridTime, now: now,
      firstChange: recorder.first, changeCount: recorder.count)
    return CommittedTransaction(number: number, hybridTime: hybridTime, changeCount: recorder.count)
  }
}

/// What a write left behind.
package struct CommittedTransaction: Hashable, Sendable {
  package let number: Int64
  package let hybridTime: HybridTime
  package let changeCount: Int64
}
