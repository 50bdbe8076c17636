import Driftless

/// New rows of one entity on their way into the store: enough of them to be written at once, few enough to bound the
/// memory of a large change set.
final class InsertBatch {
  private static let capacity = 1024

  let entity: EntityDescription
  let syncEntity: SyncSchema.Entity
  private(set) var rows = NewRows()
  private let number: Int32
  /// The row of the change set that each row comes from.
  private var sources: [Int] = []
  private let values: ValueTable

  init(_ entity: SyncSchema.Entity) {
    self.entity = entity.description
    syncEntity = entity
    number = entity.number
    values = ValueTable(rows: Self.capacity, slots: entity.description.layout.slots.count)
  }

  var isFull: Bool { rows.count == Self.capacity }

  /// Adds a row of nulls. The batch must not be full.
  func add(key: Int64, source: Int) {
    rows.append(key, values.row(rows.count))
    sources.append(source)
    assert(rows.count == sources.count, "each row has the row that it comes from")
  }

  /// Sets an attribute of all rows.
  func fill(from reader: PropertyReader) {
    values.withColumn(reader.property.slot) { reader.read(sources, into: $0) }
  }

  /// Sets one slot of all rows, by key and row of the change set.
  func fill(_ slot: Int, _ value: (ObjectKey, Int) throws -> PropertyValue) rethrows {
    try values.withColumn(slot) { column in
      var row = 0
      try forEach { key, source in
        column[row] = try value(key, source)
        row += 1
      }
    }
  }

  /// Replaces the values of a column some of which the model may not hold, by key and row of the change set.
  func replace(
    _ reader: PropertyReader,
    _ value: (ObjectKey, Int, PropertyValue) throws -> PropertyValue
  ) rethrows {
    guard reader.mayBeRefused else { return }
    try values.withColumn(reader.property.slot) { column in
      var row = 0
      try forEach { key, source in
        column[row] = try value(key, source, column[row])
        row += 1
      }
    }
  }

  /// Calls `body` with the key and the row of the change set of each row.
  func forEach(_ body: (ObjectKey, Int) throws -> Void) rethrows {
    for (key, source) in zip(rows.keys, sources) {
      try body(ObjectKey(entity: number, key: key), source)
    }
  }

  func removeAll() {
    values.clear(rows: rows.count)
    rows.removeAll()
    sources.removeAll(keepingCapacity: true)
  }
}
