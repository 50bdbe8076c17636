import Driftless
import DriftlessTesting
import Foundation

/// What a person changes in one save: picked by dice from what the replica shows.
struct Saves {
  let scenario: Scenario
  let traits: Traits
  let model: ManagedObjectModel
  let names: (UUID) -> String
  var generator: SeededGenerator
  var nextValue: Int
  var told: [String] = []

  init(
    scenario: Scenario, traits: Traits, model: ManagedObjectModel, dice: UInt64, nextValue: Int,
    names: @escaping (UUID) -> String
  ) {
    self.scenario = scenario
    self.traits = traits
    self.model = model
    self.names = names
    self.nextValue = nextValue
    generator = SeededGenerator(seed: dice &* 0xD6E8_FEB8_6659_FD93 &+ 3)
  }

  /// One to three changes in a context.
  mutating func change(_ context: ManagedObjectContext, _ image: Image) throws {
    let living = image.things.keys.sorted { names($0) < names($1) }
    let isCrowded = scenario.objectsMax > 0 && living.count >= scenario.objectsMax
    for _ in 0..<(1 + Int(generator.next() % 3)) {
      if scenario.hasMoves, generator.chance(40), try move(context, living) != nil { continue }
      switch generator.next() % 100 {
      case _ where living.isEmpty: try insert(context)
      case 0..<22 where !isCrowded: try insert(context)
      case 0..<22: try setAttribute(context, living, image)
      case 22..<58: try setAttribute(context, living, image)
      case 58..<88: try relate(context, living, image)
      default: try delete(context, living)
      }
    }
  }

  // MARK: - Changes

  private mutating func insert(_ context: ManagedObjectContext) throws {
    guard let entity = pick(["Item"] + traits.entities) else { return }
    var identity: UUID?
    if scenario.hasGivenIdentities, generator.chance(40) {
      let names = scenario.hasIdentityOfTwoEntities ? "all" : entity
      let number = Int(generator.next() % 2) + (names == "all" ? 0 : 2 * place(of: entity) + 2)
      identity = UUID(uuidString: String(format: "00000000-0000-5000-8000-%012d", number))
      if let identity, try context.object(withIdentity: identity) != nil { return }
    }
    let object = try context.insert(entityNamed: entity, identity: identity)
    var said: [String] = []
    for name in (traits.kinds[entity] ?? [:]).keys.sorted() {
      guard case .attribute(let policy)? = traits.kind(entity, name),
        name == "title" || name == "name" || policy == .counter || generator.chance(30)
          || scenario.hasRequired && traits.required[entity]?.contains(name) == true
      else { continue }
      let value = self.value(entity, name, policy, now: Image.null)
      try object.setValue(value, forKey: name)
      said.append("\(name) \(value)")
    }
    for (name, relationship) in object.entity.relationshipsByName
    where !relationship.isOptional && !relationship.isToMany {
      try object.setValue(try any(relationship, but: object, context), forKey: name)
    }
    told.append(
      "inserts \(entity)\(identity.map { " \($0)" } ?? ""): \(said.joined(separator: ", "))")
  }

  private func place(of entity: String) -> Int { traits.entities.firstIndex(of: entity) ?? 0 }

  private mutating func setAttribute(
    _ context: ManagedObjectContext, _ living: [UUID], _ image: Image
  ) throws {
    guard let id = pick(living), let object = try context.object(withIdentity: id),
      let entity = object.entity.name as String?
    else { return }
    let attributes = (traits.kinds[entity] ?? [:]).keys.sorted().filter {
      if case .attribute? = traits.kind(entity, $0) { true } else { false }
    }
    let keys = scenario.hasTakenKeys ? attributes.filter { traits.isKey(entity, $0) } : []
    let isKeySet = !keys.isEmpty && generator.chance(50)
    guard let name = pick(isKeySet ? keys : attributes),
      case .attribute(let policy)? = traits.kind(entity, name),
      let description = object.entity.attributesByName[name]
    else { return }
    let now = image.value(id, name)
    var value = self.value(entity, name, policy, now: now)
    if description.isOptional, generator.chance(8) { value = .null }
    try object.setValue(value, forKey: name)
    told.append("sets \(names(id)).\(name) \(value)")
  }

