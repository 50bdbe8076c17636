import DriftlessSQLite
import Foundation

/// Writes of one SQLite transaction: the rows and their history, both or neither.
package final class WriteTransaction: ReadTransaction {
  /// Its author may be known only at the end.
  package var info: TransactionInfo
  package let number: Int64
  /// Whether values that sync may need again are kept.
  package let keepsForSync: Bool
  /// Whether at least counters keep what they had: the store may come back to the zone that it left.
  let keepsCounts: Bool
  /// How the host's time of day becomes the zone's.
  let clockOffset: ClockOffset?
  var derivedChanges: DerivedChanges?
  /// Who takes care of values that a unique index refuses; nil lets their write fail.
  package var keyKeeper: (any KeyKeeper)?
  /// The keys that this transaction gave out, by root entity.
  private(set) var newKeys: [Int32: ClosedRange<Int64>] = [:]
  /// What rows had before values were taken out of them for a moment.
  private var vacatedRows: [ObjectKey: Row] = [:]
  /// A write that failed for no reason of its own, such as a full disk. What was written around it is not whole.
  private var failure: (any Error)?
  private let recorder: ChangeRecorder
  private var inserting: InsertPlan?
  private var updating: UpdatePlan?
  var pairs = PairWriting()
  private var heldValues = HeldValues()

  init(
    connection: SQLiteConnection, schema: StoreSchema, info: TransactionInfo
  ) throws {
    self.info = info
    number = try Self.numbers(
      after: PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection), count: 1,
      of: "transactions"
    ).lowerBound
    let settings = try Self.settings(connection)
    keepsForSync = settings.isSyncing && info.kind != .imported
    keepsCounts = settings.isCounting && info.kind != .imported
    clockOffset = settings.clock
    recorder = try ChangeRecorder(
      connection: connection, transaction: number,
      first: Self.numbers(
        after: PrimaryKeyTable.lastKey(of: HistoryEntity.change, on: connection), count: 1,
        of: "changes"
      ).lowerBound)
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
    let keys = try Self.numbers(
      after: lastKey(root: root), count: Int64(count), of: "keys of \(entity.rootEntity.name)")
    newKeys[root] = (newKeys[root]?.lowerBound ?? keys.lowerBound)...keys.upperBound
    return keys
  }

  /// Counts a key that was chosen elsewhere as given out, so that no object gets it anew.
  package func reserve(_ key: Int64, for entity: EntityDescription) throws {
    let root = schema.entityNumber(of: entity.rootEntity)
    let last = try lastKey(root: root)
    guard key > last else { return }
    newKeys[root] = (newKeys[root]?.lowerBound ?? last + 1)...key
  }

  /// The greatest key that was given out in a hierarchy, by this transaction or before it.
  package func lastKey(root: Int32) throws -> Int64 {
    try newKeys[root]?.upperBound ?? PrimaryKeyTable.lastKey(of: Int64(root), on: connection)
  }

  /// Inserts a row and records it. Values are by slot.
  ///
  /// A key that this transaction did not give out may have had a row before, which others still know by its version. Each version
  /// of a row is a change of its own in the history, so that the number of this change is one that no row of the key had.
  ///
  /// - Returns: the row's version.
  @discardableResult
  package func insert(
    _ entity: EntityDescription, _ key: Int64, values: [PropertyValue]
  ) throws -> Int64 {
    try values.withRow { try insert(entity, key, values: $0) }
  }

  @discardableResult
  package func insert(
    _ entity: EntityDescription, _ key: Int64, values: ValueRow
  ) throws -> Int64 {
    let plan = try insertPlan(entity)
    let isNew = newKeys[plan.root]?.contains(key) ?? false
    let version = isNew ? 1 : recorder.next
    try insert(plan, key, values, version: version)
    return version
  }

  private func insert(
    _ plan: InsertPlan, _ key: Int64, _ values: ValueRow, version: Int64
  ) throws {
    guard values.count >= plan.program.slotCount else {
      // What is not given is null.
      let rest = [PropertyValue](repeating: .null, count: plan.program.slotCount - values.count)
      return try (values.array + rest).withRow { try insert(plan, key, $0, version: version) }
    }
    try whole {
      try keeping(ObjectKey(entity: plan.program.number, key: key), nil, values) { values in
        plan.statement.bind(key, at: 1)
        plan.statement.bind(version, at: 3)
        try RowBinder.run(plan.statement, plan.program.steps, values, at: 4) { _ in }
      }
      try recorder.recordInsert(key, plan.program)
    }
  }

  /// Inserts rows of one entity whose keys never had any, and records them.
  package func insert(_ entity: EntityDescription, _ rows: NewRows) throws {
    let program = try program(schema.entityNumber(of: entity))
    try Self.check(rows.slotCount, atLeast: program.slotCount, program)
    // What is kept of a key is of no row that the others could be written with at once.
    guard rows.count > 1, keyKeeper?.waitsForKeys != true else {
      return try insertFew(entity, rows)
    }
    do {
      try whole {
        try rows.withRowsInMemory(program) { memory in
          try connection.write(connection.prepare(program.insertRowsSQL), memory)
        }
      }
    } catch let error as SQLiteError where error.isUniqueness && keyKeeper != nil {
      return try insertFew(entity, rows)
    }
    noteInserts(rows, program.number)
    try whole { try recorder.recordInserts(rows.keys, program) }
  }

  private func insertFew(_ entity: EntityDescription, _ rows: NewRows) throws {
    let plan = try insertPlan(entity)
    for row in 0..<rows.count {
      let values = (0..<entity.layout.slots.count).map { rows.value(row, $0) }
      try values.withRow { try insert(plan, rows.keys[row], $0, version: 1) }
    }
  }

  /// Writes the slots in `mask` and records them.
  ///
  /// - Throws: `StoreError` with code `conflict` when the row is gone, is another entity's by now, or is not at
  ///   `expectedVersion`; `invalidArgument` when there is no value for a slot in `mask`.
  package func update(
    _ key: ObjectKey, _ mask: PropertyMask, values: [PropertyValue], expectedVersion: Int64?
  ) throws {
    try values.withRow {
      try update(key, mask, values: $0, expectedVersion: expectedVersion)
    }
  }

  package func update(
    _ key: ObjectKey, _ mask: PropertyMask, values: ValueRow,
    expectedVersion: Int64?
  ) throws {
    let program = try program(key.entity)
    try whole {
      let plan = try updatePlan(program, mask, checksVersion: expectedVersion != nil)
      try Self.check(values.count, atLeast: plan.slotEnd, program)
      // Read before the row changes and written after it: nothing is left of an update that did not come about.
      let former =
        plan.keptSlots.isEmpty
        ? nil : try formerValues(of: key, plan.keptSlots, values, expectedVersion)
      let statement = plan.statement
      try keeping(key, mask, values) { values in
        try RowBinder.run(statement, plan.steps, values, at: 1) { index in
          statement.bind(key.key, at: index)
          if let expectedVersion { statement.bind(expectedVersion, at: index + 1) }
        }
      }
      guard connection.changes == 1 else { throw try unwritten(key, program) }
      if let former { try keep(former, of: key) }
      if !vacatedRows.isEmpty { vacatedRows[key] = nil }
      try recorder.recordUpdate(key.key, mask, program)
    }
  }

  /// Runs the parts of one write. When it fails by itself, through a constraint or a conflict, nothing of it was written and
  /// the transaction may go on; after any other failure it may not.
  @inline(__always)
  private func whole(_ body: () throws -> Void) throws {
    if let failure { throw failure }
    do {
      try body()
    } catch let error as SQLiteError where !error.isConstraint {
      failure = error
      throw error
    }
  }

  /// - Throws: `StoreError` with code `conflict` when the object's row is gone, or is at another version than this one.
  func require(_ version: Int64?, of key: ObjectKey) throws {
    guard let version else {
      guard try hasOwnRow(key) else { throw Self.conflict(key) }
      return
    }
    guard try knownOwnRow(key)?.version == version else { throw Self.conflict(key) }
  }

  /// Deletes a row and records it.
  ///
  /// - Throws: `StoreError` with code `conflict` when the row is gone, is another entity's by now, or is not at
  ///   `expectedVersion`. Nothing is noted of the object then.
  package func delete(_ key: ObjectKey, expectedVersion: Int64?) throws {
    let program = try program(key.entity)
    var row: Row?
    if keepsForSync || expectedVersion != nil || !program.tombstoneSlots.isEmpty {
      row = try knownOwnRow(key)
      guard let row, expectedVersion == nil || row.version == expectedVersion else {
        throw Self.conflict(key)
      }
    } else if keyKeeper != nil || schema.isOfSeveral(key.entity) {
      try require(nil, of: key)
    }
    try noteGone(key)
    try noteFormerEntity(of: key)
    try whole {
      if keepsForSync, let row { try bury(key, row.values) }
      try removeHeldPairs(of: key)
      let statement = try connection.prepare(program.deleteSQL)
      statement.bind(key.key, at: 1)
      try statement.run()
      guard connection.changes == 1 else { throw Self.conflict(key) }
      try recorder.recordDelete(key.key, program)
      if let row { try recorder.recordTombstone(program, row.values) }
    }
  }

  /// Rows of one entity mostly follow each other.
  private func insertPlan(_ entity: EntityDescription) throws -> InsertPlan {
    if let inserting, inserting.entity === entity { return inserting }
    let plan = try InsertPlan(
      entity, try program(schema.entityNumber(of: entity)),
      root: schema.entityNumber(of: entity.rootEntity), connection)
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
    let plan = try UpdatePlan(
      program, mask, checksVersion: checksVersion,
      kept: kept(of: program), connection)
    updating = plan
    return plan
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

  /// Records that an object is gone which never had a row here.
  package func recordDelete(_ key: ObjectKey) throws {
    try recorder.recordDelete(key.key, try program(key.entity))
  }

  // MARK: What sync may need again

  /// Keeps the row of an object that is about to be deleted.
  package func bury(_ key: ObjectKey, _ values: [PropertyValue]) throws {
    try Graves.keep(values, of: key, deletedBy: number, on: connection)
    guard let entity = schema.entity(numbered: key.entity) else { return }
    for slot in entity.layout.slots {
      guard let relationship = slot.relationship else { continue }
      if relationship.usesJoinTable, slot.isToMany {
        try keepBase(of: key, relationship)
      } else if let place = try place(of: key, in: relationship) {
        // The row is kept by its properties, and a place is none.
        try BaseValues.replace(
          key, PlaceName.of(relationship.name), with: .integer(place), on: connection)
      }
    }
  }

  /// Takes values out of a row for a moment: what it had is what the update that follows changes.
  ///
  /// - Parameter changing: The slots that this update writes.
  func vacate(
    _ key: ObjectKey, version: Int64, _ columns: UniqueColumns, changing: PropertyMask
  ) throws {
    if keepsForSync, vacatedRows[key] == nil, let row = try knownOwnRow(key), row.version == version
    {
      vacatedRows[key] = row
    }
    try columns.vacate(key, version: version, changing: changing, self)
  }

  /// What an update is about to change, of the slots that sync may need again.
  private func formerValues(
    of key: ObjectKey, _ slots: [PropertySlot], _ values: ValueRow,
    _ expectedVersion: Int64?
  ) throws -> FormerValues? {
    let keys = schema.keyMask(numbered: key.entity)
    guard
      slots.contains(where: { $0.needsBase || keys.contains($0.index) || values[$0.index].isNull })
    else {
      return nil
    }
    guard let row = try vacatedRows[key] ?? knownOwnRow(key),
      expectedVersion == nil || row.version == expectedVersion
    else { throw Self.conflict(key) }
    if info.kind == .local { try heldValues.check(key, slots, becoming: values, self) }
    let isNew = newKeys[schema.rootNumber(of: key.entity)]?.contains(key.key) == true
    return FormerValues(
      row.values, slots, keys: keys, becoming: values,
      countsDeltas: info.kind == .local && !isNew)
  }

  private func keep(_ former: FormerValues, of key: ObjectKey) throws {
    for relationship in former.placed {
      let base = former.bases.first { $0.property == relationship.name }
      try keepPlace(of: key, beside: relationship, reference: base?.value)
    }
    for base in former.bases {
      try BaseValues.keep(
        RowArchive.encode([base.value]), of: key, base.property, on: connection)
    }
    for cut in former.cuts {
      try BaseValues.replace(key, cut.property, with: cut.value, on: connection)
    }
    for delta in former.deltas { try addDelta(delta.value, of: key, delta.property) }
    for left in former.left { try setDelta(left.value, of: key, left.property) }
  }

  /// Keeps what a many-to-many relationship held before the first local change.
  func keepBase(of key: ObjectKey, _ relationship: RelationshipDescription) throws {
    guard keepsForSync,
      try !BaseValues.isKept(of: key, relationship.name, on: connection)
    else { return }
    try BaseValues.keep(
      RowArchive.encode(toManyKeys(of: key, relationship)), of: key, relationship.name,
      on: connection)
  }

  // MARK: End

  /// The objects whose derived attributes have other values now, by what was written so far.
  package var derivedKeys: Set<ObjectKey> { derivedChanges?.keys ?? [] }

  /// The number that the next change of history gets.
  package var nextChange: Int64 { recorder.first + recorder.count }

  /// Writes what the whole transaction is known by. Nil when it changed nothing.
  func finish(hybridTime: HybridTime, now: Date) throws -> CommittedTransaction? {
    if let failure { throw failure }
    for (root, keys) in newKeys {
      try PrimaryKeyTable.setLastKey(keys.upperBound, of: Int64(root), on: connection)
    }
    guard recorder.count > 0 else { return nil }
    try recorder.flush()
    assert(connection.isInTransaction, "the rows and their history are one transaction")
    let name = info.name ?? (info.kind == .imported ? 0 : TransactionName.draw())
    try HistoryWriter(connection: connection).write(
      number: number, name: name, info: info, hybridTime: hybridTime, now: now,
      firstChange: recorder.first, changeCount: recorder.count)
    return CommittedTransaction(
      number: number, name: name, hybridTime: hybridTime, changeCount: recorder.count)
  }
}

/// What a write left behind.
package struct CommittedTransaction: Hashable, Sendable {
  package let number: Int64
  /// See ``HistoryHeader/name``.
  package let name: UInt64
  package let hybridTime: HybridTime
  package let changeCount: Int64
}
