/// What the store worked out while rows were written.
extension SaveWriter {
  /// Reads the derived attributes that the writes of this save changed, in its own transaction.
  mutating func readDerivedValues(_ transaction: WriteTransaction) throws {
    for key in transaction.derivedKeys {
      guard let row = try transaction.ownRow(key) else { continue }
      derived.append((key, row.values))
    }
  }

  /// Objects that the context has show the new values at once; those of new objects are registered by now.
  func takeDerivedValues() {
    var slots: [Int32: [Int]] = [:]
    for (key, values) in derived {
      // Another object may have the key here still: its slots are others.
      guard let object = context.graph.registered(key, in: plan.index),
        object.shape.number == key.entity, !object.isFault
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

  /// The objects whose derived attributes alone changed.
  var derivedOnly: [ObjectKey] {
    guard !derived.isEmpty else { return [] }
    let known = Set((inserted + updated + deleted).map(\.objectKey))
    return derived.map(\.key).filter { !known.contains($0) }
  }
}
