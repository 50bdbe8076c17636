import Driftless

/// The cache's model, in code: there is no file to ship and none to lose.
enum CacheModel {
  static func make() -> ManagedObjectModel {
    let data = AttributeDescription("fileData", .binaryData, isOptional: false)
    data.allowsExternalBinaryDataStorage = true
    let file = EntityDescription("CachedFile")
    file.managedObjectClassName = "CachedFile"
    file.properties = [
      AttributeDescription("remoteURL", .string, isOptional: false),
      data,
      AttributeDescription("lastAccessDate", .date, isOptional: false),
      AttributeDescription("expirationDate", .date, isOptional: false),
      AttributeDescription("contentType", .string),
      AttributeDescription("entityTag", .string),
      AttributeDescription("fileSize", .integer32, isOptional: false),
    ]
    file.uniquenessConstraints = [["remoteURL"]]
    file.indexes = [
      FetchIndexDescription(
        name: "byLastAccess",
        elements: [FetchIndexElementDescription(propertyName: "lastAccessDate")])
    ]
    return ManagedObjectModel(entities: [file, totals()])
  }

  /// One object: what all files take up. Whoever adds or removes a file changes it too.
  private static func totals() -> EntityDescription {
    let totals = EntityDescription("CacheTotals")
    totals.managedObjectClassName = "CacheTotals"
    totals.properties = [
      AttributeDescription("name", .string, isOptional: false),
      AttributeDescription("byteCount", .integer64, isOptional: false, defaultValue: .integer(0)),
      AttributeDescription("fileCount", .integer64, isOptional: false, defaultValue: .integer(0)),
      AttributeDescription(
        "changeCount", .integer64, isOptional: false, defaultValue: .integer(0)),
    ]
    totals.uniquenessConstraints = [["name"]]
    return totals
  }
}
