public import Foundation

/// Mapping models and the two models that they are for.
extension MappingModel {
  /// The mapping that follows from two models, to be used as it is or as a start.
  ///
  /// - Throws: `StoreError` with code `cannotMigrate`, which names what needs a mapping of its own; ``ModelError`` when a
  ///   model is wrong.
  public static func inferredMappingModel(
    forSourceModel source: ManagedObjectModel, destinationModel destination: ManagedObjectModel
  ) throws -> MappingModel {
    try source.freeze()
    try destination.freeze()
    let plan = try MigrationPlan(from: source, to: destination)
    var mappings: [EntityMapping] = []
    for entity in destination.entities {
      if let match = plan.match(ofDestination: entity) {
        mappings.append(inferred(match))
      } else {
        mappings.append(EntityMapping(name: "IEM_Add_\(entity.name)", type: .add, to: entity.name))
      }
    }
    for entity in source.entities where plan.match(ofSource: entity) == nil {
      mappings.append(
        EntityMapping(name: "IEM_Remove_\(entity.name)", type: .remove, from: entity.name))
    }
    for index in mappings.indices {
      mappings[index].sourceEntityVersionHash =
        mappings[index].sourceEntityName.flatMap { source.entityVersionHashesByName[$0] }
      mappings[index].destinationEntityVersionHash =
        mappings[index].destinationEntityName.flatMap { destination.entityVersionHashesByName[$0] }
    }
    return MappingModel(entityMappings: mappings)
  }

  private static func inferred(_ match: MigrationPlan.EntityMatch) -> EntityMapping {
    let isSame =
      match.source.name == match.destination.name
      && match.source.versionHash == match.destination.versionHash
    var mapping = EntityMapping(
      name: "IEM_\(isSame ? "Copy" : "Transform")_\(match.destination.name)",
      type: isSame ? .copy : .transform, from: match.source.name, to: match.destination.name)
    for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots)
    where !slot.isTransient && !(slot.property is DerivedAttributeDescription) {
      guard let former else {
        let property = PropertyMapping(name: slot.name)
        if slot.relationship == nil {
          mapping.attributeMappings.append(property)
        } else {
          mapping.relationshipMappings.append(property)
        }
        continue
      }
      if slot.relationship == nil {
        mapping.attributeMappings.append(PropertyMapping(name: slot.name, from: former.name))
      } else {
        mapping.relationshipMappings.append(
          PropertyMapping(name: slot.name, fromRelationship: former.name))
      }
    }
    return mapping
  }

  /// The first mapping model in the folders, `.cdm` files, that is for these two models; nil when there is none.
  ///
  /// - Throws: ``ModelError`` for a file that cannot be read.
  public init?(
    from folders: [URL], forSourceModel source: ManagedObjectModel,
    destinationModel destination: ManagedObjectModel
  ) throws {
    for folder in folders {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      for name in names.sorted() where name.hasSuffix(".cdm") {
        let mapping = try MappingModel(contentsOf: folder.appendingPathComponent(name))
        guard mapping.isFor(source, destination) else { continue }
        self = mapping
        return
      }
    }
    return nil
  }

  /// Whether every mapping is of entities of the two models. A hash is compared where the model has one of that kind:
  /// those of Core Data's are known of compiled models only.
  func isFor(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Bool {
    !entityMappings.isEmpty
      && entityMappings.allSatisfy {
        fits($0.sourceEntityName, $0.sourceEntityVersionHash, source)
          && fits($0.destinationEntityName, $0.destinationEntityVersionHash, destination)
      }
  }

  private func fits(_ name: String?, _ hash: Data?, _ model: ManagedObjectModel) -> Bool {
    guard let name else { return true }
    guard model.entitiesByName[name] != nil else { return false }
    guard let hash else { return true }
    let own = model.ownVersionHashesByName[name]
    return hash == model.entityVersionHashesByName[name] || hash == own
      || (isOfCoreData && model.recordedHashes[name] == nil)
  }

  /// Names what does not fit the two models.
  ///
  /// - Throws: `StoreError` with code `cannotMigrate`.
  func check(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws {
    func wrong(_ message: String) -> StoreError {
      StoreError(
        .cannotMigrate, "The mapping model does not fit: \(message).",
        suggestion: "Correct the mapping, or give the models that it is for.")
    }
    for mapping in entityMappings {
      if let name = mapping.sourceEntityName, source.entitiesByName[name] == nil {
        throw wrong("\(mapping.name) is from \(name), which the store's model does not have")
      }
      guard fits(mapping.sourceEntityName, mapping.sourceEntityVersionHash, source) else {
        throw wrong(
          "\(mapping.name) is from another version of \(mapping.sourceEntityName ?? "") than the store has"
        )
      }
      guard let name = mapping.destinationEntityName else { continue }
      guard let entity = destination.entitiesByName[name] else {
        throw wrong("\(mapping.name) is to \(name), which the new model does not have")
      }
      guard fits(name, mapping.destinationEntityVersionHash, destination) else {
        throw wrong("\(mapping.name) is to another version of \(name) than the new model has")
      }
      for property in mapping.attributeMappings + mapping.relationshipMappings
      where entity.propertiesByName[property.name] == nil {
        let isLeaf = entity.layout.slots.contains { $0.name == property.name }
        if !isLeaf {
          throw wrong("\(mapping.name) sets \(name).\(property.name), which is not there")
        }
      }
    }
  }
}
