public import Foundation
import Synchronization

/// A schema: the entities of a store and how they relate.
///
/// A model may be changed until it is frozen, which ``freeze()`` does, and which a coordinator does
/// with the model that it opens a store with. Only a frozen model may leave the thread that built
/// it.
///
/// **A model in use.** After that a setter of the model, or of anything in it, changes nothing:
/// objects and stores have their shape from it. Where Core Data raises an exception, the change that
/// came too late is logged and kept as ``refusedChange``, a ``ModelError`` with the code `inUse`
/// that names the element. Code that cannot know whether a model is in use calls
/// ``checkEditable()``, which throws that error. To change a model in use, change a ``copy()``.
///
/// ```swift
/// let model = ManagedObjectModel(entities: [book, author])
/// try model.freeze()
/// ```
public final class ManagedObjectModel: @unchecked Sendable {  // frozen before it is shared
  private var storage = Storage()
  private let freezing = Mutex(false)
  private let refusal = Mutex<ModelError?>(nil)
  /// The file that it was read from, for messages.
  var file: String?
  /// What its file has and the reader does not know.
  package var unknownWords: [UnknownWord] = []

  private struct Storage {
    var entities: [EntityDescription] = []
    var entitiesByName: [String: EntityDescription]?
    var configurations: [String: [String]] = [:]
    var templates: [String: FetchRequestTemplate] = [:]
    var versionIdentifiers: Set<String> = []
    var localizationDictionary: [String: String] = [:]
    var fileAttributes: [String: String] = [:]
    /// The hashes by our own rule, once frozen.
    var ownHashes: [String: Data] = [:]
    var recordedHashes: [String: RecordedHash] = [:]
    var cloudConfigurations: Set<String> = []
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
        let staying = Set(newValue.map { ObjectIdentifier($0) })
        for entity in storage.entities {
          entity.unlinkNames { !staying.contains(ObjectIdentifier($0)) }
        }
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

  /// Defines or replaces a configuration: the entities that one store keeps.
  ///
  /// An entity may be a member of several. Subentities are members only when they are listed.
  public func setEntities(_ entities: [EntityDescription], forConfigurationName name: String) {
    set(configuration: name, entityNames: entities.map(\.name))
  }

  /// The fetch requests that the model keeps, by name.
  @_disfavoredOverload
  public var fetchRequestTemplatesByName: [String: FetchRequestTemplate] {
    get { storage.templates }
    set { edit { $0.templates = newValue } }
  }

  /// A developer's marks of the version. They are kept in a store's metadata and never consulted.
  @_disfavoredOverload
  public var versionIdentifiers: Set<String> {
    get { storage.versionIdentifiers }
    set { edit { $0.versionIdentifiers = newValue } }
  }

  /// Display names, under keys such as `Entity/Book` and `Property/title/Entity/Book`.
  @_disfavoredOverload
  public var localizationDictionary: [String: String] {
    get { storage.localizationDictionary }
    set { edit { $0.localizationDictionary = newValue } }
  }

  /// For each entity 32 bytes over what a store depends on. Empty for a model that is wrong.
  ///
  /// For an entity of a compiled model, those that Core Data gave it, as long as nothing that they
  /// depend on is changed; else our own. Of a model that is not frozen they are worked out anew at
  /// each call.
  public var entityVersionHashesByName: [String: Data] {
    guard isFrozen else { return frozenCopy?.entityVersionHashesByName ?? [:] }
    return storage.ownHashes.reduce(into: [:]) { hashes, entry in
      hashes[entry.key] = storage.recordedHashes[entry.key]?.hash(for: entry.value) ?? entry.value
    }
  }

  /// The hashes by our own rule, whatever a compiled model brought along.
  package var ownVersionHashesByName: [String: Data] {
    isFrozen ? storage.ownHashes : frozenCopy?.storage.ownHashes ?? [:]
  }

  /// What Core Data's compiler wrote beside the model, by entity.
  var recordedHashes: [String: RecordedHash] {
    get { storage.recordedHashes }
    set { edit { $0.recordedHashes = newValue } }
  }

  /// Whether every entity has the hash that Core Data gave it.
  package var hasRecordedHashes: Bool {
    !entities.isEmpty
      && entities.allSatisfy { entity in
        guard let own = storage.ownHashes[entity.name] else { return false }
        return storage.recordedHashes[entity.name]?.hash(for: own) != nil
      }
  }

  /// The configurations that a model file marks for a cloud store.
  var cloudConfigurations: Set<String> {
    get { storage.cloudConfigurations }
    set { edit { $0.cloudConfigurations = newValue } }
  }

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
    guard !isFrozen else { return FrozenModel.report("the model", self) }
    change(&storage)
  }

  private var frozenCopy: ManagedObjectModel? {
    guard let copy = try? copy() else { return nil }
    return (try? copy.freeze()) == nil ? nil : copy
  }

  // MARK: Use

  /// The newest change that came when the model was in use, and was not made; nil for none.
  public var refusedChange: ModelError? { refusal.withLock { $0 } }

  /// - Throws: ``ModelError`` with the code `inUse` when the model can no longer be changed.
  public func checkEditable() throws(ModelError) {
    if isFrozen { throw FrozenModel.refusal("the model") }
  }

  /// A model that was read is whole: what it names is linked, as far as it is there.
  func linkNames() { ModelValidation(model: self).linkNames() }

  func refuse(_ error: ModelError) { refusal.withLock { $0 = error } }

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
        storage.ownHashes = VersionHash.hashes(of: storage.entities)
        isFrozen = true
        return .success(())
      } catch {
        return .failure(error.inFile(file))
      }
    }
    try outcome.get()
    FrozenModels.note(self)
  }
}

extension ManagedObjectModel: Sequence {
  /// Enumerates the entities.
  public func makeIterator() -> IndexingIterator<[EntityDescription]> { entities.makeIterator() }
}
