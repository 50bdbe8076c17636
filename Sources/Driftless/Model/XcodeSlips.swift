import Logging

/// What Xcode lets pass in a model and Core Data lives with, while a model that is made in code is refused for it: each is mended
/// as Core Data takes it, and logged by its name.
enum XcodeSlips {
  static func mend(_ model: ManagedObjectModel) {
    let byName = Dictionary(model.entities.map { ($0.name, $0) }) { first, _ in first }
    for entity in model.entities {
      dropStrayInverses(of: entity, byName)
      dropIndexesOfOneName(of: entity)
    }
  }

  /// A to-one relationship whose inverse is another one's: that one has it, and this one goes without.
  private static func dropStrayInverses(
    of entity: EntityDescription, _ byName: [String: EntityDescription]
  ) {
    for case let relationship as RelationshipDescription in entity.ownProperties {
      guard !relationship.isToMany, let inverseName = relationship.inverseRelationshipName,
        let destination = relationship.destinationEntityName.flatMap({ byName[$0] }),
        let inverse = property(inverseName, of: destination, byName),
        let back = inverse.inverseRelationshipName, back != relationship.name,
        let home = inverse.destinationEntityName.flatMap({ byName[$0] }),
        property(back, of: home, byName)?.inverseRelationshipName == inverseName
      else { continue }
      relationship.inverseRelationshipName = nil
      relationship.fileAttributes["inverseName"] = inverseName
      note(
        "\(entity.name).\(relationship.name): its inverse \(destination.name).\(inverseName) names "
          + "\(back) as its own; it is read as one without inverse")
    }
  }

  /// A relationship that an entity has itself or inherits, before parents are resolved.
  private static func property(
    _ name: String, of entity: EntityDescription, _ byName: [String: EntityDescription]
  ) -> RelationshipDescription? {
    var current: EntityDescription? = entity
    var seen: Set<String> = []
    while let entity = current, seen.insert(entity.name).inserted {
      if let own = entity.ownProperties.first(where: { $0.name == name }) {
        return own as? RelationshipDescription
      }
      current = entity.superentityName.flatMap { byName[$0] }
    }
    return nil
  }

  /// A file has one index of a name: the first.
  private static func dropIndexesOfOneName(of entity: EntityDescription) {
    var names: Set<String> = []
    let kept = entity.indexes.filter { names.insert($0.name).inserted }
    guard kept.count < entity.indexes.count else { return }
    note("\(entity.name): several indexes have one name; the first of each is read")
    entity.indexes = kept
  }

  private static func note(_ text: String) {
    Logger(label: "driftless.model").notice("\(text)")
  }
}
