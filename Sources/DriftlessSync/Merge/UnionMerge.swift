import Driftless
import Foundation

/// Sets in one value: a JSON array in a text or in bytes, or a property list that is an array. What
/// either side added or took away adds up, element by element; add wins.
///
/// For a to-many relationship the union is made by `ElementMerge` as well.
enum UnionMerge {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    guard let local = ElementList(conflict.local), let remote = ElementList(conflict.remote) else {
      // CONFLICT: a side has no elements: null, or a value that is no list.
      // RESOLUTION: the later edit stands, and the journal says by which rule.
      return LastWriterWins.settle(
        conflict, since: "since one side holds no list that could be united")
    }
    guard local.form == remote.form else {
      // CONFLICT: the sides hold lists of different forms, such as JSON and a property list.
      // RESOLUTION: the later edit stands, and the journal says by which rule.
      return LastWriterWins.settle(conflict, since: "since the two lists are of different forms")
    }
    // Without a base nobody took anything away.
    let base = Set(conflict.base.flatMap { ElementList($0) }?.identities ?? [])
    var merge = ElementMerge(base: base, local: Set(local.identities))
    let theirs = Set(remote.identities)
    merge.apply(adds: theirs.subtracting(base), removes: base.subtracting(theirs))
    switch (merge.local == theirs, merge.local == Set(local.identities), conflict.isLocalLater) {
    // CONFLICT: both sets hold the same elements, spelled or ordered differently, and the local edit
    // is the later one.
    // RESOLUTION: it stays pending, so that its elements are added at its time.
    case (true, true, true): return Verdict(.sameButLater, base: baseKeepingAdds(conflict))
    // CONFLICT: the zone's set holds all that the local one does, or says it otherwise.
    // RESOLUTION: the zone's value stands, and nothing is pending.
    case (true, _, _): return Verdict(.remote)
    // CONFLICT: the local set holds all that the zone's does.
    // RESOLUTION: it stands and is pushed.
    case (false, true, _): return Verdict(.local, base: baseKeepingAdds(conflict))
    // CONFLICT: each side added or took away something of its own.
    // RESOLUTION: the set with both changes stands and is pushed.
    case (false, false, _):
      let merged = remote.keeping(merge.local).appending(local.keeping(merge.local))
      guard let value = merged.value else {
        return LastWriterWins.settle(conflict, since: "since the union cannot be written")
      }
      return Verdict(.combined(value), base: baseKeepingAdds(conflict))
    }
  }

  /// The zone's set without the elements that the later local edit added as well: they stay added
  /// here, so that a removal of the earlier addition does not take the later one. Nil where that is
  /// the zone's set itself.
  static func baseKeepingAdds(_ conflict: PropertyConflict) -> PropertyValue? {
    guard conflict.isLocalLater, let local = ElementList(conflict.local),
      let remote = ElementList(conflict.remote), local.form == remote.form
    else { return nil }
    let base = Set(conflict.base.flatMap { ElementList($0) }?.identities ?? [])
    let theirs = Set(remote.identities)
    let added = theirs.intersection(local.identities).subtracting(base)
    return added.isEmpty ? nil : remote.keeping(theirs.subtracting(added)).value
  }
}
