import Driftless

/// The names of what entries are parked for, as the entries have them, and what the model has for them.
extension SyncSchema {
  /// The entity and property of a name `Entity.property`, of now or of before; nil for another name.
  func property(parkedAs name: String) -> (entity: Entity?, property: Property?)? {
    guard let dot = name.firstIndex(of: ".") else { return nil }
    let entity = entity(namedNowOrBefore: String(name[..<dot]))
    return (entity, entity?.property(namedNowOrBefore: String(name[name.index(after: dot)...])))
  }

  /// The relationship that a name `Entity.property` says from its other end.
  func otherEnd(parkedAs name: String) -> OtherEnd? {
    guard let dot = name.firstIndex(of: ".") else { return nil }
    return entity(namedNowOrBefore: String(name[..<dot]))?
      .otherEnds[String(name[name.index(after: dot)...])]
  }

  /// By what names entries may say the same entity, or the same property from either end of a relationship.
  func allNames(parkedAs name: String) -> [String] {
    guard name.contains(".") else {
      let entity = entity(namedNowOrBefore: name)?.description
      return Array(Set([name] + (entity?.names ?? [])))
    }
    guard let found = property(parkedAs: name), let entity = found.entity else { return [name] }
    var all = [name]
    func add(_ entity: EntityDescription, _ properties: [String]) {
      for entity in entity.names {
        all += properties.map { "\(entity).\($0)" }
      }
    }
    if let property = found.property {
      add(entity.description, property.names)
    } else if let end = otherEnd(parkedAs: name) {
      add(entity.description, end.names)
      for owner in entities {
        guard let destination = end.relationship.destinationEntity,
          owner.description.isKindOf(entity: destination),
          let property = owner.property(named: end.owner.name)
        else { continue }
        add(owner.description, property.names)
      }
    }
    return Array(Set(all))
  }
}
