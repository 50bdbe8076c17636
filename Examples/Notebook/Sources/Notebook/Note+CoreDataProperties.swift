import CoreData
import Foundation

extension Note {
  @nonobjc public class func fetchRequest() -> NSFetchRequest<Note> {
    return NSFetchRequest<Note>(entityName: "Note")
  }

  @NSManaged public var title: String?
  @NSManaged public var body: String?
  @NSManaged public var made: Date?
  @NSManaged public var isPinned: Bool
  @NSManaged public var kindNumber: Int16
  @NSManaged public var tags: NSSet?
}

// MARK: Generated accessors for tags
extension Note {
  @NSManaged public func addToTags(_ value: Tag)

  @NSManaged public func removeFromTags(_ value: Tag)

  @NSManaged public func addToTags(_ values: NSSet)

  @NSManaged public func removeFromTags(_ values: NSSet)
}

extension Note: Identifiable {}
