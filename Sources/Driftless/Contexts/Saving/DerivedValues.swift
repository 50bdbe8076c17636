/// Derived attributes that a save changed, as the store worked them out while rows were written.
struct DerivedValues {
  private var rows: [(key: ObjectKey, values: [PropertyValue])] = []

  /// Reads what the writes of the save changed, in its own transaction.
  mutating func read(_ transaction: WriteTransaction) throws {
    for key in transaction.derivedKeys {
      guard let row = try transaction.ownRow(key) else { continue }
      rows.append((key, row.values))
    }
  }

  /// Objects that the context has show the new values at once; those of new objects are registered by now.
  func show(in graph: ObjectGraph, of plan: ObjectPlan) {
    var slots: [Int32: [Int]] = [:]
    for (key, values) in rows {
      // Another object may have the key here still: its slots are others.
      guard let object = graph.registered(key, in: plan.index),
        object.shape.number == key.entity, !object.lacksValues
      else { continue }
      let own =
        slots[key.entity]
        ?? object.shape.layout.slots.filter { $0.property is DerivedAttributeDescription }
        .map(\.index)
      slots[key.entity] = own
      for slot in own where object.values[slot] != values[slot] {
        object.tellObservers(slot)
        object.values[slot] = values[slot]
        object.committed?[slot] = values[slot]
      }
    }
  }

  /// The objects of which nothing else was written.
  ///
  /// - Parameter written: The others; asked only where there are derived values.
  func keys(besides written: @autoclosure () -> [ManagedObject]) -> [ObjectKey] {
    guard !rows.isEmpty else { return [] }
    let known = Set(written().map(\.objectKey))
    return rows.map(\.key).filter { !known.contains($0) }
  }
}
