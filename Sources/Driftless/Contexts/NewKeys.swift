import Synchronization

/// The keys that a parent's objects have now, for a child that is used on another queue: it takes them over before it
/// looks for an object by key, and before it asks the parent.
final class NewKeys: Sendable {
  private let waiting = Mutex<[[Int64: PlacedKey]]>([])

  func put(_ renamed: [Int64: PlacedKey]) { waiting.withLock { $0.append(renamed) } }

  /// What was put since, the oldest first.
  func takeAll() -> [[Int64: PlacedKey]] {
    waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
  }
}

/// The contexts on one context that are used on other queues than it is.
///
/// They are known by what they take keys from alone: a reference to a context that ends would end it on the parent's queue.
final class DistantChildren: Sendable {
  private struct Child {
    weak var keys: NewKeys?
  }

  private let children = Mutex<[Child]>([])

  /// Whether there is one, so that somebody may come with any key that an object had.
  var areThere: Bool { children.withLock { $0.contains { $0.keys != nil } } }

  func add(_ keys: NewKeys) {
    children.withLock { children in
      children.removeAll { $0.keys == nil }
      children.append(Child(keys: keys))
    }
  }

  func tell(_ renamed: [Int64: PlacedKey]) {
    for child in children.withLock({ $0 }) { child.keys?.put(renamed) }
  }
}
