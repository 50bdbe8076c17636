import DriftlessSQLite

/// How rows of one entity are inserted. Worked out once for the inserts that follow each other.
final class InsertPlan {
  let entity: EntityDescription
  let program: RowProgram
  /// The number of the hierarchy's root.
  let root: Int32
  let statement: SQLiteStatement

  init(
    _ entity: EntityDescription, _ program: RowProgram, root: Int32, _ connection: SQLiteConnection
  ) throws {
    self.entity = entity
    self.program = program
    self.root = root
    statement = try connection.prepare(program.insertSQL)
    statement.bind(Int64(program.number), at: 2)
  }
}

/// How the same properties of rows of one entity are written. Worked out once for the updates that follow each other.
final class UpdatePlan {
  /// Of which properties what they had is kept.
  enum KeptForSync {
    case nothing
    case counters
    /// - Parameter keys: those of unique keys.
    case all(keys: PropertyMask)
  }

  let number: Int32
  let mask: PropertyMask
  let checksVersion: Bool
  let steps: [RowProgram.Step]
  /// Those of which sync may need what they had.
  let keptSlots: [PropertySlot]
  /// One more than the last slot that a value is read from.
  let slotEnd: Int
  let statement: SQLiteStatement

  init(
    _ program: RowProgram, _ mask: PropertyMask, checksVersion: Bool, kept: KeptForSync,
    _ connection: SQLiteConnection
  ) throws {
    keptSlots =
      switch kept {
      case .nothing: []
      case .counters: FormerValues.counters(of: mask, program.entity.layout)
      case .all(let keys): FormerValues.slots(of: mask, program.entity.layout, keys: keys)
      }
    number = program.number
    self.mask = mask
    self.checksVersion = checksVersion
    let slots = program.entity.layout.slots
    steps = mask.indexes.compactMap { slot in
      // A derived attribute is the file's to write.
      guard slot < program.stepOfSlot.count, program.stepOfSlot[slot] >= 0,
        !(slots[slot].property is DerivedAttributeDescription)
      else { return nil }
      return program.steps[program.stepOfSlot[slot]]
    }
    slotEnd = (steps.map(\.slot) + keptSlots.map(\.index)).reduce(0) { max($0, $1 + 1) }
    let columns = program.table.columns
    let assignments = steps.map { step in
      ", \"\(columns[Int(step.column) - 3].name)\" = \(step.stored("?"))"
        + (step.kind == .anyReference
          ? ", \"\(columns[Int(step.entityColumn) - 3].name)\" = ?" : "")
    }
    statement = try connection.prepare(
      "UPDATE \"\(program.table.name)\" SET Z_OPT = Z_OPT + 1\(assignments.joined())"
        + " WHERE Z_PK = ? AND Z_ENT = \(program.number)"
        // Beyond it SQLite would count on in doubles, which lose steps. Core Data's rows may have no version.
        + " AND coalesce(Z_OPT < \(ReadTransaction.greatestNumber), 1)"
        + (checksVersion ? " AND Z_OPT = ?" : ""))
  }
}

extension WriteTransaction {
  func program(_ number: Int32) throws -> RowProgram {
    guard let program = schema.program(numbered: number) else {
      throw StoreError(
        .invalidArgument, "Entity number \(number) is not in the store's model.",
        suggestion: "Use entities of the model that the store was opened with.")
    }
    return program
  }

  /// Values are read where they lie, by slot.
  static func check(_ count: Int, atLeast slotEnd: Int, _ program: RowProgram) throws {
    guard count < slotEnd else { return }
    throw StoreError(
      .invalidArgument,
      "\(count) values were given for a row of \(program.entity.name), and \(slotEnd) are read.",
      suggestion: "Give a value for each slot of the entity.")
  }

  static func conflict(_ key: ObjectKey) -> StoreError {
    StoreError(
      .conflict, "An object was changed or deleted by another since it was read.",
      suggestion: "Refresh it and save again, or set a merge policy.", keys: [key])
  }

  func kept(of program: RowProgram) -> UpdatePlan.KeptForSync {
    if keepsForSync { return .all(keys: schema.keyMask(numbered: program.number)) }
    return keepsCounts ? .counters : .nothing
  }

  /// Why an update met no row.
  func unwritten(_ key: ObjectKey, _ program: RowProgram) throws -> StoreError {
    let statement = try connection.prepare(
      "SELECT Z_OPT FROM \"\(program.table.name)\" WHERE Z_PK = ? AND Z_ENT = \(program.number)"
        + " AND Z_OPT >= \(Self.greatestNumber)")
    defer { statement.reset() }
    statement.bind(key.key, at: 1)
    guard try statement.step() else { return Self.conflict(key) }
    return StoreError(
      .damaged,
      "Row \(key.key) of \(program.entity.name) says in Z_OPT that it was written more often than can be"
        + " counted: \(statement.value(0)).",
      suggestion: "Check the store, and restore its file from a copy.", keys: [key])
  }
}
