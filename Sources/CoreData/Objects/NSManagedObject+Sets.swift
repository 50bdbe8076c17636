import Driftless
public import Foundation

extension ManagedObject {
  /// A to-many relationship as a set that changes the object when it is changed. Foundation on Linux casts it to no set of
  /// Swift's: `value(forKey:)` gives one.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    RelatedSet(self, key)
  }

  /// An ordered to-many relationship as a set that changes the object when it is changed.
  ///
  /// A loop over it, its `firstObject` and its `lastObject` show the relationship as it was when the set was made, changed or
  /// asked for its `count` last: Foundation on Linux reads these from a store of its own.
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
    get { ManagedObject.objects(of: owner?.storedValue(key)) ?? [] }
    set { owner?.setStoredValue(newValue, key) }
  }

  override var count: Int { objects.count }

  override func member(_ object: Any) -> Any? {
    objects.first { $0 === object as? ManagedObject }
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: objects).objectEnumerator() }

  override func add(_ object: Any) {
    guard let object = object as? ManagedObject else { return }
    owner?.addManagedObjects(object, forKey: key)
  }

  override func remove(_ object: Any) {
    guard let object = object as? ManagedObject else { return }
    owner?.removeManagedObjects(object, forKey: key)
  }

  override var description: String { "{(\(listed(objects)))}" }

  override func description(withLocale locale: Locale?) -> String { description }
}

private func listed(_ objects: [ManagedObject]) -> String {
  objects.map { "\n    \($0)" }.joined(separator: ",") + "\n"
}

/// Looks at an ordered relationship, and changes it.
///
/// Foundation's class is no cluster on Linux: what cannot be overridden, a loop over it foremost, reads the superclass's own
/// storage. That is filled with what the relationship holds whenever this looks at it.
final class RelatedOrderedSet: NSMutableOrderedSet {
  private let owner: ManagedObject?
  private let key: String
  /// What the superclass's storage holds.
  private var shown: [ManagedObject] = []
  private var isFilling = false

  init(_ owner: ManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
    _ = objects
  }

  override init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }

  required convenience init?(coder: NSCoder) { nil }

  required convenience init(arrayLiteral elements: Any...) { self.init(capacity: 0) }

  /// What the relationship holds.
  private(set) var objects: [ManagedObject] {
    get {
      let objects = ManagedObject.objects(of: owner?.storedValue(key)) ?? []
      show(objects)
      return objects
    }
    set {
      owner?.setStoredValue(newValue, key)
      _ = objects
    }
  }

  private func show(_ objects: [ManagedObject]) {
    guard objects != shown else { return }
    shown = objects
    isFilling = true
    defer { isFilling = false }
    super.removeAllObjects()
    super.addObjects(from: objects)
  }

  private static func objects(_ list: some Sequence) -> [ManagedObject] {
    list.compactMap { ($0 as? AnyHashable)?.base as? ManagedObject ?? $0 as? ManagedObject }
  }

  // MARK: Reading

  override var count: Int { objects.count }
  override func object(at idx: Int) -> Any { objects[idx] }

  override func index(of object: Any) -> Int {
    objects.firstIndex { $0 === object as? ManagedObject } ?? NSNotFound
  }

  override func contains(_ object: Any) -> Bool {
    isFilling ? super.contains(object) : index(of: object) != NSNotFound
  }

  override func enumerateObjects(_ block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void) {
    var stop = ObjCBool(false)
    for (index, object) in objects.enumerated() {
      block(object, index, &stop)
      if stop.boolValue { return }
    }
  }

  override func sortedArray(
    options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult
  ) -> [Any] {
    objects.sorted { cmptr($0, $1) == .orderedAscending }
  }

  override var description: String { "(\(listed(objects)))" }

  // MARK: Changing

  override func insert(_ object: Any, at idx: Int) {
    guard let object = object as? ManagedObject, index(of: object) == NSNotFound else { return }
    objects.insert(object, at: idx)
  }

  override func removeObject(at idx: Int) { objects.remove(at: idx) }

  override func replaceObject(at idx: Int, with object: Any) {
    guard let object = object as? ManagedObject, index(of: object) == NSNotFound else { return }
    objects[idx] = object
  }

  override func add(_ object: Any) { addObjects(from: [object]) }

  override func add(_ objects: UnsafePointer<AnyObject>?, count: Int) {
    addObjects(from: Array(UnsafeBufferPointer(start: objects, count: count)))
  }

  override func addObjects(from array: [Any]) { append(Self.objects(array)) }

  private func append(_ more: [ManagedObject]) {
    var new = objects
    for object in more where !new.contains(object) { new.append(object) }
    objects = new
  }

  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
    var new = objects
    new.swapAt(idx1, idx2)
    objects = new
  }

  override func remove(_ val: Any) { removeObjects(in: [val]) }

  override func removeObjects(in array: [Any]) { keep(Self.objects(array), false) }

  override func removeAllObjects() { objects = [] }

  /// Keeps those that are among others, or those that are not.
  private func keep(_ others: [ManagedObject], _ areKept: Bool) {
    let others = Set(others)
    objects = objects.filter { others.contains($0) == areKept }
  }

  override func intersect(_ other: NSOrderedSet) { keep(Self.objects(other.array), true) }
  override func minus(_ other: NSOrderedSet) { keep(Self.objects(other.array), false) }
  override func union(_ other: NSOrderedSet) { append(Self.objects(other.array)) }
  override func intersectSet(_ other: Set<AnyHashable>) { keep(Self.objects(other), true) }
  override func minusSet(_ other: Set<AnyHashable>) { keep(Self.objects(other), false) }
  override func unionSet(_ other: Set<AnyHashable>) { append(Self.objects(other)) }

  override func sortRange(
    _ range: NSRange, options opts: NSSortOptions = [],
    usingComparator cmptr: (Any, Any) -> ComparisonResult
  ) {
    var new = objects
    let part = range.location..<range.location + range.length
    let sorted = new[part].sorted { cmptr($0, $1) == .orderedAscending }
    new.replaceSubrange(part, with: sorted)
    objects = new
  }

  override func sort(using sortDescriptors: [NSSortDescriptor]) {
    sort { left, right in
      for descriptor in sortDescriptors {
        let order = descriptor.compare(left, to: right)
        if order != .orderedSame { return order }
      }
      return .orderedSame
    }
  }
}
