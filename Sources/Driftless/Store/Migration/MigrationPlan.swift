/// What becomes of each entity and property of one model in another, worked out from the two: Core Data's rules of an
/// inferred mapping.
///
/// Entities and properties pair by renaming identifier, which is the name where none is set. Allowed are properties and
/// entities that come, go or get another name; an attribute that becomes optional, or required with a default value; a
/// to-one relationship that becomes to-many; an order that comes or goes; numbers that get a wider type; a property that
/// moves within its hierarchy; and a new entity above a hierarchy.
struct MigrationPlan {
  struct EntityMatch {
    let source: EntityDescription
    let destination: EntityDescription
    /// By slot of the destination the slot of the source, or nil for a property that is new.
    let sourceSlots: [PropertySlot?]
  }

  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  private(set) var matches: [EntityMatch] = []
  private var matchByDestination: [String: EntityMatch] = [:]
  private var matchBySource: [String: EntityMatch] = [:]

  /// - Throws: `StoreError` with code `cannotMigrate`, which names what needs a mapping of its own.
  init(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws {
    self.source = source
    self.destination = destination
    for entity in destination.entities {
      guard let former = try former(of: entity) else { continue }
      let slots = try entity.layout.slots.map { slot in
        try Self.former(of: slot, in: former).flatMap {
          try Self.check($0, slot, entity) ? $0 : nil
        }
      }
      let match = EntityMatch(source: former, destination: entity, sourceSlots: slots)
      matches.append(match)
      matchByDestination[entity.name] = match
      matchBySource[former.name] = match
    }
    for match in matches { try checkNewProperties(of: match) }
    try checkHierarchies()
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

  // MARK: Pairs

  private func former(of entity: EntityDescription) throws -> EntityDescription? {
    let candidates = Self.candidates(
      for: (entity.name, entity.declaredRenamingIdentifier), among: source.entities
    ) { ($0.name, $0.declaredRenamingIdentifier) }
    guard let former = candidates else { return nil }
    if let other = matchBySource[former.name] {
      throw Self.refusal(
        "\(entity.name) and \(other.destination.name) both were \(former.name)",
        "Give one of them another renaming identifier.")
    }
    return former
  }

  private static func former(
    of slot: PropertySlot, in entity: EntityDescription
  ) throws -> PropertySlot? {
    // The parts of a composite attribute keep their names.
    if slot.name.contains(".") { return entity.layout.slots.first { $0.name == slot.name } }
    return candidates(
      for: (slot.name, slot.property.declaredRenamingIdentifier), among: entity.layout.slots
    ) { ($0.name, $0.property.declaredRenamingIdentifier) }
  }

  /// What an element was called before: by its renaming identifier as a name, then as a renaming identifier, then by its
  /// name.
  private static func candidates<Element>(
    for new: (name: String, identifier: String?), among old: [Element],
    _ names: (Element) -> (name: String, identifier: String?)
  ) -> Element? {
    if let identifier = new.identifier, identifier != new.name {
      return old.first { names($0).name == identifier }
        ?? old.first { names($0).identifier == identifier }
        ?? old.first { names($0).name == new.name }
    }
    return old.first { names($0).name == new.name }
      ?? old.first { names($0).identifier == new.name }
  }

  // MARK: What is allowed

  static func refusal(_ message: String, _ suggestion: String) -> StoreError {
    StoreError(
      .cannotMigrate, "The store cannot be migrated by itself: \(message).",
      suggestion: suggestion)
  }

  /// Whether the value of the former slot is taken over.
  private static func check(
    _ former: PropertySlot, _ slot: PropertySlot, _ entity: EntityDescription
  ) throws -> Bool {
    let label = "\(entity.name).\(slot.name)"
    if former.isTransient || slot.isTransient { return false }
    switch (former.kind, slot.kind) {
    case (.attribute(_, let old), .attribute(_, let new)):
      guard isConvertible(old, new) else {
        throw refusal(
          "\(label) was of type \(old) and is of type \(new)",
          "Keep the attribute's type, or add an attribute of the new type beside it.")
      }
    case (.toMany, .toOne):
      throw refusal(
        "\(label) was to-many and is to-one", "Keep it, and add a to-one relationship beside it.")
    case (.attribute, _), (_, .attribute):
      throw refusal(
        "\(label) was \(former.relationship == nil ? "an attribute" : "a relationship")",
        "Give the new property another name.")
    default: break
    }
    return true
  }

  static func isConvertible(_ old: AttributeType, _ new: AttributeType) -> Bool {
    if old == new { return true }
    let integers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]
    let reals: [AttributeType] = [.float, .double]
    if let from = integers.firstIndex(of: old) {
      if let to = integers.firstIndex(of: new) { return to > from }
      return reals.contains(new) || new == .decimal
    }
    if reals.contains(old) { return reals.contains(new) || new == .decimal }
    return [old, new] == [.binaryData, .transformable] || [old, new] == [.string, .uri]
      || [old, new] == [.uri, .string]
  }

  private func checkNewProperties(of match: EntityMatch) throws {
    for slot in match.destination.layout.slots where !slot.isOptional && !slot.isTransient {
      let label = "\(match.destination.name).\(slot.name)"
      let former = match.sourceSlots[slot.index]
      if former == nil, case .toOne = slot.kind {
        throw Self.refusal(
          "\(label) is new and required", "Make it optional, and fill it before it is required.")
      }
      guard case .attribute(let attribute, _) = slot.kind, slot.defaultValue.isNull,
        !(attribute is DerivedAttributeDescription), former?.isOptional ?? true
      else { continue }
      throw Self.refusal(
        "\(label) is required and has no default value for objects that have none",
        "Give it a default value, or make it optional.")
    }
  }

  /// A hierarchy has one table and one row of keys: what was one stays one, and what were two stay two.
  private func checkHierarchies() throws {
    var rootOfSource: [String: String] = [:]
    var rootOfDestination: [String: String] = [:]
    for match in matches {
      let (old, new) = (match.source.rootEntity.name, match.destination.rootEntity.name)
      if rootOfSource.updateValue(old, forKey: new) ?? old != old
        || rootOfDestination.updateValue(new, forKey: old) ?? new != new
      {
        throw Self.refusal(
          "\(match.destination.name) moved from the hierarchy of \(old) to that of \(new)",
          "Keep each hierarchy whole; a new entity may be added above it.")
      }
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let now = slot.relationship?.destinationEntity,
          let then = former?.relationship?.destinationEntity,
          self.match(ofSource: then)?.destination.rootEntity !== now.rootEntity,
          // The entity may be gone, and another of its hierarchy be the destination.
          matches.first(where: { $0.source.rootEntity === then.rootEntity })?.destination
            .rootEntity !== now.rootEntity
        else { continue }
        throw Self.refusal(
          "\(match.destination.name).\(slot.name) led to \(then.name) and leads to \(now.name)",
          "Give the new relationship another name.")
      }
    }
  }

  /// The tops of the hierarchies that are carried over.
  var roots: [(source: EntityDescription, destination: EntityDescription)] {
    var seen: Set<String> = []
    return matches.map { ($0.source.rootEntity, $0.destination.rootEntity) }
      .filter { seen.insert($0.0.name).inserted }
  }

  // MARK: Numbers

  /// The numbers of the destination's entities: those that were keep theirs, which history and sync know them by.
  func numbers(from schema: StoreSchema) -> [String: Int32] {
    var numbers: [String: Int32] = [:]
    for match in matches {
      numbers[match.destination.name] = schema.entityNumber(of: match.source)
    }
    var next = (schema.numbers.map(\.number).max() ?? 0) + 1
    for entity in destination.entities.sorted(by: { $0.name < $1.name })
    where numbers[entity.name] == nil {
      numbers[entity.name] = next
      next += 1
    }
    return numbers
  }
}
