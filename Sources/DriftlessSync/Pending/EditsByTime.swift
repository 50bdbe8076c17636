import Driftless

extension PendingObject {
  /// The edits of a new object, those of its making first.
  var editsByTime: [Edit] {
    guard edits.first.map({ $0.transaction > wholeTransaction }) ?? true else { return edits }
    return [Edit(transaction: wholeTransaction, properties: PropertyMask())] + edits
  }

  /// The edits of an object that was made here, each with what it set last: another replica that made the object as well, or
  /// a copy of this store, may have edited in between what these did not. A count has no time, and goes with the making,
  /// as does what a later change set tells.
  func editsSinceMaking(_ entity: SyncSchema.Entity) -> [Edit] {
    guard edits.count > 1 || edits.first?.transaction != wholeTransaction else { return edits }
    var edits = editsByTime
    var made = entity.all
    for index in edits.indices.dropFirst() {
      for property in entity.properties where property.keepsDeltas && property.policy == .counter {
        edits[index].properties.subtract(PropertyMask([property.slot]))
      }
      made.subtract(edits[index].properties)
    }
    edits[0].properties = made
    return edits.filter { !$0.properties.isEmpty }
  }
}
