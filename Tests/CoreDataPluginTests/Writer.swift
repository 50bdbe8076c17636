public import CoreData

public class Writer: NSManagedObject {
  public class func fetchRequest() -> NSFetchRequest<Writer> {
    NSFetchRequest<Writer>(entityName: "Writer")
  }

  @NSManaged public var name: String?
  @NSManaged public var novels: NSSet?
  @NSManaged public var row: NSOrderedSet?
}

// MARK: Generated accessors for novels
extension Writer {
  @NSManaged public func addToNovels(_ value: Novel)
  @NSManaged public func removeFromNovels(_ value: Novel)
  @NSManaged public func addToNovels(_ values: NSSet)
  @NSManaged public func removeFromNovels(_ values: NSSet)
}

// MARK: Generated accessors for row
extension Writer {
  @NSManaged public func insertIntoRow(_ value: Novel, at idx: Int)
  @NSManaged public func removeFromRow(at idx: Int)
  @NSManaged public func insertIntoRow(_ values: [Novel], at indexes: NSIndexSet)
  @NSManaged public func removeFromRow(at indexes: NSIndexSet)
  @NSManaged public func replaceRow(at idx: Int, with value: Novel)
  @NSManaged public func replaceRow(at indexes: NSIndexSet, with values: [Novel])
  @NSManaged public func addToRow(_ value: Novel)
  @NSManaged public func removeFromRow(_ value: Novel)
  @NSManaged public func addToRow(_ values: NSOrderedSet)
  @NSManaged public func removeFromRow(_ values: NSOrderedSet)
}
