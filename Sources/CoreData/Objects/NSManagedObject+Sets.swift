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

  private var objects: [ManagedObject] { ManagedObject.objects(of: owner?.storedValue(key)) ?? [] }

  private var related: RelatedObjects<ManagedObject> {
    owner?[ToMany<ManagedObject, ManagedObject>(key)] ?? []
  }

  override var count: Int { related.count }

  override func member(_ object: Any) -> Any? {
    guard let object = object as? ManagedObject, related.contains(object) else { return nil }
    return object
  }

  override func objectEnumerator() -> NSEnumerator { NSArray(array: objects).objectEnumerator() }

  override func add(_ object: Any) { owner?.addManagedObjects(object, forKey: key) }

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
/// storage. That is filled with what the relationship holds whenever this looks at it: by what came at its end, and anew where
/// it holds others. Whether it does is told by keys, without the objects.
final class RelatedOrderedSet: NSMutableOrderedSet {
  private let owner: ManagedObject?
  private let key: String
  /// What the superclass's storage holds, and the keys that it was filled by.
  private var shown: [ManagedObject] = []
  private var shownKeys: [ObjectKey]? = []
  private var isFilling = false

  init(_ owner: ManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
    show()
  }

  override init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }

  required convenience init?(coder: NSCoder) { nil }

  required convenience init(arrayLiteral elements: Any...) { self.init(capacity: 0) }

  private var related: RelatedObjects<ManagedObject> {
    owner?[ToMany<ManagedObject, ManagedObject>(key)] ?? []
  }

  /// What the relationship holds.
  private(set) var objects: [ManagedObject] {
    get {
      show()
      return shown
    }
    set {
      owner?.setStoredValue(newValue, key)
      show()
    }
  }

  private func show() {
    let keys = related.keys
    if let keys, let shownKeys {
      if keys == shownKeys { return }
      if !shown.isEmpty, keys.starts(with: shownKeys) {
        let more = related.objects(at: shownKeys.count..<keys.count)
        if more.count == keys.count - shownKeys.count { return append(more, keys) }
      }
    }
    let objects = ManagedObject.objects(of: owner?.storedValue(key)) ?? []
    guard objects != shown else { return shownKeys = keys }
    isFilling = true
    super.removeAllObjects()
    isFilling = false
    shown = []
    append(objects, related.keys)
  }

  private func append(_ more: [ManagedObject], _ keys: [ObjectKey]?) {
    isFilling = true
    super.addObjects(from: more)
    isFilling = false
    shown += more
    shownKeys = keys?.count == shown.count ? keys : nil
  }

  private static func objects(_ list: some Sequence) -> [ManagedObject] {
    list.compactMap { ($0 as? AnyHashable)?.base as? ManagedObject ?? $0 as? ManagedObject }
  }

  // MARK: Reading

  override var count: Int { objects.count }

  override func object(at idx: Int) -> Any { objects[idx] }

  override func index(of object: Any) -> Int {
    guard contains(object) else { return NSNotFound }
    return objects.firstIndex { $0 === object as? ManagedObject } ?? NSNotFound
  }

  override func contains(_ object: Any) -> Bool {
    if isFilling { return super.contains(object) }
    return (object as? ManagedObject).map(related.contains) ?? false
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
    guard let object = owner?.members([object], forKey: key)?.first, !contains(object) else {
      return
    }
    objects.insert(object, at: idx)
  }

  override func removeObject(at idx: Int) { objects.remove(at: idx) }

  override func replaceObject(at idx: Int, with object: Any) {
    guard let object = owner?.members([object], forKey: key)?.first, !contains(object) else {
      return
    }
    objects[idx] = object
  }

  override func add(_ object: Any) { addObjects(from: [object]) }

  override func add(_ objects: UnsafePointer<AnyObject>?, count: Int) {
    addObjects(from: Array(UnsafeBufferPointer(start: objects, count: count)))
  }

  override func addObjects(from array: [Any]) { addAtEnd(array) }

  private func addAtEnd(_ more: [Any]) {
    guard let more = owner?.members(more, forKey: key) else { return }
    var related = related
    related.formUnion(more)
    show()
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
  override func union(_ other: NSOrderedSet) { addAtEnd(other.array) }
  override func intersectSet(_ other: Set<AnyHashable>) { keep(Self.objects(other), true) }
  override func minusSet(_ other: Set<AnyHashable>) { keep(Self.objects(other), false) }
  override func unionSet(_ other: Set<AnyHashable>) { addAtEnd(other.map(\.base)) }

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
