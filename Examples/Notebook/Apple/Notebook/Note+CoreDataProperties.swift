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
  @objc(addTagsObject:)
  @NSManaged public func addToTags(_ value: Tag)

  @objc(removeTagsObject:)
  @NSManaged public func removeFromTags(_ value: Tag)

  @objc(addTags:)
  @NSManaged public func addToTags(_ values: NSSet)

  @objc(removeTags:)
  @NSManaged public func removeFromTags(_ values: NSSet)
}

extension Note: Identifiable {}
