/// What a model says otherwise than the one that a file was written with, of what lies in the file: the first such thing.
///
/// What no file depends on is no difference: classes, defaults, rules of validation, indexes, delete rules.
struct ModelDifference {
  /// `Person`, or `Person.age`.
  let element: String
  /// What the file's model says of it, as the rest of a sentence.
  let stored: String
  /// What the other one says.
  let given: String
  /// What to write into the other one.
  let change: String

  /// - Parameter mayLack: Whether the other model may know less: properties that it has not are only read past.
  static func first(
    of given: ManagedObjectModel, from stored: ManagedObjectModel, mayLack: Bool
  ) -> ModelDifference? {
    let (mine, own) = (given.ownVersionHashesByName, stored.ownVersionHashesByName)
    let known = given.entitiesByName
    for entity in stored.entities.sorted(by: { $0.name < $1.name }) {
      guard let other = known[entity.name], mine[entity.name] != own[entity.name] else { continue }
      let found =
        difference(of: other, from: entity, mayLack: mayLack)
        ?? properties(of: other, from: entity, mayLack: mayLack)
      if let found { return found }
    }
    return nil
  }

  // MARK: Entities

  private static func difference(
    of given: EntityDescription, from stored: EntityDescription, mayLack: Bool
  ) -> ModelDifference? {
    let (old, new) = (stored.superentity?.name, given.superentity?.name)
    if old != new {
      func words(_ parent: String?) -> String {
        parent.map { "inherits from \($0)" } ?? "inherits from none"
      }
      return ModelDifference(
        element: stored.name, stored: words(old), given: words(new),
        change: old.map { "Let \(stored.name) inherit from \($0)" }
          ?? "Let \(stored.name) inherit from no entity")
    }
    // What is inherited may be said once more below: each side is looked for in all that holds for the other.
    let (kept, others) = (constraints(of: stored), constraints(of: given))
    if !mayLack, let missing = own(stored).filter({ !others.contains($0) }).min(by: precedes) {
      return constraint(missing, of: stored, isStored: true)
    }
    return own(given).filter { !kept.contains($0) }.min(by: precedes).map {
      constraint($0, of: stored, isStored: false)
    }
  }

  private static func constraint(
    _ names: [String], of entity: EntityDescription, isStored: Bool
  ) -> ModelDifference {
    let list = names.joined(separator: ", ")
    let (has, lacks) = ("is unique by (\(list))", "is not unique by (\(list))")
    return ModelDifference(
      element: entity.name, stored: isStored ? has : lacks, given: isStored ? lacks : has,
      change: isStored
        ? "Give \(entity.name) the uniqueness constraint (\(list))"
        : "Take the uniqueness constraint (\(list)) from \(entity.name)")
  }

  private static func own(_ entity: EntityDescription) -> [[String]] {
    entity.uniquenessConstraints.map { $0.sorted() }
  }

  private static func constraints(of entity: EntityDescription) -> Set<[String]> {
    var all = Set(own(entity))
    var above = entity.superentity
    while let parent = above {
      all.formUnion(own(parent))
      above = parent.superentity
    }
    return all
  }

  private static func precedes(_ a: [String], _ b: [String]) -> Bool {
    a.joined(separator: ",") < b.joined(separator: ",")
  }

  // MARK: Properties

  private static func properties(
    of given: EntityDescription, from stored: EntityDescription, mayLack: Bool
  ) -> ModelDifference? {
    func byName(_ entity: EntityDescription) -> [String: PropertyDescription] {
      entity.ownProperties.reduce(into: [:]) { all, property in
        if !(property is FetchedPropertyDescription) { all[property.name] = property }
      }
    }
    let (old, new) = (byName(stored), byName(given))
    for name in Set(old.keys).union(new.keys).sorted() {
      let element = "\(stored.name).\(name)"
      switch (old[name], new[name]) {
      case (let before?, let after?):
        if let found = difference(of: after, from: before, element) { return found }
      case (let before?, nil) where !mayLack && !before.isTransient:
        return ModelDifference(
          element: element, stored: words(before), given: "is not there",
          change: "Add \(element)")
      case (nil, let after?) where !after.isTransient:
        return ModelDifference(
          element: element, stored: "is not there", given: words(after),
          change: "Remove \(element)")
      default: continue
      }
    }
    return nil
  }

  private static func difference(
    of given: PropertyDescription, from stored: PropertyDescription, _ element: String
  ) -> ModelDifference? {
    let (old, new) = (words(stored), words(given))
    guard old != new else { return nil }
    return ModelDifference(
      element: element, stored: old, given: new, change: "Say of \(element) that it \(old)")
  }

  /// What a file depends on, as `is a Date, optional`.
  private static func words(_ property: PropertyDescription) -> String {
    let (optional, transient) = (
      property.isOptional ? ", optional" : ", required",
      property.isTransient ? ", not stored" : ""
    )
    guard let relationship = property as? RelationshipDescription else {
      return "is " + type(of: property) + optional + transient
    }
    let order = relationship.isOrdered ? ", ordered" : ""
    let inverse =
      relationship.inverseRelationshipName.map { ", the inverse of \($0)" } ?? ", without inverse"
    return "is a relationship to \(relationship.isToMany ? "many" : "one") of "
      + (relationship.destinationEntityName ?? "no entity") + inverse + order + optional + transient
  }

  private static func type(of property: PropertyDescription) -> String {
    switch property {
    case let composite as CompositeAttributeDescription:
      let elements = composite.elements.map { "\($0.name): \(type(of: $0))" }.sorted()
      return "Composite (\(elements.joined(separator: ", ")))"
    case let derived as DerivedAttributeDescription: return "derived \(derived.type.nameInFiles)"
    case let attribute as AttributeDescription: return attribute.type.nameInFiles
    default: return "fetched"
    }
  }
}

extension AttributeType {
  /// As Xcode and its files call it.
  var nameInFiles: String {
    ModelVocabulary.attributeTypes.first { $0.value == self }?.key ?? "Undefined"
  }
}
