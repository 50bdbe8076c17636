import DriftlessSQLite

/// Writes what one transaction changed into `ACHANGE`.
///
/// New objects whose keys follow each other are recorded by one statement, which reads their keys from the table that
/// they were just written to: a statement for each would make a save half as dear again.
final class ChangeRecorder {
  let first: Int64
  private(set) var count: Int64 = 0
  private let connection: SQLiteConnection
  private let transaction: Int64
  private let statement: SQLiteStatement
  // The inserts that are not recorded yet.
  private var runProgram: RowProgram?
  private var runKey: Int64 = 0
  private var runCount: Int64 = 0
  // The last mask that was written.
  private var lastMask = PropertyMask()
  private var lastProgram: RowProgram?
  private var lastColumns: [UInt8] = []

  init(connection: SQLiteConnection, transaction: Int64, first: Int64) throws {
    self.connection = connection
    self.transaction = transaction
    self.first = first
    statement = try connection.prepare(
      """
      INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID,
      ZCOLUMNS) VALUES (?, 16001, 1, ?, ?, ?, ?, ?)
      """)
    statement.bind(transaction, at: 5)
  }

  /// Records a new object, whose row stays until the next `flush`.
  @inline(__always)
  func recordInsert(_ key: Int64, _ program: RowProgram) throws {
    if runProgram !== program || key != runKey &+ runCount {
      try flush()
      runProgram = program
      runKey = key
    }
    runCount += 1
    count += 1
  }

  /// Records new objects whose keys are column 0 of rows in memory.
  func recordInserts(_ rows: RowsInMemory, count newCount: Int, _ program: RowProgram) throws {
    let statement = try connection.prepare(
      """
      INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID)
      SELECT rowid + ?, 16001, 1, 0, ?, c0, ? FROM driftless_rows
      """)
    statement.bind(first + count, at: 1)
    statement.bind(Int64(program.number), at: 2)
    statement.bind(transaction, at: 3)
    try connection.run(statement, reading: rows)
    count += Int64(newCount)
  }

  func recordUpdate(_ key: Int64, _ mask: PropertyMask, _ program: RowProgram) throws {
    if lastProgram !== program || lastMask != mask {
      lastColumns = program.columnsBytes(of: mask)
      lastMask = mask
      lastProgram = program
    }
    try flush()
    lastColumns.withUnsafeBytes { statement.bind($0, at: 6) }
    try write(.update, key, program, at: first + count)
    count += 1
  }

  func recordDelete(_ key: Int64, _ program: RowProgram) throws {
    try flush()
    statement.bindNull(at: 6)
    try write(.delete, key, program, at: first + count)
    count += 1
  }

  /// Keeps values of the object whose delete was just recorded.
  func recordTombstone(_ program: RowProgram, _ values: [PropertyValue]) throws {
    for (index, slot) in program.tombstoneSlots.enumerated() {
      let statement = try connection.prepare(
        "UPDATE ACHANGE SET ZTOMBSTONE\(index) = ? WHERE Z_PK = ?")
      let step = program.steps[program.stepOfSlot[slot]]
      let next = RowBinder.bind(values[slot], step: step, to: statement, at: 1)
      statement.bind(first + count - 1, at: next)
      try statement.run()
    }
  }

  /// Writes the inserts that are not recorded yet.
  func flush() throws {
    guard let program = runProgram else { return }
    let firstChange = first + count - runCount
    runProgram = nil
    defer { runCount = 0 }
    if runCount == 1 {
      statement.bindNull(at: 6)
      return try write(.insert, runKey, program, at: firstChange)
    }
    let run = try connection.prepare(
      """
      INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID)
      SELECT Z_PK + ?, 16001, 1, 0, Z_ENT, Z_PK, ? FROM "\(program.table.name)"
      WHERE Z_PK BETWEEN ? AND ? ORDER BY Z_PK
      """)
    run.bind(firstChange - runKey, at: 1)
    run.bind(transaction, at: 2)
    run.bind(runKey, at: 3)
    run.bind(runKey + runCount - 1, at: 4)
    try run.run()
    guard connection.changes == Int(runCount) else {
      throw StoreError(
        .damaged, "\(runCount) new objects of \(program.entity.name) left other rows behind.",
        suggestion: "Nothing was saved: change rows only through the store.")
    }
  }

  private func write(
    _ type: ChangeType, _ key: Int64, _ program: RowProgram, at number: Int64
  ) throws {
    statement.bind(number, at: 1)
    statement.bind(Int64(type.rawValue), at: 2)
    statement.bind(Int64(program.number), at: 3)
    statement.bind(key, at: 4)
    try statement.run()
  }
}
