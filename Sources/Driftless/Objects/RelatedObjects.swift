/// The objects of a to-many relationship.
///
/// What `author[Author.books]` gives is a live view: it shows changes, and changing it changes the
/// relationship. An array literal or `RelatedObjects(objects)` stands by itself, to be assigned.
/// In an unordered relationship the order says nothing.
public struct RelatedObjects<Element: ManagedObject>: Sequence, ExpressibleByArrayLiteral {
  enum Storage {
    case view(ManagedObject, slot: Int)
    case list([Element])
  }

  var storage: Storage

  init(owner: ManagedObject, slot: Int) { storage = .view(owner, slot: slot) }

  /// A list that stands by itself, to be assigned.
  public init(_ objects: some Sequence<Element>) { storage = .list(Array(objects)) }

  public init(arrayLiteral elements: Element...) { storage = .list(elements) }

  func isView(of object: ManagedObject, slot: Int) -> Bool {
    guard case .view(let owner, let ownSlot) = storage else { return false }
    return owner === object && ownSlot == slot
  }

  /// The objects as they are now.
  public var array: [Element] {
    switch storage {
    case .list(let objects): return objects
    case .view(let owner, let slot):
      guard let graph = owner.graph else {
        return owner.looseEnds(slot).compactMap { $0 as? Element }
      }
      return owner.destinationKeys(slot).compactMap {
        graph.object(for: $0, in: owner.shape.planIndex, adopting: Element.self) as? Element
      }
    }
  }

  /// How many objects there are. A live view counts without making objects.
  public var count: Int {
    switch storage {
    case .list(let objects): objects.count
    case .view(let owner, let slot): owner.destinationCount(slot)
    }
  }

  /// Whether there are none.
  public var isEmpty: Bool { count == 0 }

  public func makeIterator() -> IndexingIterator<[Element]> { array.makeIterator() }

  /// Whether the object is among them.
  public func contains(_ object: Element) -> Bool {
    switch storage {
    case .list(let objects): objects.contains { $0 === object }
    case .view(let owner, let slot): owner.shows(object, in: slot)
    }
  }

  /// Adds the object, at the end of an ordered relationship; nothing happens when it is there.
  public mutating func insert(_ object: Element) {
    switch storage {
    case .list(let objects):
      if !objects.contains(where: { $0 === object }) { storage = .list(objects + [object]) }
    case .view(let owner, let slot):
      guard let relation = owner.shape.relations[slot] else { return }
      owner.deferError { try owner.addDestination(object, to: relation) }
    }
  }

  /// Takes the object out; nothing happens when it is not there.
  public mutating func remove(_ object: Element) {
    switch storage {
    case .list(let objects): storage = .list(objects.filter { $0 !== object })
    case .view(let owner, let slot):
      guard let relation = owner.shape.relations[slot] else { return }
      owner.deferError { try owner.removeDestination(object, from: relation) }
    }
  }

  /// Adds objects that are not there.
  public mutating func formUnion(_ objects: some Sequence<Element>) {
    guard case .list(let present) = storage else {
      for object in Array(objects) { insert(object) }
      return
    }
    var seen = Set(present.lazy.map { ObjectIdentifier($0) })
    storage = .list(present + objects.filter { seen.insert(ObjectIdentifier($0)).inserted })
  }

  /// Takes objects out.
  public mutating func subtract(_ objects: some Sequence<Element>) {
    guard case .list(let present) = storage else {
      for object in Array(objects) { remove(object) }
      return
    }
    let gone = Set(objects.lazy.map { ObjectIdentifier($0) })
    storage = .list(present.filter { !gone.contains(ObjectIdentifier($0)) })
  }

  /// Takes all objects out.
  public mutating func removeAll() { subtract(array) }

  /// Puts the objects of an ordered relationship in another order.
  public mutating func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
    let sorted = try array.sorted(by: areInIncreasingOrder)
    switch storage {
    case .list: storage = .list(sorted)
    case .view(let owner, let slot):
      if owner.shape.relations[slot]?.isOrdered == true { owner.arrange(sorted, at: slot) }
    }
  }
}
