import Driftless

/// Merges a set that is one value element by element: add wins. Many-to-many relationships are
/// merged by `SetMerge`.
///
/// What is taken in are elements that were added and removed; the base is the set as the zone knows
/// it.
struct ElementMerge<Element: Hashable> {
  /// The set as the zone knew it before the local changes, and the set here.
  var base: Set<Element>
  var local: Set<Element>

  var isPending: Bool { local != base }

  /// Takes in what another replica added and removed.
  mutating func apply(adds: some Sequence<Element>, removes: some Sequence<Element>) {
    for element in removes {
      switch (base.contains(element), local.contains(element)) {
      // CONFLICT: the zone removes an element that both the base and this replica have.
      // RESOLUTION: it goes.
      case (true, true): local.remove(element)
      // CONFLICT: both replicas removed the element.
      // RESOLUTION: it is gone, and nothing is pending.
      case (true, false): break
      // CONFLICT: the zone removes an element that was added here.
      // RESOLUTION: add wins: it stays and is pushed.
      case (false, true): break
      // CONFLICT: the zone removes an element that nobody here knows.
      // RESOLUTION: it is gone already.
      case (false, false): break
      }
      base.remove(element)
    }
    for element in adds {
      switch (base.contains(element), local.contains(element)) {
      // CONFLICT: the zone adds an element that this replica removed.
      // RESOLUTION: add wins: it is back, and nothing is pending.
      case (true, false): local.insert(element)
      // CONFLICT: both replicas added the element.
      // RESOLUTION: it stands once, and nothing is pending.
      case (false, true): break
      // CONFLICT: the zone adds an element that is new here.
      // RESOLUTION: it is added.
      case (false, false): local.insert(element)
      // CONFLICT: the zone adds an element that everybody has.
      // RESOLUTION: it stands.
      case (true, true): break
      }
      base.insert(element)
    }
  }
}
