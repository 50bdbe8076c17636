import Driftless

/// Settles the order of an ordered set that both sides changed. Which elements are in it is another matter (`SetMerge`).
struct ElementOrder<Element: Hashable> {
  private let local: [Element]
  private let remote: [Element]
  /// Whether this replica's order stands.
  let isLocal: Bool
  /// Whether both sides moved elements, to different orders.
  let isConflict: Bool

  /// - Parameters:
  ///   - base: the set as the zone had it before the local changes.
  ///   - isLocalLater: the local change is later than the zone's.
  init(base: [Element], local: [Element], remote: [Element], isLocalLater: Bool) {
    self.local = local
    self.remote = remote
    let common = Set(base).intersection(local).intersection(remote)
    let former = base.filter(common.contains)
    let here = local.filter(common.contains)
    let there = remote.filter(common.contains)
    switch (here != former, there != former) {
    // CONFLICT: elements were moved here; the zone's change, which says a whole sequence as well, moved none.
    // RESOLUTION: the order here stands, whichever change is the later one.
    case (true, false): isLocal = true
    // CONFLICT: the zone moved elements; the change here moved none.
    // RESOLUTION: the zone's order stands.
    case (false, true): isLocal = false
    // CONFLICT: both moved elements, or neither.
    // RESOLUTION: the later change's order stands. Where both did, the other one goes to the journal.
    case (true, true), (false, false): isLocal = isLocalLater
    }
    isConflict = here != former && there != former && here != there
  }

  /// Elements in the order that stands. One that the other side alone has comes behind the one that it follows there.
  func sequence(of elements: Set<Element>) -> [Element] {
    let (first, second) = isLocal ? (local, remote) : (remote, local)
    let known = Set(first)
    var front: [Element] = []
    var following: [Element: [Element]] = [:]
    var last: Element?
    for element in second {
      if known.contains(element) {
        last = element
      } else if elements.contains(element) {
        if let last {
          following[last, default: []].append(element)
        } else {
          front.append(element)
        }
      }
    }
    return front
      + first.flatMap { element in
        (elements.contains(element) ? [element] : []) + (following[element] ?? [])
      }
  }
}

extension Array where Element: Hashable {
  /// The elements in the order that others have; those that are not among these come last.
  func inOrder(of others: [Element]) -> [Element] {
    let (own, known) = (Set(self), Set(others))
    return others.filter(own.contains) + filter { !known.contains($0) }
  }
}
