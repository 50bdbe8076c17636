import DriftlessSQLite

/// Writes what one transaction changed into the history (``ChangeTable``).
///
/// Changes of one kind that follow each other are a run: one statement writes them, and reads the objects' keys where
/// they lie. A statement for each would make a save half as dear again.
final class ChangeRecorder {
  /// A run of this length is written.
  private static let runMaximum = 4096

  let first: Int64
  private(set) var count: Int64 = 0
  /// The number of the change that is recorded next.
  var next: Int64 { first + count }
  private let connection: SQLiteConnection
  private let statement: SQLiteStatement
  private let transaction: Int64
  private var runStatement: SQLiteStatement?
  // The run that is not written yet.
  private var keys: [Int64] = []
  private var type = ChangeType.insert
  private var program: RowProgram?
  private var mask = PropertyMask()

  init(connection: SQLiteConnection, transaction: Int64, first: Int64) throws {
    self.connection = connection
    self.first = first
    self.transaction = transaction
    statement = try ChangeTable.insertion(on: connection)
    statement.bind(transaction, at: 5)
  }

  /// What writes a run: made once there is one, since a connection that only ever writes single changes does without.
  private func runInsertion() throws -> SQLiteStatement {
    if let runStatement { return runStatement }
    let statement = try ChangeTable.runInsertion(on: connection)
    statement.bind(transaction, at: 5)
    runStatement = statement
    return statement
  }

  func recordInsert(_ key: Int64, _ program: RowProgram) throws {
    try record(.insert, CollectionOfOne(key), PropertyMask(), program)
  }

  func recordInserts(_ keys: [Int64], _ program: RowProgram) throws {
    var rest = keys[...]
    while !rest.isEmpty {
      try record(.insert, rest.prefix(Self.runMaximum), PropertyMask(), program)
      rest = rest.dropFirst(Self.runMaximum)
    }
  }

  func recordUpdate(_ key: Int64, _ mask: PropertyMask, _ program: RowProgram) throws {
    try record(.update, CollectionOfOne(key), mask, program)
  }

  func recordDelete(_ key: Int64, _ program: RowProgram) throws {
    try record(.delete, CollectionOfOne(key), PropertyMask(), program)
  }

  private func record(
    _ type: ChangeType, _ newKeys: some Collection<Int64>, _ mask: PropertyMask,
    _ program: RowProgram
  ) throws {
    if self.program !== program || self.type != type || self.mask != mask
      || keys.count >= Self.runMaximum
    {
      try flush()
      self.type = type
      self.program = program
      self.mask = mask
    }
    keys.append(contentsOf: newKeys)
    count += Int64(newKeys.count)
    assert(keys.count <= count, "what is not written yet is counted")
  }

  /// Keeps values of the object whose delete was just recorded.
  func recordTombstone(_ program: RowProgram, _ values: [PropertyValue]) throws {
    guard !program.tombstoneSlots.isEmpty else { return }
    try flush()
    for (index, slot) in program.tombstoneSlots.enumerated() {
      let statement = try ChangeTable.tombstoneUpdate(index, on: connection)
      let step = program.steps[program.stepOfSlot[slot]]
      let next = RowBinder.bind(values[slot], step: step, to: statement, at: 1)
      statement.bind(first + count - 1, at: next)
      try statement.run()
    }
  }

  /// Writes the run.
  func flush() throws {
    guard let program, let key = keys.first else { return }
    defer { keys.removeAll(keepingCapacity: true) }
    // Starting to read rows in memory is dearer than one row.
    let statement = keys.count == 1 ? statement : try runInsertion()
    statement.bind(first + count - Int64(keys.count), at: 1)
    statement.bind(Int64(type.rawValue), at: 2)
    statement.bind(Int64(program.number), at: 3)
    if type == .update {
      statement.bind(program.columnsBytes(of: mask), at: 6)
    } else {
      statement.bindNull(at: 6)
    }
    guard keys.count > 1 else {
      statement.bind(key, at: 4)
      return try statement.run()
    }
    try RowsInMemory.lending(keys) { try connection.write(statement, $0) }
  }
}
