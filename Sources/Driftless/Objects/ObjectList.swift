/// Lists of objects, as a save walks them.
///
/// A save looks at each of its objects some ten times, and a loop over an array counts a reference to each object at
/// each look: that was a quarter of a save.
extension [ManagedObject] {
  /// Calls `body` with each object from `start` on, without counting a reference to it.
  @inline(__always)
  func walk(from start: Int = 0, _ body: (ManagedObject) throws -> Void) rethrows {
    try withUnsafeBufferPointer { objects in
      // An unmanaged reference lies in memory as a counted one does. The array is held until this returns, whatever
      // becomes of the variable that it came from, and holds its objects.
      try objects.withMemoryRebound(to: Unmanaged<ManagedObject>.self) { objects in
        var place = start
        while place < objects.count {
          try objects[place]._withUnsafeGuaranteedRef(body)
          place += 1
        }
      }
    }
  }

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
