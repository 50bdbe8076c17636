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
  private let slotCount: Int
  private let values: UnsafeMutablePointer<PropertyValue>

  init(_ entity: SyncSchema.Entity) {
    self.entity = entity.description
    syncEntity = entity
    number = entity.number
    slotCount = entity.description.layout.slots.count
    values = .allocate(capacity: Self.capacity * slotCount)
    values.initialize(repeating: .null, count: Self.capacity * slotCount)
  }

  deinit {
    values.deinitialize(count: Self.capacity * slotCount)
    values.deallocate()
  }

  var isFull: Bool { rows.count == Self.capacity }

  /// Adds a row of nulls. The batch must not be full.
  func add(key: Int64, source: Int) {
    precondition(!isFull, "there is memory for \(Self.capacity) rows")
    rows.append(key, ValueRow(at: values + rows.count * slotCount, count: slotCount))
    sources.append(source)
  }

  /// Sets an attribute of all rows.
  func fill(from reader: PropertyReader) {
    checkSlot(reader.property.slot)
    reader.read(sources, into: values + reader.property.slot, stride: slotCount)
  }

  /// Sets one slot of all rows, by key and row of the change set.
  func fill(_ slot: Int, _ value: (ObjectKey, Int) throws -> PropertyValue) rethrows {
    checkSlot(slot)
    var place = values + slot
    try forEach { key, source in
      place.pointee = try value(key, source)
      place += slotCount
    }
  }

  /// Replaces the values of a column some of which the model may not hold, by key and row of the change set.
  func replace(
    _ reader: PropertyReader,
    _ value: (ObjectKey, Int, PropertyValue) throws -> PropertyValue
  ) rethrows {
    guard reader.mayBeRefused else { return }
    checkSlot(reader.property.slot)
    var place = values + reader.property.slot
    try forEach { key, source in
      place.pointee = try value(key, source, place.pointee)
      place += slotCount
    }
  }

  /// A property of another entity has no place in these rows, and memory of others where it would be.
  private func checkSlot(_ slot: Int) {
    precondition((0..<slotCount).contains(slot), "a property of another entity")
  }

  /// Calls `body` with the key and the row of the change set of each row.
  func forEach(_ body: (ObjectKey, Int) throws -> Void) rethrows {
    for (key, source) in zip(rows.keys, sources) {
      try body(ObjectKey(entity: number, key: key), source)
    }
  }

  func removeAll() {
    for place in 0..<rows.count * slotCount { values[place] = .null }
    rows.removeAll()
    sources.removeAll(keepingCapacity: true)
  }
}
