public import Foundation
import Synchronization

/// A schema: the entities of a store and how they relate.
///
/// A model may be changed until it is frozen, which ``freeze()`` does, and which a coordinator does
/// with the model that it opens a store with. After that its setters change nothing and log an
/// error; change a ``copy()`` instead. Only a frozen model may leave the thread that built it.
///
/// ```swift
/// let model = ManagedObjectModel(entities: [book, author])
/// try model.freeze()
/// ```
public final class ManagedObjectModel: @unchecked Sendable {  // frozen before it is shared
  private var storage = Storage()
  private let freezing = Mutex(false)

  private struct Storage {
    var entities: [EntityDescription] = []
    var entitiesByName: [String: EntityDescription]?
    var configurations: [String: [String]] = [:]
    var templates: [String: FetchRequestTemplate] = [:]
    var versionIdentifiers: Set<String> = []
    var localizationDictionary: [String: String] = [:]
    var fileAttributes: [String: String] = [:]
    var hashes: [String: Data] = [:]
  }

  /// A model without entities.
  public init() {}

  /// A model of these entities, which must belong to no other model.
  public convenience init(entities: [EntityDescription]) {
    self.init()
    self.entities = entities
  }

  /// Whether the model is in use and can no longer be changed.
  public var isFrozen: Bool { freezing.withLock { $0 } }

  /// All entities, subentities too, in the order in which they were given.
  public var entities: [EntityDescription] {
    get { storage.entities }
    set {
      edit { storage in
        for entity in storage.entities { entity.leave(self) }
        storage.entities = newValue
        for entity in newValue { entity.join(self) }
      }
    }
  }

  /// The entities by name. Of two with one name the first; such a model cannot be frozen.
  public var entitiesByName: [String: EntityDescription] {
    storage.entitiesByName
      ?? Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The names of the configurations, sorted. The default one, of all entities, is not among them.
  public var configurations: [String] { storage.configurations.keys.sorted() }

  /// The entities of a configuration; all for nil; nil for a name that is unknown.
  public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
    guard let name else { return entities }
    let byName = entitiesByName
    return storage.configurations[name]?.compactMap { byName[$0] }
  }

  /// Defines or replaces a configuration. Subentities are members only when they are listed.
  public func setEntities(_ entities: [EntityDescription], forConfigurationName name: String) {
    set(configuration: name, entityNames: entities.map(\.name))
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

  /// Display names, under keys such as `Entity/Book` and `Property/title/Entity/Book`.
  public var localizationDictionary: [String: String] {
    get { storage.localizationDictionary }
    set { edit { $0.localizationDictionary = newValue } }
  }

  /// For each entity 32 bytes over what a store depends on. Empty before the model is frozen.
  public var entityVersionHashesByName: [String: Data] { storage.hashes }

  /// Attributes of the model file's root that mean nothing here, kept for writing it back.
  var fileAttributes: [String: String] {
    get { storage.fileAttributes }
    set { edit { $0.fileAttributes = newValue } }
  }

  func entityNames(ofConfiguration name: String) -> [String] { storage.configurations[name] ?? [] }

  func set(configuration name: String, entityNames: [String]) {
    edit { $0.configurations[name] = entityNames }
  }

  private func edit(_ change: (inout Storage) -> Void) {
    guard !isFrozen else { return FrozenModel.report("The model") }
    change(&storage)
  }

  /// Checks the model, works out what its objects look like, and makes it immutable.
  ///
  /// A second call does nothing.
  /// - Throws: ``ModelError``, which names the element that is wrong; the model stays editable.
  public func freeze() throws(ModelError) {
    let outcome: Result<Void, ModelError> = freezing.withLock { isFrozen in
      guard !isFrozen else { return .success(()) }
      do throws(ModelError) {
        let byName = try ModelValidation(model: self).run()
        for root in storage.entities where root.superentity == nil {
          root.freezeHierarchy()
        }
        storage.entitiesByName = byName
        storage.hashes = VersionHash.hashes(of: storage.entities)
        isFrozen = true
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try outcome.get()
  }
}

extension ManagedObjectModel: Sequence {
  /// Enumerates the entities.
  public func makeIterator() -> IndexingIterator<[EntityDescription]> { entities.makeIterator() }
}
