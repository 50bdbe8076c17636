/// What becomes of each entity and property of one model in another, worked out from the two: Core Data's rules of an
/// inferred mapping.
///
/// Entities and properties pair by renaming identifier, which is the name where none is set. Allowed are properties and
/// entities that come, go or get another name; an attribute that becomes optional, or required with a default value; a
/// to-one relationship that becomes to-many, and back where no object has several; an order that comes or goes; numbers
/// that get a wider type; a property that moves within its hierarchy; and an entity that moves into a hierarchy or out of
/// it, so that hierarchies are split and merged.
struct MigrationPlan {
  struct EntityMatch {
    let source: EntityDescription
    let destination: EntityDescription
    /// By slot of the destination the slot of the source, or nil for a property that is new.
    let sourceSlots: [PropertySlot?]
  }

  private let sources: [EntityDescription]
  private let destinations: [EntityDescription]
  private(set) var matches: [EntityMatch] = []
  private var matchByDestination: [String: EntityMatch] = [:]
  private var matchBySource: [String: EntityMatch] = [:]

  /// - Throws: `StoreError` with code `cannotMigrate`, which names what needs a mapping of its own.
  ///
  /// - Parameters:
  ///   - stored: the entities that the store has; nil for all.
  ///   - present: the names of those that it shall have; nil for all.
  init(
    from source: ManagedObjectModel, _ stored: [EntityDescription]? = nil,
    to destination: ManagedObjectModel, _ present: Set<String>? = nil
  ) throws {
    sources = stored ?? source.entities
    destinations = destination.entities.filter { present?.contains($0.name) ?? true }
    for entity in destinations {
      guard let former = try former(of: entity) else { continue }
      let slots = try entity.layout.slots.map { slot in
        try Self.former(of: slot, in: former, beside: entity.layout.slots).flatMap {
          try Self.check($0, slot, entity) ? $0 : nil
        }
      }
      let match = EntityMatch(source: former, destination: entity, sourceSlots: slots)
      matches.append(match)
      matchByDestination[entity.name] = match
      matchBySource[former.name] = match
    }
    for match in matches { try checkNewProperties(of: match) }
    try checkDestinations()
  }

  /// What a mapping model says.
  init(
    from stored: [EntityDescription], to destinations: [EntityDescription], matches: [EntityMatch]
  ) {
    sources = stored
    self.destinations = destinations
    self.matches = matches
    for match in matches {
      matchByDestination[match.destination.name] = match
      matchBySource[match.source.name] = match
    }
  }

  func match(ofDestination entity: EntityDescription) -> EntityMatch? {
    matchByDestination[entity.name]
  }
  func match(ofSource entity: EntityDescription) -> EntityMatch? { matchBySource[entity.name] }

  /// The slot that a relationship was; nil for a new one.
  func former(of relationship: RelationshipDescription) -> (EntityMatch, PropertySlot)? {
    guard let entity = relationship.entity, let match = match(ofDestination: entity),
      let slot = entity.layout.index(named: relationship.name),
      let former = match.sourceSlots[slot]
    else { return nil }
    return (match, former)
  }

  /// The relationships that a to-many relationship was: several, where it stood in several entities that are below its own
  /// now. Empty for a new one.
  func formers(of relationship: RelationshipDescription) -> [RelationshipDescription] {
    guard let entity = relationship.entity else { return [] }
    var found: [RelationshipDescription] = []
    let members = entity.selfAndDescendants
    for match in matches where members.contains(where: { $0 === match.destination }) {
      guard let slot = match.destination.layout.index(named: relationship.name),
        let former = match.sourceSlots[slot]?.relationship,
        !found.contains(where: { $0 === former })
      else { continue }
      found.append(former)
    }
    return found
  }

  // MARK: Pairs

  private func former(of entity: EntityDescription) throws -> EntityDescription? {
    let claims = destinations.compactMap { $0 === entity ? nil : $0.declaredRenamingIdentifier }
    let former = Self.former(of: Names(entity), among: sources, claimed: claims) { Names($0) }
    guard let former else { return nil }
    if let other = matchBySource[former.name] {
      throw Self.refusal(
        "\(entity.name) and \(other.destination.name) both were \(former.name)",
        "Give one of them another renaming identifier.")
    }
    return former
  }

