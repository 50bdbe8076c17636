import Driftless

/// The names of what entries are parked for, as the entries have them, and what the model has for them.
extension SyncSchema {
  /// The entity and property of a name `Entity.property`, of now or of before; nil for another name.
  func property(parkedAs name: String) -> (entity: Entity?, property: Property?)? {
    guard let dot = name.firstIndex(of: ".") else { return nil }
    let entity = entity(namedNowOrBefore: String(name[..<dot]))
    return (entity, entity?.property(namedNowOrBefore: String(name[name.index(after: dot)...])))
  }

  /// By what other names entries may call the same property.
  func otherNames(parkedAs name: String) -> [String] {
    guard let found = property(parkedAs: name), let entity = found.entity,
      let property = found.property
    else { return [] }
    let entities = [entity.name, entity.description.renamingIdentifier].compactMap { $0 }
    let properties = [property.name, property.formerName].compactMap { $0 }
    let all = entities.flatMap { entity in properties.map { "\(entity).\($0)" } }
    return all.filter { $0 != name }
  }
}
