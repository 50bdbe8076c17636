import Driftless
import Foundation

/// Looks at a list that is the value of a property, and sets the property when it is changed.
final class KeyedArray: NSMutableArray {
  private let owner: ManagedObject?
  private let key: String

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

  private var elements: [Any] {
    get { owner?.value(forKey: key).flatMap(PathCollection.init)?.elements ?? [] }
    set { owner?.setValue(newValue, forKey: key) }
  }

  override var count: Int { elements.count }

  override func object(at index: Int) -> Any { elements[index] }

  override func insert(_ anObject: Any, at index: Int) { elements.insert(anObject, at: index) }

  override func removeObject(at index: Int) { elements.remove(at: index) }

  override func replaceObject(at index: Int, with anObject: Any) { elements[index] = anObject }

  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
    var new = elements
    new.swapAt(idx1, idx2)
    elements = new
  }

  override func add(_ anObject: Any) { elements.append(anObject) }

  override func removeLastObject() { elements.removeLast() }

  override func removeAllObjects() { elements = [] }

  override func setArray(_ otherArray: [Any]) { elements = otherArray }
}
