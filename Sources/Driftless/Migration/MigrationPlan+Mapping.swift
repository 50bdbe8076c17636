/// What a mapping model says, as far as it is a plain taking over.
extension MigrationPlan {
  /// The first mapping from one entity to another makes the second what the first was: its objects keep key, identity and
  /// history. What other mappings make are new objects.
  init(
    _ mapping: MappingModel, from source: ManagedObjectModel, _ stored: [EntityDescription],
    to destination: ManagedObjectModel, _ present: Set<String>
  ) throws {
    try mapping.check(source, destination)
    let destinations = destination.entities.filter { present.contains($0.name) }
    var matches: [EntityMatch] = []
    for entityMapping in mapping.entityMappings where entityMapping.mappingType != .remove {
      guard let sourceName = entityMapping.sourceEntityName,
        let destinationName = entityMapping.destinationEntityName,
        let former = stored.first(where: { $0.name == sourceName }),
        let entity = destinations.first(where: { $0.name == destinationName }),
        !matches.contains(where: { $0.source === former || $0.destination === entity })
      else { continue }
      let properties = entityMapping.attributeMappings + entityMapping.relationshipMappings
      let slots = entity.layout.slots.map { slot in
        properties[slot.name]?.formerName
          .flatMap { name in former.layout.slots.first { $0.name == name } }
          .flatMap { Self.isTakenOver($0, slot) ? $0 : nil }
      }
      matches.append(EntityMatch(source: former, destination: entity, sourceSlots: slots))
    }
    self.init(from: stored, to: destinations, matches: matches)
  }

  private static func isTakenOver(_ former: PropertySlot, _ slot: PropertySlot) -> Bool {
    if former.isTransient || slot.isTransient { return false }
    return switch (former.kind, slot.kind) {
    case (.attribute(_, let old), .attribute(_, let new)): isConvertible(old, new)
    case (.toOne, .toOne), (.toMany, .toMany): true
    default: false
    }
  }
}

extension PropertyMapping {
  /// The property of the source whose value is taken over as it is; nil when something is computed.
  fileprivate var formerName: String? {
    switch valueExpression {
    case .variable("source", let path): path.joined(separator: ".")
    case .message(.variable("manager", path: []), let selector, let operands, _)
    where selector == MigrationManager.byMapping || selector == MigrationManager.byRelationship:
      if case .variable("source", let path)? = operands.last {
        path.joined(separator: ".")
      } else {
        nil
      }
    default: nil
    }
  }
}
