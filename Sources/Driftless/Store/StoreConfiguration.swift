import Foundation

/// Which entities of a model a store has.
///
/// Core Data's rule is that a store is added with a configuration of the model, and keeps the entities of that
/// configuration alone. What they inherit from is in the store as well, since a hierarchy has one table.
struct StoreConfiguration {
  /// Nil for all entities.
  let name: String?
  let entityNames: Set<String>

  /// All entities of a model, or those of one configuration.
  ///
  /// - Throws: `StoreError`: `unknownConfiguration`, or `relationshipLeavesConfiguration` with the relationships that a
  ///   store of it could not keep.
  init(_ name: String?, of model: ManagedObjectModel) throws {
    self.name = name
    guard let names = Self.entityNames(of: name, in: model) else {
      let known = model.configurations.map { "“\($0)”" }.joined(separator: ", ")
      throw StoreError(
        .unknownConfiguration, "The model has no configuration “\(name ?? "")”.",
        suggestion: known.isEmpty
          ? "It has none: give nil for all entities, or define one with setEntities."
          : "Use one of: \(known); or nil for all entities.")
    }
    entityNames = names
    let leaving = Self.relationships(leaving: names, of: model)
    guard leaving.isEmpty else {
      throw StoreError(
        .relationshipLeavesConfiguration,
        "A store of the configuration “\(name ?? "")” cannot keep \(leaving.joined(separator: ", ")).",
        suggestion: """
          Both ends of a relationship lie in one store: add the entity at the other end to the configuration, or keep its \
          identifier in an attribute and find it with a fetched property.
          """)
    }
  }

  /// The entities that a file says it has.
  init(_ metadata: StoreMetadata, of model: ManagedObjectModel) {
    name = metadata.configurationName
    let stored = model.entities.filter { metadata.versionHashes[$0.name] != nil }
    entityNames = Self.withInherited(stored.isEmpty ? model.entities : stored, in: model)
  }

  /// The members of a configuration and all that they inherit from; nil for a name that is unknown.
  static func entityNames(of configuration: String?, in model: ManagedObjectModel) -> Set<String>? {
    model.entities(forConfigurationName: configuration).map { withInherited($0, in: model) }
  }

  private static func withInherited(
    _ members: [EntityDescription], in model: ManagedObjectModel
  ) -> Set<String> {
    let byName = model.entitiesByName
    var names: Set<String> = []
    for member in members {
      var next: EntityDescription? = member
      while let entity = next, names.insert(entity.name).inserted {
        next = entity.superentity ?? entity.superentityName.flatMap { byName[$0] }
      }
    }
    return names
  }

  private static func relationships(
    leaving names: Set<String>, of model: ManagedObjectModel
  ) -> [String] {
    model.entities.filter { names.contains($0.name) }.flatMap { entity in
      entity.ownProperties.compactMap { property in
        guard let relationship = property as? RelationshipDescription, !relationship.isTransient,
          let destination = relationship.destinationEntity, !names.contains(destination.name)
        else { return nil }
        return "\(entity.name).\(relationship.name), which leads to \(destination.name)"
      }
    }.sorted()
  }
}
