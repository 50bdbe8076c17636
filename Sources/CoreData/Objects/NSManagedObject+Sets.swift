import Driftless
public import Foundation

extension ManagedObject {
  /// A to-many relationship as a set that changes the object when it is changed.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    RelatedSet(self, key)
  }

  /// An ordered to-many relationship as a set that changes the object when it is changed.
  public final func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    RelatedOrderedSet(self, key)
  }
}

/// Looks at a relationship, and changes it.
private final class RelatedSet: NSMutableSet {
  private let owner: ManagedObject?
  private let key: String

  init(_ owner: ManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
  }

  required init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }

  required convenience init?(coder: NSCoder) { nil }

  private var objects: [ManagedObject] {
    get { ManagedObject.objects(of: owner?.value(forKey: key)) ?? [] }
    set { owner?.setValue(newValue, forKey: key) }
  }

  override var count: Int { objects.count }

  override func member(_ object: Any) -> Any? {
    objects.first { $0 === object as? ManagedObject }
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: objects).objectEnumerator() }

  override func add(_ object: Any) {
    guard let object = object as? ManagedObject, member(object) == nil else { return }
    objects.append(object)
  }

  override func remove(_ object: Any) { objects.removeAll { $0 === object as? ManagedObject } }
}

/// Looks at an ordered relationship, and changes it.
private final class RelatedOrderedSet: NSMutableOrderedSet {
  private let owner: ManagedObject?
  private let key: String

  init(_ owner: ManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
  }

  override init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }

  required convenience init?(coder: NSCoder) { nil }

  required convenience init(arrayLiteral elements: Any...) { self.init(capacity: 0) }

  private var objects: [ManagedObject] {
    get { ManagedObject.objects(of: owner?.value(forKey: key)) ?? [] }
    set { owner?.setValue(newValue, forKey: key) }
  }

  override var count: Int { objects.count }
  override func object(at idx: Int) -> Any { objects[idx] }

  override func index(of object: Any) -> Int {
    objects.firstIndex { $0 === object as? ManagedObject } ?? NSNotFound
  }

  override func insert(_ object: Any, at idx: Int) {
    guard let object = object as? ManagedObject, index(of: object) == NSNotFound else { return }
    objects.insert(object, at: idx)
  }

  override func removeObject(at idx: Int) { objects.remove(at: idx) }

  override func replaceObject(at idx: Int, with object: Any) {
    guard let object = object as? ManagedObject else { return }
    objects[idx] = object
  }
}
