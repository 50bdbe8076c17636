/// What a set gains and loses, row by row. What it gains stands behind what it had, also what it had before: an ordered one says
/// its whole sequence (`ElementSequence`).
///
/// A tag may have got a million items one by one: each row costs what it says, not what the set has.
struct GatheredElements {
  private var entity: UInt32
  private var transaction: FoldTransaction
  /// In their order; nil where one left, or moved to the end.
  private var order: [UInt64?] = []
  private var places: [UInt64: Int] = [:]
  private var removed: Set<UInt64> = []

  init(_ first: FoldElements) {
    entity = first.entity
    transaction = first.transaction
  }

  /// - Parameter keepsRemoved: False where the set is told from its beginning: what left it is not in it.
  mutating func take(_ later: FoldElements, keepsRemoved: Bool) {
    entity = later.entity
    transaction = later.transaction
    for number in later.removed {
      leave(number)
      if keepsRemoved { removed.insert(number) }
    }
    for number in later.added {
      leave(number)
      removed.remove(number)
      places[number] = order.count
      order.append(number)
    }
  }

  private mutating func leave(_ number: UInt64) {
    if let place = places.removeValue(forKey: number) { order[place] = nil }
  }

  var elements: FoldElements {
    FoldElements(
      entity: entity, transaction: transaction, added: order.compactMap { $0 },
      removed: removed.sorted())
  }
}
