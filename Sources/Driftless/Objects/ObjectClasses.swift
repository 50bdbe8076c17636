import Synchronization

/// The classes that objects of entities are made of, by class name.
///
/// Several entities may name one class. Two classes of one name in different modules are told apart
/// where an entity names the module too.
enum ObjectClasses {
  private struct Registry {
    /// By the name without the module: `Book`.
    var byName: [String: ManagedObject.Type] = [:]
    /// By the whole name: `Shop.Book`.
    var byWholeName: [String: ManagedObject.Type] = [:]
  }

  private static let registry = Mutex(Registry())

  /// A class name that no class has: objects of an entity that names it are plain ``ManagedObject``s.
  static let plain = "-"

  static func register(_ type: ManagedObject.Type) {
    registry.withLock {
      $0.byName[String(describing: type)] = type
      $0.byWholeName[String(reflecting: type)] = type
    }
  }

  /// The registered class of the entity, or of the nearest entity above that has one.
  static func objectClass(for entity: EntityDescription) -> ManagedObject.Type {
    var candidate: EntityDescription? = entity
    while let current = candidate, current.managedObjectClassName != plain {
      let name = className(of: current)
      if let type = named(current) ?? registry.withLock({ $0.byName[name] }) { return type }
      candidate = current.superentity
    }
    return ManagedObject.self
  }

  /// Whether the entity names the class with its module.
  static func isWholeName(of type: ManagedObject.Type, _ entity: EntityDescription) -> Bool {
    named(entity) == type
  }

  /// Whether the class is the one that the entity names.
  static func represents(_ type: ManagedObject.Type, _ entity: EntityDescription) -> Bool {
    if let named = named(entity) { return named == type }
    return String(describing: type) == className(of: entity)
  }

  /// The registered class that the entity names with its module.
  private static func named(_ entity: EntityDescription) -> ManagedObject.Type? {
    let name = entity.managedObjectClassName ?? ""
    return name.contains(".") ? registry.withLock { $0.byWholeName[name] } : nil
  }

  /// `Book` for the class names `Book`, `.Book` and `Shop.Book`; the entity's own name without one.
  private static func className(of entity: EntityDescription) -> String {
    let name = entity.managedObjectClassName ?? ""
    let plain = name.split(separator: ".").last.map(String.init) ?? ""
    return plain.isEmpty || plain == "NSManagedObject" || plain == "ManagedObject"
      ? entity.name : plain
  }
}
