public import Foundation
import Synchronization

/// A schema: the entities of a store and how they relate.
///
/// A model may be changed until it is frozen, which `freeze()` does, and which a store does with the model it opens with.
///
/// ```swift
/// let model = ManagedObjectModel(entities: [book, author])
/// try model.freeze()
/// ```
public final class ManagedObjectModel: @unchecked Sendable {  // immutable once frozen; only frozen models leave the thread that built them
  private var storage = Storage()
  private let freezing = Mutex(false)

  private struct Storage {
    var entities: [EntityDescription] = []
    var configurations: [String: [String]] = [:]
    var templates: [String: FetchRequestTemplate] = [:]
    var versionIdentifiers: Set<String> = []
    var localizationDictionary: [String: String] = [:]
    var hashes: [String: Data] = [:]
  }

  public init() {}

  public convenience init(entities: [EntityDescription]) {
    self.init()
    self.entities = entities
  }

  /// Whether the model is in use and can no longer be changed.
  public var isFrozen: Bool { freezing.withLock { $0 } }

  public var entities: [EntityDescription] {
    get { storage.entities }
    set {
      edit { $0.entities = newValue }
      for entity in newValue where !isFrozen { entity.managedObjectModel = self }
    }
  }

  public var entitiesByName: [String: EntityDescription] {
    Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The names of the configurations.
  public var configurations: [String] { storage.configurations.keys.sorted() }

  /// The entities of a configuration; all for nil; nil for a name that is unknown.
  public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
    guard let name else { return entities }
    let byName = entitiesByName
    return storage.configurations[name]?.compactMap { byName[$0] }
  }

  public func setEntities(_ entities: [EntityDescription], forConfigurationName name: String) {
    edit { $0.configurations[name] = entities.map(\.name) }
  }

  /// The fetch requests that the model keeps, by name.
  public var fetchRequestTemplatesByName: [String: FetchRequestTemplate] {
    get { storage.templates }
    set { edit { $0.templates = newValue } }
  }

  /// A developer's marks of the version. They are kept in a store's metadata and never consulted.
  public var versionIdentifiers: Set<String> {
    get { storage.versionIdentifiers }
    set { edit { $0.versionIdentifiers = newValue } }
  }

  public var localizationDictionary: [String: String] {
    get { storage.localizationDictionary }
    set { edit { $0.localizationDictionary = newValue } }
  }

  /// For each entity a hash over what a store depends on. Empty before the model is frozen.
  public var entityVersionHashesByName: [String: Data] { storage.hashes }

  func set(configuration name: String, entityNames: [String]) {
    edit { $0.configurations[name] = entityNames }
  }

  private func edit(_ change: (inout Storage) -> Void) {
    guard !isFrozen else { return FrozenModel.report("The model") }
    change(&storage)
  }

  /// Checks the model, works out what its objects look like, and makes it immutable. A second call does nothing.
  ///
  /// - Throws: `ModelError`, which names the element that is wrong; the model stays editable.
  public func freeze() throws(ModelError) {
    let outcome: Result<Void, ModelError> = freezing.withLock { isFrozen in
      guard !isFrozen else { return .success(()) }
      do throws(ModelError) {
        try ModelValidation(entities: storage.entities).run()
        for root in storage.entities where root.superentity == nil {
          Self.freeze(root, inherited: [])
        }
        storage.hashes = VersionHash.hashes(of: storage.entities)
        isFrozen = true
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try outcome.get()
  }

  private static func freeze(_ entity: EntityDescription, inherited: [PropertySlot]) {
    var slots = inherited
    func add(_ name: String, _ kind: PropertySlot.Kind, _ property: PropertyDescription) {
      let defaultValue: PropertyValue =
        if case .attribute(let attribute, _) = kind { attribute.defaultValue } else { .null }
      slots.append(
        PropertySlot(
          index: slots.count, name: name, propertyName: PropertyName(name), kind: kind,
          isOptional: property.isOptional, isTransient: property.isTransient,
          policy: entity.effectiveConflictPolicy(for: property), defaultValue: defaultValue))
    }
    func add(_ attribute: AttributeDescription, prefix: String) {
      if let composite = attribute as? CompositeAttributeDescription {
        for element in composite.elements {
          add(element, prefix: "\(prefix)\(composite.name).")
        }
      } else {
        add(prefix + attribute.name, .attribute(attribute, attribute.type), attribute)
      }
    }
    let own = entity.properties.sorted { $0.name < $1.name }
    for case let attribute as AttributeDescription in own { add(attribute, prefix: "") }
    for case let relationship as RelationshipDescription in own {
      add(
        relationship.name,
        relationship.isToMany ? .toMany(relationship) : .toOne(relationship), relationship)
    }
    entity.freeze(layout: EntityLayout(entity: entity, slots: slots))
    for child in entity.subentities { freeze(child, inherited: slots) }
  }
}

extension ManagedObjectModel: Sequence {
  /// Enumerates the entities.
  public func makeIterator() -> IndexingIterator<[EntityDescription]> { entities.makeIterator() }
}
