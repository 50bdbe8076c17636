/// What is asked of lists of objects, as a save walks them.
extension [ManagedObject] {
  /// The objects that are asked for, in their order: this very list when that is all of them.
  @inline(__always)
  func selected(_ isWanted: (ManagedObject) -> Bool) -> [ManagedObject] {
    var wanted = 0
    walk { if isWanted($0) { wanted += 1 } }
    if wanted == count { return self }
    var objects: [ManagedObject] = []
    if wanted == 0 { return objects }
    objects.reserveCapacity(wanted)
    walk { if isWanted($0) { objects.append($0) } }
    return objects
  }

  /// The keys of the objects.
  var objectKeys: [ObjectKey] {
    var keys: [ObjectKey] = []
    keys.reserveCapacity(count)
    walk { keys.append($0.objectKey) }
    return keys
  }
}

extension [[ManagedObject]] {
  /// All objects of the lists: a list itself when it is the only one.
  var joinedLists: [ManagedObject] { count == 1 ? self[0] : flatMap { $0 } }
}
