import CoreData

/// One file that was downloaded.
@objc(CachedFile)
final class CachedFile: NSManagedObject {
  @NSManaged var remoteURL: String
  @NSManaged var fileData: Data?
  @NSManaged var fileSize: Int64
  @NSManaged var contentType: String?
  @NSManaged var entityTag: String?
  @NSManaged var lastAccessDate: Date
  @NSManaged var expirationDate: Date?
}

extension CachedFile {
  /// The model in code: a library ships no bundle for it.
  static func makeModel() -> NSManagedObjectModel {
    let data = attribute("fileData", .binaryDataAttributeType, isOptional: true)
    data.allowsExternalBinaryDataStorage = true
    let size = attribute("fileSize", .integer64AttributeType)
    size.defaultValue = 0

    let entity = NSEntityDescription()
    entity.name = "CachedFile"
    entity.managedObjectClassName = NSStringFromClass(CachedFile.self)
    entity.properties = [
      attribute("remoteURL", .stringAttributeType),
      data,
      size,
      attribute("contentType", .stringAttributeType, isOptional: true),
      attribute("entityTag", .stringAttributeType, isOptional: true),
      attribute("lastAccessDate", .dateAttributeType),
      attribute("expirationDate", .dateAttributeType, isOptional: true),
    ]
    entity.uniquenessConstraints = [["remoteURL"]]

    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType, isOptional: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = isOptional
    return attribute
  }
}
