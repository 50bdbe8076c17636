// swift-format-ignore-file
public import CoreData

/// Which binding a volume has.
enum Binding: Int16 {
  case paper = 0
  case cloth
}

public class Volume: NSManagedObject {
  public var title: String? { get { managedValue(forKey: "title") } set { setManagedValue(newValue, forKey: "title") } }
  public var code: String { get { managedValue(forKey: "code") } set { setManagedValue(newValue, forKey: "code") } }
  var small: Int16 { get { managedValue(forKey: "small") } set { setManagedValue(newValue, forKey: "small") } }
  var middle: Int32 { get { managedValue(forKey: "middle") } set { setManagedValue(newValue, forKey: "middle") } }
  var large: Int64 { get { managedValue(forKey: "large") } set { setManagedValue(newValue, forKey: "large") } }
  public var isSold: Bool { get { managedValue(forKey: "isSold") } set { setManagedValue(newValue, forKey: "isSold") } }
  public var weight: Double { get { managedValue(forKey: "weight") } set { setManagedValue(newValue, forKey: "weight") } }
  public var rating: Float { get { managedValue(forKey: "rating") } set { setManagedValue(newValue, forKey: "rating") } }
  public var made: Date? { get { managedValue(forKey: "made") } set { setManagedValue(newValue, forKey: "made") } }
  public var seen: TimeInterval { get { managedValue(forKey: "seen") } set { setManagedValue(newValue, forKey: "seen") } }
  public var photo: Data? { get { managedValue(forKey: "photo") } set { setManagedValue(newValue, forKey: "photo") } }
  public var id: UUID? { get { managedValue(forKey: "id") } set { setManagedValue(newValue, forKey: "id") } }
  public var page: URL? { get { managedValue(forKey: "page") } set { setManagedValue(newValue, forKey: "page") } }
  public var count: NSNumber? { get { managedValue(forKey: "count") } set { setManagedValue(newValue, forKey: "count") } }
  public var cost: NSDecimalNumber? { get { managedValue(forKey: "cost") } set { setManagedValue(newValue, forKey: "cost") } }
  public var price: Decimal { get { managedValue(forKey: "price") } set { setManagedValue(newValue, forKey: "price") } }
  public var facts: [String: Any] { get { managedValue(forKey: "facts") } set { setManagedValue(newValue, forKey: "facts") } }
  var binding: Binding { get { managedValue(forKey: "binding") } set { setManagedValue(newValue, forKey: "binding") } }
  fileprivate(set) var `default`: String! { get { managedValue(forKey: "default") } set { setManagedValue(newValue, forKey: "default") } }
  private var primitiveTitle: String? { get { managedPrimitiveValue(forKey: "title") } set { setManagedPrimitiveValue(newValue, forKey: "title") } }
  private var primitiveSmall: Int16 { get { managedPrimitiveValue(forKey: "small") } set { setManagedPrimitiveValue(newValue, forKey: "small") } }
  public var shelf: Shelf? { get { managedValue(forKey: "shelf") } set { setManagedValue(newValue, forKey: "shelf") } }

  /// Reads and writes beside the accessors of the title.
  var quietTitle: String? {
    get { primitiveTitle }
    set { primitiveTitle = newValue }
  }
  var quietSmall: Int16 {
    get { primitiveSmall }
    set { primitiveSmall = newValue }
  }
}

public class Shelf: NSManagedObject {
  public var volumes: NSSet? { get { managedValue(forKey: "volumes") } set { setManagedValue(newValue, forKey: "volumes") } }
  public var row: NSOrderedSet? { get { managedValue(forKey: "row") } set { setManagedValue(newValue, forKey: "row") } }
  public var readers: Set<Volume> { get { managedValue(forKey: "readers") } set { setManagedValue(newValue, forKey: "readers") } }
}

// MARK: Generated accessors for volumes
extension Shelf {

    public func addToVolumes(_ value: Volume) { addManagedObjects(value, forKey: "volumes") }

    public func removeFromVolumes(_ value: Volume) { removeManagedObjects(value, forKey: "volumes") }

    public func addToVolumes(_ values: NSSet) { addManagedObjects(values, forKey: "volumes") }

    public func removeFromVolumes(_ values: NSSet) { removeManagedObjects(values, forKey: "volumes") }

}

// MARK: Generated accessors for row
extension Shelf {

    public func insertIntoRow(_ value: Volume, at idx: Int) { insertManagedObjects(value, at: IndexSet(integer: idx), forKey: "row") }

    public func removeFromRow(at idx: Int) { removeManagedObjects(at: IndexSet(integer: idx), forKey: "row") }

    public func insertIntoRow(_ values: [Volume], at indexes: NSIndexSet) { insertManagedObjects(values, at: IndexSet(indexes), forKey: "row") }

    public func removeFromRow(at indexes: NSIndexSet) { removeManagedObjects(at: IndexSet(indexes), forKey: "row") }

    public func replaceRow(at idx: Int, with value: Volume) { replaceManagedObjects(at: IndexSet(integer: idx), with: value, forKey: "row") }

    public func replaceRow(at indexes: NSIndexSet, with values: [Volume]) { replaceManagedObjects(at: IndexSet(indexes), with: values, forKey: "row") }

    public func addToRow(_ value: Volume) { addManagedObjects(value, forKey: "row") }

    public func removeFromRow(_ value: Volume) { removeManagedObjects(value, forKey: "row") }

    public func addToRow(_ values: NSOrderedSet) { addManagedObjects(values, forKey: "row") }

    public func removeFromRow(_ values: NSOrderedSet) { removeManagedObjects(values, forKey: "row") }

}