  /// What a property was called before; nil for a new one.
  static func former(
    of slot: PropertySlot, in entity: EntityDescription, beside others: [PropertySlot]
  ) throws -> PropertySlot? {
    // A part of a composite attribute goes by all of its names, as a whole.
    if slot.name.contains(".") {
      return ([slot.name] + slot.formerNames).lazy.compactMap { name in
        entity.layout.slots.first { $0.name == name }
      }.first
    }
    let claims = others.compactMap {
      $0.index == slot.index ? nil : $0.property.declaredRenamingIdentifier
    }
    return former(of: Names(slot), among: entity.layout.slots, claimed: claims) { Names($0) }
  }

  /// What an element is called and was called.
  private struct Names {
    let name: String
    let identifier: String?
    /// The newest first.
    let former: [String]

    init(_ entity: EntityDescription) {
      name = entity.name
      identifier = entity.declaredRenamingIdentifier
      former = entity.formerNames
    }

    init(_ slot: PropertySlot) {
      name = slot.name
      identifier = slot.property.declaredRenamingIdentifier
      former = slot.formerNames
    }
  }

  /// What an element was called before: itself, where that has its name and its identifier; by its renaming identifier as a
  /// name, then as a renaming identifier; by its name; and at last by the other names that it lists.
  ///
  /// - Parameter claimed: The renaming identifiers of others, which go before a mere name.
  private static func former<Element>(
    of new: Names, among old: [Element], claimed: [String], _ names: (Element) -> Names
  ) -> Element? {
    func called(_ name: String) -> Element? {
      old.first { names($0).name == name } ?? old.first { names($0).identifier == name }
    }
    let same = old.first { names($0).name == new.name }
    if let identifier = new.identifier, identifier != new.name {
      if let same, names(same).identifier == identifier { return same }
      if let found = called(identifier) { return found }
      if let same, !claimed.contains(new.name) { return same }
    } else if let found = called(new.name) {
      return found
    }
    for name in new.former where !claimed.contains(name) {
      if let found = called(name) { return found }
    }
    return nil
  }

  /// A zone's log calls each thing by the name that it had, and who reads it late takes the name for what has it now.
  ///
  /// - Throws: `StoreError` (`cannotMigrate`) where the model gives a thing the name that another one had.
  func checkNamesOfReplica() throws {
    func refusal(_ label: String, _ former: String, _ name: String) -> StoreError {
      Self.refusal(
        "\(label) was \(former), and another thing had the name \(name), which the log of the store's zone calls that",
        "Give it a name that none had.")
    }
    for match in matches {
      let (former, name) = (match.source.name, match.destination.name)
      if former != name, sources.contains(where: { $0.name == name }) {
        throw refusal(name, former, name)
      }
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let former, former.name != slot.name, !slot.isTransient,
          let other = match.source.layout.slots.first(where: { $0.name == slot.name }),
          !other.isTransient, !(other.property is DerivedAttributeDescription)
        else { continue }
        throw refusal("\(name).\(slot.name)", former.name, slot.name)
      }
    }
  }

  // MARK: Numbers

  /// The numbers of the destination's entities: those that were keep theirs, which history and sync know them by.
  /// - Throws: `StoreError` with the code `damaged` for an entity that has none, whose rows would be found by nobody.
  func numbers(from schema: StoreSchema) throws(StoreError) -> [String: Int32] {
    var numbers: [String: Int32] = [:]
    for match in matches {
      let number = schema.entityNumber(of: match.source)
      guard number > 0 else {
        throw StoreError(
          .damaged, "The store has no number for the entity \(match.source.name).",
          suggestion: "Check the store, and restore its file from a copy.")
      }
      numbers[match.destination.name] = number
    }
    var next = (schema.numbers.map(\.number).max() ?? 0) + 1
    for entity in destinations.sorted(by: { $0.name < $1.name })
    where numbers[entity.name] == nil {
      numbers[entity.name] = next
      next += 1
    }
    return numbers
  }
}
