package import Driftless
package import DriftlessProtocol

/// What syncs of a store's model: per concrete entity, the properties that cross the wire.
///
/// An attribute or a to-one relationship crosses as a value. A relationship is one fact and crosses
/// once: a to-many relationship whose inverse is to-one does not cross, and of two to-one ends the one
/// whose entity and name sort first does. A many-to-many relationship crosses once, from
/// the end whose name comes first, as elements added and removed. An object's place in an ordered
/// relationship crosses beside its reference, under a name of its own (`PlaceName`): replicas that
/// know no places take the reference alone.
package struct SyncSchema: Sendable {
  package struct Property: Sendable {
    package enum Kind: Sendable {
      case attribute(AttributeType)
      case toOne(RelationshipDescription)
      case elements(RelationshipDescription)
      /// The place beside a to-one relationship whose inverse is ordered; it has that one's slot.
      case place(RelationshipDescription)
    }
    package var slot: Int
    package var name: String
    /// What it was called before its name of now, the newest first.
    var formerNames: [String] = []
    package var kind: Kind
    package var policy: ConflictPolicy
    /// What stands for a value that the model cannot hold; nil for a relationship.
    var standIn: StandIn?
    /// Whether its values are sealed before they are sent.
    package var isSealed = false
    /// When the model says that its large values are fetched.
    var fetchTiming = FetchTiming.eager
    /// Whether one living object at a time may hold a value of it, or of it with others: it is part of a uniqueness
    /// constraint, or the owning end of a one-to-one relationship. Of a place that says whether the reference beside it is.
    package var isKeyed = false

    /// Whether it is about an object's part in a collection: no value of its own.
    package var isCollective: Bool {
      switch kind {
      case .elements, .place: true
      case .attribute, .toOne: false
      }
    }

    /// What entries may call it.
    var names: [String] { [name] + formerNames }

    var isReference: Bool {
      if case .toOne = kind { return true }
      return false
    }

    /// The relationship that it is, or the place in one.
    package var relationship: RelationshipDescription? {
      switch kind {
      case .attribute: nil
      case .toOne(let relationship), .elements(let relationship), .place(let relationship):
        relationship
      }
    }

    /// Whether its edits add up: what each transaction did to it is kept (`ZDL_DELTA`).
    var keepsDeltas: Bool {
      guard case .attribute = kind else { return false }
      return policy == .counter || policy == .text || policy == .union
    }

    /// Whether the value before the first local change is kept (`ZDL_BASE`).
    package var needsBase: Bool {
      switch kind {
      case .elements: true
      // It goes back to what the zone has with its reference.
      case .place(let relationship): isKeyed || relationship.isTree
      case .attribute: policy.needsBase || isKeyed
      case .toOne(let relationship):
        policy.needsBase || isKeyed || relationship.isTree || relationship.isOwnOneToOne
      }
    }
  }

  package final class Entity: Sendable {
    package let name: String
    package let number: Int32
    package let rootNumber: Int32
    package let description: EntityDescription
    /// By name.
    package let properties: [Property]
    /// Every slot of `properties`.
    package let all: PropertyMask
    /// Those of `properties` whose edits add up.
    package var adding: PropertyMask {
      var mask = PropertyMask()
      for property in properties where property.keepsDeltas { mask.insert(property.slot) }
      return mask
    }
    /// References of a tree to the parent: they never close a ring.
    package let trees: [Property]
    /// Ends of one-to-one relationships that do not cross: they follow from the other end.
    package let echoes: PropertyMask
    /// Relationships that do not cross, since their other ends say them, by what they are called now or were called before.
    let otherEnds: [String: OtherEnd]
    /// What the model may refuse a value of, by name.
    let restricted: [PropertySlot]
    /// Slots of to-one relationships that a delete of what they refer to leaves as they are.
    let mayDangle: [Int]
    /// To-many relationships whose order crosses as places.
    package let ordered: [RelationshipDescription]
    private let indexes: [String: Int]
    /// By what a property was called before its name of now.
    private let formerIndexes: [String: Int]
    private let bySlot: [Int: Int]

    init(
      _ description: EntityDescription, number: Int32, rootNumber: Int32, keys: PropertyMask
    ) {
      self.description = description
      self.number = number
      self.rootNumber = rootNumber
      name = description.name
      var properties = SyncSchema.properties(of: description.layout)
      for index in properties.indices {
        if case .elements = properties[index].kind { continue }
        if case .attribute(let attribute, _) = description.layout.slots[properties[index].slot].kind
        {
          properties[index].fetchTiming = description.fetchTiming(of: attribute)
        }
        properties[index].isKeyed = keys.contains(properties[index].slot)
        if properties[index].isKeyed {
          properties[index].standIn = properties[index].standIn?.ofKey
        }
      }
      self.properties = properties
      showsNames = properties.contains { $0.standIn?.showsNames == true }
      trees = properties.filter { property in
        if case .toOne(let relationship) = property.kind { return relationship.isTree }
        return false
      }
      mayDangle = properties.filter { property in
        guard case .toOne(let relationship) = property.kind else { return false }
        return relationship.inverseRelationship.map { $0.deleteRule == .noAction } ?? true
      }
      .map(\.slot)
      ordered = description.layout.slots.compactMap { slot in
        guard case .toMany(let relationship) = slot.kind, relationship.isOrdered,
          !relationship.usesJoinTable
        else { return nil }
        return relationship
      }
      .sorted { $0.name < $1.name }
      var all = PropertyMask()
      for property in properties { all.insert(property.slot) }
      self.all = all
      var echoes = PropertyMask()
      for (slot, place) in description.layout.slots.enumerated() where !all.contains(slot) {
        if let relationship = place.relationship, !relationship.isToMany { echoes.insert(slot) }
      }
      self.echoes = echoes
      otherEnds = OtherEnd.all(of: description.layout, but: properties)
      restricted = description.layout.slots.filter(Self.isRestricted).sorted { $0.name < $1.name }
      indexes = Dictionary(
        properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
      formerIndexes = Dictionary(
        properties.enumerated().flatMap { index, property in
          property.formerNames.map { ($0, index) }
        }, uniquingKeysWith: { first, _ in first })
      bySlot = Dictionary(
        properties.enumerated().map { ($1.slot, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func isRestricted(_ slot: PropertySlot) -> Bool {
      // Each replica derives its own.
      if slot.isTransient || slot.property is DerivedAttributeDescription { return false }
      return switch slot.kind {
      case .attribute(let attribute, _): !slot.isOptional || attribute.limitsValues
      case .toOne: !slot.isOptional
      case .toMany(let relationship): relationship.minCount > 0 || relationship.maxCount > 0
      }
    }

    /// Whether it has properties that say of a large value that the zone has it.
    let showsNames: Bool

    /// Whether it has properties whose values are sealed.
    var hasSealed: Bool { properties.contains(where: \.isSealed) }

    package func property(named name: String) -> Property? { indexes[name].map { properties[$0] } }

    /// What an entry calls by a name, of before the property was renamed or of a program that has the former name still.
    func property(namedNowOrBefore name: String) -> Property? {
      (indexes[name] ?? formerIndexes[name]).map { properties[$0] }
    }

    /// A place that objects have in an ordered relationship, by the name of the reference that it stands beside.
    typealias Place = (slot: Int, name: String, relationship: RelationshipDescription)

    var places: [Place] {
      properties.compactMap { property in
        guard case .place(let relationship) = property.kind else { return nil }
        return (property.slot, property.name, relationship)
      }
    }

    package func property(at slot: Int) -> Property? { bySlot[slot].map { properties[$0] } }
  }

  /// The concrete entities, by name.
  package let entities: [Entity]
  /// What encrypted properties are sealed and opened with; nil on a replica without a key.
  private(set) var keys: KeyRing?
  private let byName: [String: Entity]
  /// By what an entity was called before its name of now.
  private let byFormerName: [String: Entity]
  private let byNumber: [Int32: Entity]
  private let rootNumbers: [Int32: Int32]
  private let referrersByName: [String: [Referrer]]
  private let holdersByName: [String: [Referrer]]

  /// A relationship that may point at objects of an entity, with its place in its owners.
  package struct Referrer: Sendable {
    package var property: Property
    package var relationship: RelationshipDescription
    /// An entity that has it; its subentities have it in the same slot.
    package var owner: EntityDescription
  }

  /// Made once for each schema of a store: each status, export and operation asks for one.
  package init(_ schema: StoreSchema, keys: KeyRing? = nil) {
    self = schema.derived { SyncSchema(withoutKeys: schema) }
    self.keys = keys
  }

  private init(withoutKeys schema: StoreSchema) {
    var entities: [Entity] = []
    for description in schema.entities where !description.isAbstract {
      entities.append(
        Entity(
          description, number: schema.entityNumber(of: description),
          rootNumber: schema.entityNumber(of: description.rootEntity),
          keys: schema.keyMask(numbered: schema.entityNumber(of: description))))
    }
    self.entities = entities.sorted { $0.name < $1.name }
    byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    byFormerName = Dictionary(
      entities.flatMap { entity in entity.description.formerNames.map { ($0, entity) } },
      uniquingKeysWith: { first, _ in first })
    byNumber = Dictionary(entities.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    rootNumbers = Dictionary(
      schema.entities.map {
        (schema.entityNumber(of: $0), schema.entityNumber(of: $0.rootEntity))
      }, uniquingKeysWith: { first, _ in first })
    var referrers: [String: [Referrer]] = [:]
    var holders: [String: [Referrer]] = [:]
    for entity in entities {
      let all = Self.pointers(at: entity.description, in: self.entities)
      referrers[entity.name] = all.filter { !$0.relationship.isToMany }
      holders[entity.name] = all.filter { $0.relationship.isToMany }
    }
    referrersByName = referrers
    holdersByName = holders
  }

  private static func pointers(
    at target: EntityDescription, in entities: [Entity]
  ) -> [Referrer] {
    var seen: Set<ObjectIdentifier> = []
    var pointers: [Referrer] = []
    for entity in entities {
      for property in entity.properties {
        let relationship: RelationshipDescription
        switch property.kind {
        case .attribute, .place: continue
        case .toOne(let toOne): relationship = toOne
        case .elements(let toMany): relationship = toMany
        }
        guard let destination = relationship.destinationEntity,
          target.isKindOf(entity: destination),
          seen.insert(ObjectIdentifier(relationship)).inserted
        else { continue }
        pointers.append(
          Referrer(
            property: property, relationship: relationship,
            owner: relationship.entity ?? entity.description))
      }
    }
    return pointers
  }

  /// The number of the root entity of an object's entity, whose table holds it.
  package func root(of key: ObjectKey) -> Int32 { rootNumbers[key.entity] ?? key.entity }

  /// The key under the root entity: what one object has in common, whichever of its entities names it.
  func rooted(_ key: ObjectKey) -> ObjectKey { ObjectKey(entity: root(of: key), key: key.key) }

  /// Whether a relationship may hold an object. Of a deleted one only its hierarchy is known.
  func admits(
    _ key: ObjectKey, isAlive: Bool, in relationship: RelationshipDescription?
  ) -> Bool {
    guard let destination = relationship?.destinationEntity else { return true }
    guard isAlive else {
      return entity(named: destination.name).map { $0.rootNumber == root(of: key) } ?? true
    }
    return entity(numbered: key.entity)?.description.isKindOf(entity: destination) ?? false
  }

  /// The to-one properties that may refer to objects of an entity, each once.
  package func referrers(of entity: Entity) -> [Referrer] { referrersByName[entity.name] ?? [] }

  /// The crossing many-to-many properties that may hold objects of an entity, each once.
  package func holders(of entity: Entity) -> [Referrer] { holdersByName[entity.name] ?? [] }

  package func entity(named name: String) -> Entity? { byName[name] }
  /// What an entry calls by a name, of before the entity was renamed or of a program that has the former name still.
  func entity(namedNowOrBefore name: String) -> Entity? { byName[name] ?? byFormerName[name] }
  package func entity(numbered number: Int32) -> Entity? { byNumber[number] }

  /// A concrete entity of the hierarchy with this root, the first by name.
  package func entity(rooted number: Int32) -> Entity? {
    entities.first { $0.rootNumber == number }
  }

  private static func properties(of layout: EntityLayout) -> [Property] {
    var properties: [Property] = []
    for slot in layout.slots where !slot.isTransient {
      // Each replica derives its own.
      if slot.property is DerivedAttributeDescription { continue }
      let kind: Property.Kind
      switch slot.kind {
      case .attribute(_, let type): kind = .attribute(type)
      case .toOne(let relationship):
        // The owning end says it.
        if relationship.followsOneToOne { continue }
        kind = .toOne(relationship)
        if relationship.inverseRelationship?.isOrdered == true {
          properties.append(
            Property(
              slot: slot.index, name: PlaceName.of(slot.name),
              formerNames: slot.formerNames.map(PlaceName.of), kind: .place(relationship),
              // A place has neither size nor sum: one side's stands.
              policy: slot.policy == .serverWins || slot.policy == .clientWins
                ? slot.policy : .lastWriterWins))
        }
      case .toMany(let relationship):
        guard relationship.usesJoinTable, crosses(relationship) else { continue }
        kind = .elements(relationship)
      }
      properties.append(
        Property(
          slot: slot.index, name: slot.name, formerNames: slot.formerNames, kind: kind,
          policy: slot.policy,
          standIn: StandIn(slot), isSealed: slot.isSealed))
    }
    // A name that another property has by now says nothing of this one.
    let present = Set(properties.map(\.name))
    for index in properties.indices {
      properties[index].formerNames.removeAll(where: present.contains)
    }
    return properties.sorted { $0.name < $1.name }
  }

  /// Whether a many-to-many relationship crosses the wire, rather than its inverse: the ordered
  /// end, or else the one that comes first by name. It is the end whose changes history records
  /// (`Relation.isRecorded`).
  private static func crosses(_ relationship: RelationshipDescription) -> Bool {
    guard let inverse = relationship.inverseRelationship, inverse !== relationship else {
      return true
    }
    if relationship.isOrdered != inverse.isOrdered { return relationship.isOrdered }
    let mine = (inverse.destinationEntity?.name ?? "", relationship.name)
    let other = (relationship.destinationEntity?.name ?? "", inverse.name)
    return mine < other
  }
}

extension PropertySlot {
  fileprivate var isSealed: Bool {
    guard case .attribute(let attribute, _) = kind else { return false }
    return attribute.isEncrypted
  }
}
