import Synchronization

/// The classes that objects of entities are made of, by class name.
enum ObjectClasses {
  private static let classes = Mutex<[String: ManagedObject.Type]>([:])

  static func register(_ type: ManagedObject.Type) {
    classes.withLock { $0[String(describing: type)] = type }
  }

  /// The registered class of the entity, or of the nearest entity above that has one.
  static func objectClass(for entity: EntityDescription) -> ManagedObject.Type {
    var candidate: EntityDescription? = entity
    while let current = candidate {
      if let type = classes.withLock({ $0[className(of: current)] }) { return type }
      candidate = current.superentity
    }
    return ManagedObject.self
  }

  /// Whether the class is the one that the entity names.
  static func represents(_ type: ManagedObject.Type, _ entity: EntityDescription) -> Bool {
    String(describing: type) == className(of: entity)
  }

  /// `Book` for the class names `Book`, `.Book` and `Shop.Book`; the entity's own name without one.
  private static func className(of entity: EntityDescription) -> String {
    let name = entity.managedObjectClassName ?? ""
    let plain = name.split(separator: ".").last.map(String.init) ?? ""
    return plain.isEmpty || plain == "NSManagedObject" || plain == "ManagedObject"
      ? entity.name : plain
  }
}