  private mutating func relate(
    _ context: ManagedObjectContext, _ living: [UUID], _ image: Image
  ) throws {
    for _ in 0..<4 {
      guard let id = pick(living), let object = try context.object(withIdentity: id) else { return }
      let relationships = object.entity.relationshipsByName.values.sorted { $0.name < $1.name }
      guard let relationship = pick(relationships) else { continue }
      let kin = living.filter { other in
        guard let entity = image.things[other]?.entity,
          let destination = relationship.destinationEntity?.name
        else { return false }
        return traits.kin[entity]?.contains(destination) == true
      }
      if relationship.isToMany {
        try relateMany(object, id, relationship, kin, context)
      } else {
        let target = relationship.isOptional && generator.chance(20) ? nil : pick(kin)
        let isTree = relationship.userInfo["driftless.tree"] != nil
        let other = try target.flatMap { try context.object(withIdentity: $0) }
        if isTree, let other, try closesRing(object, other, relationship.name) { continue }
        try exchange(object, relationship, other)
        try object.setValue(other, forKey: relationship.name)
        told.append("sets \(names(id)).\(relationship.name) \(target.map(names) ?? "nil")")
      }
      return
    }
  }

  /// Who loses a partner that it must have gets that of the one who takes it.
  private func exchange(
    _ object: ManagedObject, _ relationship: RelationshipDescription, _ other: ManagedObject?
  ) throws {
    guard scenario.hasRequired, let other, let inverse = relationship.inverseRelationship,
      inverse !== relationship, !inverse.isToMany,
      let loser = try other.value(forKey: inverse.name) as? ManagedObject, loser !== object,
      let former = try object.value(forKey: relationship.name) as? ManagedObject
    else { return }
    try object.setValue(nil, forKey: relationship.name)
    try loser.setValue(former, forKey: relationship.name)
  }

  private mutating func relateMany(
    _ object: ManagedObject, _ id: UUID, _ relationship: RelationshipDescription, _ kin: [UUID],
    _ context: ManagedObjectContext
  ) throws {
    // The other end of a tree could close a ring, which the replica alone would never do.
    guard relationship.inverseRelationship?.userInfo["driftless.tree"] == nil,
      var members = try object.value(forKey: relationship.name) as? [ManagedObject]
    else { return }
    if !relationship.isOrdered {
      members.sort { $0.objectID.uriRepresentation().path < $1.objectID.uriRepresentation().path }
    }
    switch generator.next() % 4 {
    case 0 where !members.isEmpty:
      members.remove(at: Int(generator.next() % UInt64(members.count)))
    case 1 where members.count > 1 && relationship.isOrdered:
      members.swapAt(0, Int(generator.next() % UInt64(members.count)))
    default:
      guard let other = pick(kin), let target = try context.object(withIdentity: other),
        !members.contains(where: { $0 === target })
      else { return }
      let place =
        relationship.isOrdered ? Int(generator.next() % UInt64(members.count + 1)) : members.count
      members.insert(target, at: place)
    }
    try object.setValue(members, forKey: relationship.name)
    told.append("sets \(names(id)).\(relationship.name) to \(members.count)")
  }

  /// As the context has it: an earlier change of the same save counts.
  func closesRing(
    _ object: ManagedObject, _ target: ManagedObject, _ property: String
  ) throws -> Bool {
    var seen = [object]
    var next: ManagedObject? = target
    while let one = next {
      if seen.contains(where: { $0 === one }) { return true }
      seen.append(one)
      next = try one.value(forKey: property) as? ManagedObject
    }
    return false
  }

  private mutating func delete(_ context: ManagedObjectContext, _ living: [UUID]) throws {
    guard let id = pick(living), let object = try context.object(withIdentity: id),
      !object.isDeleted
    else { return }
    context.delete(object)
    told.append("deletes \(names(id))")
  }

  // MARK: - Values

  mutating func pick<Element>(_ all: [Element]) -> Element? {
    all.isEmpty ? nil : all[Int(generator.next() % UInt64(all.count))]
  }

