/// Keys in an order, each once, that come, go and change places in constant time.
struct KeyList {
  private struct Node {
    var key: ObjectKey
    var previous: Int
    var next: Int
  }

  private static let none = -1

  private var nodes: [Node] = []
  private var places: [Int64: Int] = [:]
  /// Rooms of keys that went, each with the place of the next in its node.
  private var free = none
  private var first = none
  private var last = none

  init(_ keys: [ObjectKey]) {
    nodes.reserveCapacity(keys.count)
    places.reserveCapacity(keys.count)
    for key in keys { append(key) }
  }

  var count: Int { places.count }
  var firstKey: ObjectKey? { first == Self.none ? nil : nodes[first].key }
  var lastKey: ObjectKey? { last == Self.none ? nil : nodes[last].key }

  func contains(_ key: Int64) -> Bool { places[key] != nil }

  var keys: [ObjectKey] {
    var keys: [ObjectKey] = []
    keys.reserveCapacity(count)
    var place = first
    while place != Self.none {
      keys.append(nodes[place].key)
      place = nodes[place].next
    }
    return keys
  }

  /// The key that stands before this one; nil for the first and for one that is not there.
  func previous(of key: Int64) -> ObjectKey? {
    guard let place = places[key], nodes[place].previous != Self.none else { return nil }
    return nodes[nodes[place].previous].key
  }

  /// Puts a key at the end unless it is there.
  mutating func append(_ key: ObjectKey) { insert(key, after: last) }

  /// Puts a key that is not there behind another one; at the beginning when that is nil.
  ///
  /// False, and nothing is done, when there is no such other key.
  mutating func insert(_ key: ObjectKey, after other: Int64?) -> Bool {
    guard let other else {
      insert(key, after: Self.none)
      return true
    }
    guard let place = places[other] else { return false }
    insert(key, after: place)
    return true
  }

  mutating func remove(_ key: Int64) {
    guard let place = places.removeValue(forKey: key) else { return }
    let node = nodes[place]
    if node.previous == Self.none {
      first = node.next
    } else {
      nodes[node.previous].next = node.next
    }
    if node.next == Self.none {
      last = node.previous
    } else {
      nodes[node.next].previous = node.previous
    }
    nodes[place].next = free
    free = place
  }

  private mutating func insert(_ key: ObjectKey, after previous: Int) {
    guard places[key.key] == nil else { return }
    let next = previous == Self.none ? first : nodes[previous].next
    let node = Node(key: key, previous: previous, next: next)
    let place: Int
    if free == Self.none {
      place = nodes.count
      nodes.append(node)
    } else {
      place = free
      free = nodes[place].next
      nodes[place] = node
    }
    places[key.key] = place
    if previous == Self.none { first = place } else { nodes[previous].next = place }
    if next == Self.none { last = place } else { nodes[next].previous = place }
  }
}
