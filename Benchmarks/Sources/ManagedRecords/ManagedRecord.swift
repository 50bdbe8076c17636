public import CoreData

/// The object of six attributes, as an application of Core Data's has it.
public class ManagedRecord: NSManagedObject {
  @NSManaged public var flag: Bool
  @NSManaged public var size: Int64
  @NSManaged public var score: Double
  @NSManaged public var modified: Date?
  @NSManaged public var name: String?
  @NSManaged public var summary: String
}
