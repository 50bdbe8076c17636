/// An entity as ``ModelArchive`` keeps it.
struct ArchivedEntity: Codable {
  var name: String
  var className: String?
  var parent: String?
  var abstract: Bool?
  var properties: [ArchivedProperty] = []
  var unique: [[String]]?
  var indexes: [ArchivedIndex]?
  var userInfo: [String: String]?
  var hashModifier: String?
  var renaming: String?
  var spotlight: String?
  var fileAttributes: [String: String]?

  init(_ entity: EntityDescription) throws(ModelError) {
    name = entity.name
    className = entity.declaredClassName
    parent = entity.superentityName
    abstract = ArchivedModel.present(entity.isAbstract)
    unique = ArchivedModel.present(entity.uniquenessConstraints)
    indexes = ArchivedModel.present(entity.indexes.map(ArchivedIndex.init))
    userInfo = ArchivedModel.present(entity.userInfo)
    hashModifier = entity.versionHashModifier
    renaming = entity.declaredRenamingIdentifier
    spotlight = entity.coreSpotlightDisplayNameFormat
    fileAttributes = ArchivedModel.present(entity.fileAttributes)
    for property in entity.ownProperties.sorted(by: { $0.name < $1.name }) {
      properties.append(try ArchivedProperty(property))
    }
  }

  /// Without what only a model file means.
  var withoutFileAttributes: ArchivedEntity {
    var entity = self
    entity.fileAttributes = nil
    entity.properties = properties.map(\.withoutFileAttributes)
    entity.indexes = indexes?.map(\.withoutFileAttributes)
    return entity
  }

  func description() throws(ModelError) -> EntityDescription {
    let entity = EntityDescription(name)
    entity.managedObjectClassName = className
    entity.superentityName = parent
    entity.isAbstract = abstract ?? false
    entity.uniquenessConstraints = unique ?? []
    entity.indexes = indexes?.map(\.description) ?? []
    entity.userInfo = userInfo ?? [:]
    entity.versionHashModifier = hashModifier
    entity.renamingIdentifier = renaming
    entity.coreSpotlightDisplayNameFormat = spotlight
    entity.fileAttributes = fileAttributes ?? [:]
    var descriptions: [PropertyDescription] = []
    for property in properties { descriptions.append(try property.description(of: name)) }
    entity.properties = descriptions
    return entity
  }
}
