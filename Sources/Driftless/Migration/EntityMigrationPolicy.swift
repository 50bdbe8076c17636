import Synchronization

/// How the objects of one entity mapping are migrated. Subclass it for what expressions cannot say, and name the class in
/// the mapping.
///
/// For each mapping, in the mapping model's order: ``begin(_:with:)``, then
/// ``createDestinationInstances(forSource:in:manager:)`` for each source object, then
/// ``endInstanceCreation(forMapping:manager:)``. When all objects are there, again for each mapping,
/// ``createRelationships(forDestination:in:manager:)`` for each object that was made and
/// ``endRelationshipCreation(forMapping:manager:)``. At last ``performCustomValidation(forMapping:manager:)`` and
/// ``end(_:manager:)``. What a method throws ends the migration, and the store stays as it was.
///
/// ```swift
/// final class NamePolicy: EntityMigrationPolicy {
///   override func createDestinationInstances(
///     forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
///   ) throws {
///     try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
///     let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
///     let parts = (source["name"] as? String ?? "").split(separator: " ")
///     try made.first?.setValue(parts.first.map(String.init), forKey: "firstName")
///   }
/// }
/// ```
open class EntityMigrationPolicy {
  /// The manager makes one for each entity mapping.
  public required init() {}

  private static let registry = Mutex<[String: EntityMigrationPolicy.Type]>([:])

  /// Makes the classes known under their names, as mapping models name them. Call once, at start.
  public static func register(_ types: EntityMigrationPolicy.Type...) {
    registry.withLock { registry in
      for type in types {
        registry[String(reflecting: type)] = type
        registry[String(describing: type)] = type
      }
    }
  }

  /// A policy of the class of that name, with its module or without.
  static func make(_ className: String?) throws -> EntityMigrationPolicy {
    guard let className, !className.isEmpty, className != "NSEntityMigrationPolicy" else {
      return EntityMigrationPolicy()
    }
    let plain = className.split(separator: ".").last.map(String.init) ?? className
    if let type = registry.withLock({ $0[className] ?? $0[plain] }) { return type.init() }
    throw StoreError(
      .cannotMigrate, "The mapping model names the policy \(className), which is not known here.",
      suggestion: "Call EntityMigrationPolicy.register(\(plain).self) before the store is opened.")
  }

  // MARK: Objects

  /// Before the first object of the mapping.
  ///
  /// - Throws: what an override throws; the migration ends with it, and the file of before stays.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Makes what a source object becomes: here one object, with the attributes of the mapping; none for an `undefined`
  /// mapping. Tell the manager with ``MigrationManager/associate(sourceInstance:withDestinationInstance:for:)``.
  ///
  /// - Throws: ``FetchError`` for an expression that gives no value, ``ObjectError`` for a value that does not fit, what an override throws.
  ///   The migration ends with it.
  open func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    guard mapping.mappingType != .undefined, let name = mapping.destinationEntityName else {
      return
    }
    let destination = try manager.destinationContext.insert(entityNamed: name)
    try MappingExpressions(mapping, of: manager, self)
      .setAttributes(of: destination, from: source)
    try manager.associate(
      sourceInstance: source, withDestinationInstance: destination, for: mapping)
  }

  /// After the last object of the mapping.
  ///
  /// - Throws: as ``begin(_:with:)``.
  open func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  // MARK: Relationships

  /// Connects an object that was made: here by the mapping's expressions.
  ///
  /// - Throws: as ``createDestinationInstances(forSource:in:manager:)``.
  open func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try MappingExpressions(mapping, of: manager, self).setRelationships(of: destination)
  }

  /// After the relationships of the mapping's last object.
  ///
  /// - Throws: as ``begin(_:with:)``.
  open func endRelationshipCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  // MARK: End

  /// Throws when the result is wrong. The model's own rules are checked after it.
  ///
  /// - Throws: as ``begin(_:with:)``; here nothing.
  open func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// The last call for the mapping.
  ///
  /// - Throws: as ``begin(_:with:)``.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Answers `FUNCTION($entityPolicy, "selector:", …)` in the mapping's expressions.
  ///
  /// - Throws: `StoreError` (`cannotMigrate`) for a selector without an answer, which here each is; what an override throws. The migration
  ///   ends with it.
  /// - Returns: a value, an object, an array of objects, or nil.
  open func perform(
    _ selector: String, _ arguments: [Any?], manager: MigrationManager
  ) throws -> Any? {
    throw StoreError(
      .cannotMigrate, "\(type(of: self)) has no answer to \(selector).",
      suggestion: "Override perform(_:_:manager:) in the policy, or correct the expression.")
  }
}
