import Driftless

/// Merges a many-to-many relationship element by element: add wins.
///
/// The base is the set as the zone had it before the local changes, `remote` the one that the zone
/// has now, which is the base from then on.
struct SetMerge<Element: Hashable> {
  /// The set that stands here.
  let merged: Set<Element>
  /// Elements that are still to be pushed though the zone did the same (`BaseValues.ElementSet`).
  let asserted: Set<Element>
  /// Whether anything is still to be pushed.
  let isPending: Bool

  /// - Parameters:
  ///   - asserted: what was asserted before.
  ///   - told: elements that the zone was told by name, later than the local change.
  ///   - taken: elements that were taken out of the zone's set by name, later than the local change, by who knew that.
  ///   - isLocalLater: the local change is later than the zone's.
  init(
    base: Set<Element>, local: Set<Element>, asserted former: Set<Element> = [],
    remote: Set<Element>, told: Set<Element> = [], taken: Set<Element> = [], isLocalLater: Bool
  ) {
    var merged = remote
    var asserted: Set<Element> = []
    for element in base.union(local).union(former) {
      let isHere = local.contains(element)
      // CONFLICT: none: the local change says nothing of the element.
      // RESOLUTION: the zone decides.
      if base.contains(element) == isHere, !former.contains(element) { continue }
      switch (isHere, remote.contains(element)) {
      // CONFLICT: both replicas added the element, or both removed it.
      // RESOLUTION: it is there once, or gone. A later change stays pending: the zone's may be taken back by an edit that
      // is older than this one.
      case (true, true), (false, false): if isLocalLater { asserted.insert(element) }
      // CONFLICT: added here; the zone does not have it.
      // RESOLUTION: add wins: it stays and is pushed, unless somebody who knew it in the set took it out since.
      case (true, false): if !taken.contains(element) { merged.insert(element) }
      // CONFLICT: removed here; the zone has it.
      // RESOLUTION: the removal stands and is pushed, unless somebody put the element in by name later: who did knew a removal,
      // or made the same change as another.
      case (false, true): if !told.contains(element) { merged.remove(element) }
      }
    }
    self.merged = merged
    self.asserted = asserted
    isPending = merged != remote || !asserted.isEmpty
  }
}
