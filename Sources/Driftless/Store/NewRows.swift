import DriftlessSQLite

/// New rows of one entity, to be inserted by one statement that reads them where they lie.
///
/// The values belong to the caller, who keeps them for as long as these rows are used.
package struct NewRows {
  package private(set) var keys: [Int64] = []
  /// The values of each row by slot.
  private var values: [ValueRow] = []
  /// How many values each row has at least; as many as one may wish while there is none.
  private(set) var slotCount = Int.max
  private let naming: Naming?

  /// What a reference to an object that is new as well becomes: its permanent key.
  struct Naming {
    /// By the place in a temporary key.
    let newKeys: [ObjectKey?]
    let base: Int64

    func name(_ value: PropertyValue) -> PropertyValue {
      guard case .reference(let key) = value, key.key < 0 else { return value }
      // Any number may be given as a key.
      let place = Int(0 &- key.key &- base &- 1)
      guard newKeys.indices.contains(place), let named = newKeys[place] else {
        return .null
      }
      return .reference(named)
    }
  }

  package init() { naming = nil }

  init(naming: Naming) { self.naming = naming }

  package var count: Int { keys.count }

  package mutating func append(_ key: Int64, _ row: ValueRow) {
    keys.append(key)
    values.append(row)
    slotCount = min(slotCount, row.count)
  }

  package mutating func reserveCapacity(_ count: Int) {
    keys.reserveCapacity(count)
    values.reserveCapacity(count)
  }

  package mutating func removeAll() {
    keys.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    slotCount = Int.max
  }

  func value(_ row: Int, _ slot: Int) -> PropertyValue {
    let value = values[row][slot]
    return naming?.name(value) ?? value
  }

  func withRowsInMemory(
    _ program: RowProgram, _ body: (RowsInMemory) throws -> Void
  ) throws {
    assert(keys.count == values.count, "each row has a key")
    try keys.lend { keys in
      try values.lend { values in
        try program.rowColumns.lend { columns in
          try [naming].lend { naming in
            let source = Source(keys: keys, values: values, columns: columns, naming: naming)
            try RowsInMemory.lending(
              source, count: keys.count,
              emit: { source, row, column, context in
                RowsInMemory.lent(source, as: Source.self)
                  .write(row, column, to: SQLiteResult(context))
              }, body)
          }
        }
      }
    }
  }

  /// What a column of a row is written from: lists that are lent, so that reading it counts no references.
  private struct Source {
    let keys: LentList<Int64>
    let values: LentList<ValueRow>
    let columns: LentList<RowProgram.RowColumn>
    /// One, or none for rows whose references are all permanent.
    let naming: LentList<Naming?>

    @inline(__always)
    func write(_ row: Int, _ column: Int32, to result: SQLiteResult) {
      if column == 0 { return result.set(keys[row]) }
      let column = columns[Int(column) - 1]
      // The insert compares the count of values with what the columns need.
      let value = values[row].checkedBefore(column.slot)
      if case .reference = value { return writeReference(value, column, to: result) }
      RowBinder.write(value, to: result)
    }

    private func writeReference(
      _ value: PropertyValue, _ column: RowProgram.RowColumn, to result: SQLiteResult
    ) {
      let value = naming[0]?.name(value) ?? value
      if case .reference(let key) = value, column.isEntity {
        result.set(Int64(key.entity))
      } else {
        RowBinder.write(value, to: result)
      }
    }
  }
}

extension SQLiteConnection {
  /// Runs a statement that writes a row for each of those in memory, and for no other.
  ///
  /// - Throws: `StoreError` with code `damaged` where it wrote another number of rows.
  func write(_ statement: SQLiteStatement, _ rows: RowsInMemory) throws {
    try run(statement, reading: rows)
    guard changes != rows.count else { return }
    throw StoreError(
      .damaged,
      "\(changes) of \(rows.count) rows were written: something in the file is in their way.",
      suggestion: "Nothing was saved. Run syncctl store check FILE.")
  }
}
