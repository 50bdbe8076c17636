import Driftless
import Foundation

/// Looks at a list that is the value of a property, and sets the property when it is changed.
///
/// Each look is at the value that the property has then. It is made into a list once for as long as the property has the same one.
final class KeyedArray: NSMutableArray {
  private let owner: ManagedObject?
  private let key: String
  /// The elements that were found last in an attribute, and in what.
  private var known: (archive: Data, elements: [Any])?

  init(_ owner: ManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
  }

  required init(objects: UnsafePointer<AnyObject>?, count: Int) {
    (owner, key) = (nil, "")
    super.init(objects: objects, count: count)
  }

  required convenience init?(coder: NSCoder) { nil }

  required convenience init(arrayLiteral elements: Any...) { self.init(objects: nil, count: 0) }

  private enum Content {
    case list([Any])
    /// The objects of a relationship, of which one set is made.
    case set(NSOrderedSet)

    var elements: [Any] {
      switch self {
      case .list(let elements): elements
      case .set(let set): set.array
      }
    }
  }

  private var content: Content {
    guard let owner else { return .list([]) }
    let archive = owner.archive(of: key)
    if let archive, let known, known.archive == archive { return .list(known.elements) }
    guard let value = owner.value(forKey: key) else { return .list([]) }
    if let set = value as? NSOrderedSet { return .set(set) }
    let elements = PathCollection(value)?.elements ?? []
    known = archive.map { ($0, elements) }
    return .list(elements)
  }

  private func change(_ body: (inout [Any]) -> Void) {
    var elements = content.elements
    body(&elements)
    owner?.setValue(elements, forKey: key)
  }

  override var count: Int {
    switch content {
    case .list(let elements): elements.count
    case .set(let set): set.count
    }
  }

  override func object(at index: Int) -> Any {
    switch content {
    case .list(let elements): elements[index]
    case .set(let set): set.object(at: index)
    }
  }

  override func insert(_ anObject: Any, at index: Int) { change { $0.insert(anObject, at: index) } }

  override func removeObject(at index: Int) { change { $0.remove(at: index) } }

  override func replaceObject(at index: Int, with anObject: Any) {
    change { $0[index] = anObject }
  }

  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
    change { $0.swapAt(idx1, idx2) }
  }

  override func add(_ anObject: Any) { change { $0.append(anObject) } }

  override func removeLastObject() { change { $0.removeLast() } }

  override func removeAllObjects() { change { $0 = [] } }

  override func setArray(_ otherArray: [Any]) { change { $0 = otherArray } }

  // Of many the property is set once.

  override func addObjects(from otherArray: [Any]) { change { $0 += otherArray } }

  override func removeObjects(in range: NSRange) {
    change { elements in
      if let range = Range(range) { elements.removeSubrange(range) }
    }
  }

  override func removeObjects(at indexes: IndexSet) {
    change { elements in
      for range in indexes.rangeView.reversed() { elements.removeSubrange(range) }
    }
  }

  override func insert(_ objects: [Any], at indexes: IndexSet) {
    change { elements in
      for (object, index) in zip(objects, indexes) { elements.insert(object, at: index) }
    }
  }
}
