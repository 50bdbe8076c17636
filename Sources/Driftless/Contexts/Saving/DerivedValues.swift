/// Derived attributes that a save changed, as the store worked them out while rows were written.
struct DerivedValues {
  private var rows: [(key: ObjectKey, values: [PropertyValue])] = []

  /// Reads what the writes of the save changed, in its own transaction.
  mutating func read(_ transaction: WriteTransaction) throws {
    for key in transaction.derivedKeys {
      guard let values = try transaction.derivedValues(of: key) else { continue }
      rows.append((key, values))
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
      _ = object.showDerived(values, at: own)
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

extension ManagedObject {
  /// Has the values that the store worked out, and nothing else of the row.
  ///
  /// - Returns: whether one is another.
  final func showDerived(_ row: [PropertyValue], at slots: [Int]) -> Bool {
    var isOther = false
    for slot in slots where values[slot] != row[slot] {
      tellObservers(slot)
      values[slot] = row[slot]
      committed?[slot] = row[slot]
      isOther = true
    }
    return isOther
  }
}