  /// Something for an object to refer to; mostly a partner that has none.
  private mutating func any(
    _ relationship: RelationshipDescription, but object: ManagedObject,
    _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let entity = relationship.destinationEntity?.name ?? ""
    var all = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
      .filter { $0 !== object }
    if let inverse = relationship.inverseRelationship, !inverse.isToMany, generator.chance(80) {
      all = try all.filter { try $0.value(forKey: inverse.name) == nil }
    }
    return try pick(all) ?? context.insert(entityNamed: entity)
  }

  /// A value that nobody set before, unless the scenario is about values that come again.
  mutating func value(
    _ entity: String, _ name: String, _ policy: ConflictPolicy, now: String
  ) -> PropertyValue {
    nextValue += 1
    let type =
      model.entitiesByName[entity]?.attributesByName[name]?.type ?? .string
    if policy == .counter { return counted(type, now) }
    if policy == .union { return words(now, isArray: true) }
    if policy == .text { return words(now, isArray: false) }
    if policy == GeneratedModel.together {
      return .string(Image.words(in: now).union(["w\(nextValue)"]).sorted().joined(separator: " "))
    }
    if entity == "Part", GeneratedModel.widened.contains(name) { return numbered(type, name) }
    let number =
      traits.isKey(entity, name)
      ? Int(generator.next() % 4)
      : scenario.hasRepeatedValues && generator.chance(60)
        ? Int(generator.next() % 3) : nextValue
    switch type {
    case .integer16, .integer32, .integer64: return .integer(Int64(number))
    case .decimal: return .decimal(Decimal(number) / 4)
    case .double, .float: return number % 5 == 0 ? .double(-0.0) : .double(Double(number) + 0.5)
    case .boolean: return .bool(now == "true" ? generator.chance(20) : generator.chance(80))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number) * 3600.25))
    case .binaryData, .transformable:
      let isLarge = scenario.hasLargeValues && number % 4 != 0
      return .data(isLarge ? LargeTexts.value(number) : Data("d\(number)".utf8))
    case .uuid:
      return .uuid(
        UUID(uuidString: String(format: "00000000-0000-4000-8000-%012d", number)) ?? UUID())
    case .uri: return .uri(URL(filePath: "/page/\(number)"))
    default:
      // What takes pages of a disk that has few.
      let more = scenario.hasFullDisks && number % 3 == 0 ? " " + digits(6000) : ""
      return .string("v\(number)\(more)")
    }
  }

  /// So many digits that nothing makes them fewer.
  private mutating func digits(_ count: Int) -> String {
    var text = ""
    while text.utf8.count < count { text += String(generator.next(), radix: 36) }
    return text
  }

  /// A number that programs of the first version may have no room for.
  private mutating func numbered(_ type: AttributeType, _ name: String) -> PropertyValue {
    let number = Int64(name == "number" ? generator.next() % 3 : UInt64(nextValue))
    return .integer(type == .integer64 && generator.chance(50) ? 100_000 + number : number)
  }

  private mutating func counted(_ type: AttributeType, _ now: String) -> PropertyValue {
    let old = Decimal(string: now.filter { $0 != "\"" }) ?? 0
    let large = scenario.hasCounterBounds && generator.chance(50)
    let step = Decimal(large ? 20_000 : Int(generator.next() % 11) - 4)
    if type == .decimal { return .decimal(old + step) }
    let sum = Int64(truncating: (old + step) as NSDecimalNumber)
    let bound: Int64 = type == .integer16 ? 32_767 : 1_000_000
    return .integer(min(max(sum, -bound), bound))
  }

  /// The words that are there, one more, sometimes one less.
  private mutating func words(_ now: String, isArray: Bool) -> PropertyValue {
    var words = now.split { !($0.isLetter || $0.isNumber) }.map(String.init).filter {
      $0.first == "w"
    }
    if !words.isEmpty, generator.chance(30) {
      words.remove(at: Int(generator.next() % UInt64(words.count)))
    }
    words.insert(
      "w\(nextValue)", at: Int(generator.next() % UInt64(words.count + 1)))
    return .string(
      isArray
        ? "[" + words.sorted().map { "\"\($0)\"" }.joined(separator: ",") + "]"
        : words.joined(separator: " "))
  }
}
