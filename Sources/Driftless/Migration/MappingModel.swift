public import Foundation

/// What becomes of the objects of one model in another: an entity mapping for each way, in the order in which they are
/// worked through.
///
/// ```swift
/// var mapping = try MappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
/// mapping["Book"]?.attributeMappings["title"]?.valueExpression =
///   try FetchExpression(format: "uppercase:($source.name)")
/// let options = StoreOptions(migratesAutomatically: true, mappingModels: [mapping])
/// let store = try PersistentStore.open(url: url, model: new, options: options)
/// ```
public struct MappingModel: Hashable, Sendable {
  /// What becomes of the objects of each entity, in the order in which they are worked on.
  public var entityMappings: [EntityMapping]
  /// Whether its hashes are Core Data's.
  var isOfCoreData = false

  /// - Parameter entityMappings: In the order in which they are worked on.
  public init(entityMappings: [EntityMapping] = []) { self.entityMappings = entityMappings }

  /// The mappings by name; of two with one name the first.
  public var entityMappingsByName: [String: EntityMapping] {
    Dictionary(entityMappings.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The first mapping to a destination entity.
  public subscript(destinationEntityName: String) -> EntityMapping? {
    get { entityMappings.first { $0.destinationEntityName == destinationEntityName } }
    set {
      let index = entityMappings.firstIndex { $0.destinationEntityName == destinationEntityName }
      guard let index else {
        if let newValue { entityMappings.append(newValue) }
        return
      }
      if let newValue { entityMappings[index] = newValue } else { entityMappings.remove(at: index) }
    }
  }
}

/// What an entity mapping does. The raw values are Core Data's.
public enum EntityMappingType: Int, Hashable, Sendable {
  /// The policy makes the destination's objects.
  case undefined = 0
  /// A policy of the application's own decides.
  case custom = 1
  /// The destination entity is new, and has no objects yet.
  case add = 2
  /// The source entity goes, with its objects.
  case remove = 3
  /// The entity stays as it is.
  case copy = 4
  /// Each object becomes one of the destination entity.
  case transform = 5
}

/// What becomes of the objects of one entity.
public struct EntityMapping: Hashable, Sendable {
  /// Names the mapping in expressions; `SourceToDestination` when none was given.
  public var name: String
  /// What it does.
  public var mappingType: EntityMappingType
  /// Nil for an entity that is added.
  public var sourceEntityName: String?
  /// Nil for an entity that is removed.
  public var destinationEntityName: String?
  /// The entity's hash in the model that the mapping is for; nil for any model with such an entity.
  public var sourceEntityVersionHash: Data?
  /// The same of the destination.
  public var destinationEntityVersionHash: Data?
  /// Where the values of attributes come from.
  public var attributeMappings: [PropertyMapping]
  /// Where the objects of relationships come from, once all objects are made.
  public var relationshipMappings: [PropertyMapping]
  /// Which objects of the source: `FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:",
  /// "Car", "year > 1990"), $manager.sourceContext, NO)`. All of the source entity, without its subentities, when nil.
  public var sourceExpression: FetchExpression?
  /// A registered subclass of ``EntityMigrationPolicy``; nil for that class itself.
  public var entityMigrationPolicyClassName: String?
  /// What an application keeps with the mapping.
  public var userInfo: [String: String]

  /// What becomes of the objects of one entity.
  ///
  /// - Parameters:
  ///   - name: Names it in expressions; nil for `SourceToDestination`.
  ///   - type: What it does.
  ///   - source: The entity of the source; nil for one that is added.
  ///   - destination: The entity of the destination; nil for one that is removed.
  ///   - attributes: Where the values of attributes come from.
  ///   - relationships: Where the objects of relationships come from.
  ///   - sourceExpression: Which objects of the source; nil for all.
  ///   - policy: Is registered under its name; nil for ``EntityMigrationPolicy`` itself.
  ///   - userInfo: What an application keeps with it.
  public init(
    name: String? = nil, type: EntityMappingType = .transform, from source: String? = nil,
    to destination: String? = nil, attributes: [PropertyMapping] = [],
    relationships: [PropertyMapping] = [], sourceExpression: FetchExpression? = nil,
    policy: EntityMigrationPolicy.Type? = nil, userInfo: [String: String] = [:]
  ) {
    let names = [source, destination].compactMap { $0 }
    self.name = name ?? names.joined(separator: "To")
    mappingType = type
    sourceEntityName = source
    destinationEntityName = destination
    attributeMappings = attributes
    relationshipMappings = relationships
    self.sourceExpression = sourceExpression
    self.userInfo = userInfo
    if let policy {
      EntityMigrationPolicy.register(policy)
      entityMigrationPolicyClassName = String(reflecting: policy)
    }
  }
}

/// Where the value of one property of the destination comes from.
public struct PropertyMapping: Hashable, Sendable {
  /// The property of the destination entity.
  public var name: String
  /// What gives the value; nil to leave it to the policy, or to the property's default.
  ///
  /// Variables are `$source`, `$destination` (for relationships), `$manager`, `$entityMapping`, `$propertyMapping` and
  /// `$entityPolicy`. Relationships ask the manager for what became of objects:
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "CarToCar", $source.cars)`.
  public var valueExpression: FetchExpression?
  /// What an application keeps with the mapping.
  public var userInfo: [String: String]

  /// - Parameters:
  ///   - name: The property of the destination entity.
  ///   - valueExpression: What gives the value; nil to leave it to the policy, or to the default.
  ///   - userInfo: What an application keeps with it.
  public init(
    name: String, valueExpression: FetchExpression? = nil, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.valueExpression = valueExpression
    self.userInfo = userInfo
  }

  /// A property whose value is that of a property of the source.
  public init(name: String, from source: String) {
    self.init(
      name: name,
      valueExpression: .variable("source", path: source.split(separator: ".").map(String.init)))
  }

  /// A relationship to what became of the objects at the end of a relationship of the source.
  public init(name: String, fromRelationship source: String) {
    self.init(
      name: name,
      valueExpression: .message(
        to: .variable("manager", path: []), selector: MigrationManager.byRelationship,
        [.constant(.string(source)), .variable("source", path: [source])]))
  }
}

extension [PropertyMapping] {
  /// The mapping of a property.
  public subscript(name: String) -> PropertyMapping? {
    get { first { $0.name == name } }
    set {
      let index = firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let mapping?): self[index] = mapping
      case (let index?, nil): remove(at: index)
      case (nil, let mapping?): append(mapping)
      case (nil, nil): break
      }
    }
  }
}
