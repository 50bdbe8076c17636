import Driftless
public import Foundation

/// How the objects of one entity mapping are migrated. Subclass it for what expressions cannot say, and name the class, with
/// its module, in the mapping.
open class NSEntityMigrationPolicy: NSObject {
  fileprivate weak var bridge: MigrationPolicyBridge?

  /// The manager makes one for each entity mapping.
  public override required init() {}

  /// Before the first object of the mapping.
  ///
  /// - Throws: what an override throws; the migration ends with it, and the file of before stays.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Makes what a source object becomes: here one object, with the attributes of the mapping.
  ///
  /// - Throws: an error of an expression that gives no value or one that does not fit, and what an override throws.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try bridge?.make(sInstance, try mapping.known(), manager.known)
  }

  /// After the last object of the mapping.
  ///
  /// - Throws: as `begin(_:with:)`.
  open func endInstanceCreation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {}

  /// Connects an object that was made: here by the mapping's expressions.
  ///
  /// - Throws: as `createDestinationInstances(forSource:in:manager:)`.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping,
    manager: NSMigrationManager
  ) throws {
    try bridge?.connect(dInstance, try mapping.known(), manager.known)
  }

  /// After the relationships of the mapping's last object.
  ///
  /// - Throws: as `begin(_:with:)`.
  open func endRelationshipCreation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {}

  /// Throws when the result is wrong.
  ///
  /// - Throws: as `begin(_:with:)`; here nothing.
  open func performCustomValidation(
    forMapping mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {}

  /// The last call for the mapping.
  ///
  /// - Throws: as `begin(_:with:)`.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Answers `FUNCTION($entityPolicy, "name:of:", …)` in the mapping's expressions. On Apple's systems that calls the method of that name,
  /// which Swift on Linux does not find: an override calls it.
  ///
  /// ```swift
  /// override func perform(
  ///   _ selector: String, _ arguments: [Any?], manager: NSMigrationManager
  /// ) throws -> Any? {
  ///   guard selector == "name:of:" else {
  ///     return try super.perform(selector, arguments, manager: manager)
  ///   }
  ///   return name(arguments[0] as? String, of: arguments[1] as? NSManagedObject)
  /// }
  /// ```
  /// - Parameters:
  ///   - selector: The method's name as it stands in the expression.
  ///   - arguments: Values as `value(forKey:)` gives them, objects, and arrays of objects.
  ///   - manager: The manager of the migration.
  /// - Returns: A value, an object, a list of objects, or nil.
  /// - Throws: 134110 for a name without an answer, which here each is; what an override throws. The migration ends with it.
  open func perform(
    _ selector: String, _ arguments: [Any?], manager: NSMigrationManager
  ) throws -> Any? {
    throw StoreError(
      .cannotMigrate, "\(type(of: self)) has no answer to \(selector).",
      suggestion: "Override perform(_:_:manager:) in the policy, or correct the expression.")
  }
}

/// Asks an application's policy what the library asks one of its own.
final class MigrationPolicyBridge: EntityMigrationPolicy {
  private var made: NSEntityMigrationPolicy?

  private func policy(_ mapping: EntityMapping) throws -> NSEntityMigrationPolicy {
    if let made { return made }
    let name = mapping.userInfo[NSEntityMapping.policyKey] ?? ""
    guard let type = NSClassFromString(name) as? NSEntityMigrationPolicy.Type else {
      throw StoreError(
        .cannotMigrate, "The mapping names the policy \(name), which is not in this process.",
        suggestion: "Name the class with its module, as NSStringFromClass gives it.")
    }
    let policy = type.init()
    policy.bridge = self
    made = policy
    return policy
  }

  private var ownManager: NSMigrationManager?

  /// The application's manager, or one for a migration that a store begins by itself.
  private func standing(for manager: MigrationManager) -> NSMigrationManager {
    if let standing = NSMigrationManager.standing(for: manager) { return standing }
    if let ownManager, ownManager.known === manager { return ownManager }
    let made = NSMigrationManager(manager)
    ownManager = made
    return made
  }

  func make(
    _ source: ManagedObject, _ mapping: EntityMapping, _ manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }

  func connect(
    _ destination: ManagedObject, _ mapping: EntityMapping, _ manager: MigrationManager
  ) throws {
    try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
  }

  override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
    try policy(mapping).begin(NSEntityMapping(mapping), with: standing(for: manager))
  }

  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try policy(mapping).createDestinationInstances(
      forSource: source, in: NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try policy(mapping).endInstanceCreation(
      forMapping: NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try policy(mapping).createRelationships(
      forDestination: destination, in: NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func endRelationshipCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try policy(mapping).endRelationshipCreation(
      forMapping: NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try policy(mapping).performCustomValidation(
      forMapping: NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
    try policy(mapping).end(NSEntityMapping(mapping), manager: standing(for: manager))
  }

  override func perform(
    _ selector: String, _ arguments: [Any?], manager: MigrationManager
  ) throws -> Any? {
    guard let policy = try made ?? manager.currentEntityMapping.map(policy) else {
      return try super.perform(selector, arguments, manager: manager)
    }
    let answer = try policy.perform(
      selector, arguments.map(foundationValue), manager: standing(for: manager))
    if let objects = ManagedObject.objects(of: answer) { return objects }
    return answer is ManagedObject ? answer : propertyValue(answer) ?? answer
  }
}
