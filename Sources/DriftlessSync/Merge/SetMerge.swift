import Driftless

/// Merges a many-to-many relationship element by element: add wins.
///
/// The base is the set as the zone had it before the local changes, `remote` the one that the zone
/// has now.
struct SetMerge<Element: Hashable> {
  /// The set that stands here.
  let merged: Set<Element>
  /// The set on which what is still to be pushed is pending.
  let newBase: Set<Element>

  /// Whether anything is still to be pushed.
  var isPending: Bool { merged != newBase }

  /// - Parameter isLocalLater: The local change is later than the zone's.
  init(base: Set<Element>, local: Set<Element>, remote: Set<Element>, isLocalLater: Bool) {
    var merged = remote
    var newBase = remote
    for element in base.union(local) {
      switch (base.contains(element), local.contains(element), remote.contains(element)) {
      // CONFLICT: none: the local change says nothing of the element.
      // RESOLUTION: the zone decides.
      case (true, true, _), (false, false, _): break
      // CONFLICT: both replicas added the element.
      // RESOLUTION: it stands once. A later add stays pending: the zone's may be taken back by an
      // edit that is older than this one.
      case (false, true, true): if isLocalLater { newBase.remove(element) }
      // CONFLICT: added here; the zone does not have it.
      // RESOLUTION: add wins: it stays and is pushed.
      case (false, true, false): merged.insert(element)
      // CONFLICT: both replicas removed the element.
      // RESOLUTION: it is gone. A later removal stays pending.
      case (true, false, false): if isLocalLater { newBase.insert(element) }
      // CONFLICT: removed here; the zone has it.
      // RESOLUTION: the removal stands and is pushed.
      case (true, false, true): merged.remove(element)
      }
    }
    self.merged = merged
    self.newBase = newBase
  }
}
