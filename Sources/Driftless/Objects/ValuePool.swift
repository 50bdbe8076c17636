/// The memory of the values of one entity's objects in one context.
final class ValuePool {
  /// Where objects go that are let go of elsewhere than here.
  let departures: Departures
  // Only the members below use it, and none of them runs code of others: an object takes and gives one at each end.
  @exclusivity(unchecked) private var slabs: ValueSlabs

  init(size: Int, _ departures: Departures) {
    self.departures = departures
    slabs = ValueSlabs(size: size)
  }

  /// A room without values in it.
  @inline(__always)
  func take() -> ValueRoom { slabs.take() }

  /// Takes back a room whose values are gone.
  @inline(__always)
  func give(_ room: ValueRoom) { slabs.give(room) }

  /// Whether nobody has a room.
  var isUnused: Bool { slabs.taken == 0 }
}
