import Driftless

extension PendingObject {
  /// The object with the times of its edits up to `transaction` in place of their numbers.
  /// Who made them is noted by those times.
  func stamped(through transaction: Int64, _ times: WriteTransaction) throws -> PendingObject {
    var object = PendingObject()
    object.whole = whole
    object.maker = maker
    // Who has the save by its name knows the object again by it.
    if maker == 0, whole == .insert, wholeTransaction > 0, wholeTransaction <= transaction {
      object.maker = try times.transactionName(wholeTransaction)
    }
    object.wasInZone = wasInZone
    object.isDeadInZone = isDeadInZone
    func stamp(_ number: Int64) throws -> Int64 {
      guard number > 0, number <= transaction else { return number }
      let stamp = EditStamp.number(try times.hybridTime(of: number))
      let (author, contextName) = try times.origin(ofTransaction: number)
      try StampOrigins.note(
        EditOrigin(author: author, contextName: contextName), of: stamp, on: times.connection)
      return stamp
    }
    object.wholeTransaction = whole == .none ? 0 : try stamp(wholeTransaction)
    var held = heldBack
    for edit in edits {
      object.set(edit.properties, by: try stamp(edit.transaction))
      if edit.transaction > 0, edit.transaction <= transaction { held.formUnion(edit.properties) }
    }
    object.heldBack = held
    object.offers = offers
    return object
  }
}
