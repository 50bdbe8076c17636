import Logging
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
    /// Whole names under which the process has no class.
    var unknown: Set<String> = []
    /// Where classes are looked for that are named without a module.
    var modules: Set<String> = []
    /// Entities and the classes that they name in vain, as was said.
    var noted: Set<String> = []
  }

  private static let registry = Mutex(Registry())
  /// Of what is said about classes; a program that has none may leave it out.
  static let logLabel = "driftless.classes"

  /// Another number whenever a class became known.
  private static let registrations = Atomic<Int>(0)

  /// Another number whenever a class became known.
  static var version: Int { registrations.load(ordering: .acquiring) }

  /// The module of a package's program is called as its file is.
  private static let mainModule: String? = {
    CommandLine.arguments.first?.split(separator: "/").last.map {
      String($0).replacing("-", with: "_").replacing(".xctest", with: "")
    }
  }()

  /// A class name that no class has: objects of an entity that names it are plain ``ManagedObject``s.
  static let plain = "-"

  static func register(_ type: ManagedObject.Type) {
    registry.withLock {
      $0.byName[String(describing: type)] = type
      let wholeName = String(reflecting: type)
      $0.byWholeName[wholeName] = type
      $0.unknown = []
      if let module = wholeName.split(separator: ".").first { $0.modules.insert(String(module)) }
    }
    registrations.add(1, ordering: .releasing)
    KeyedModules.meet(type)
  }

  /// The class that the entity names, or the nearest entity above does whose class is there: a registered one, or another
  /// of the process. A name without a module is of the program's, or of one that has registered classes.
  static func objectClass(for entity: EntityDescription) -> ManagedObject.Type {
    let type = foundClass(for: entity)
    KeyedModules.meet(type)
    return type
  }

  private static func foundClass(for entity: EntityDescription) -> ManagedObject.Type {
    var candidate: EntityDescription? = entity
    while let current = candidate, !hasNoClass(current) {
      let name = className(of: current)
      if let type = named(current) ?? registry.withLock({ $0.byName[name] }) { return type }
      let others = registry.withLock { $0.modules.sorted() }
      for module in [mainModule].compactMap({ $0 }) + others {
        if let type = loaded("\(module).\(name)") { return type }
      }
      candidate = current.superentity
    }
    return ManagedObject.self
  }

  /// Says, once an entity and class, that an object is made of another class than the entity names, as of a class that is
  /// spelt wrong.
  static func noteLacking(_ entity: EntityDescription, in type: ManagedObject.Type) {
    let name = entity.managedObjectClassName ?? ""
    guard !name.isEmpty, name != "ManagedObject", !hasNoClass(entity), !represents(type, entity),
      registry.withLock({ $0.noted.insert("\(entity.name) \(name)").inserted })
    else { return }
    Logger(label: logLabel).warning(
      """
      \(entity.name) names the class \(name), which the program does not have: its objects are of \(type). \
      Correct the name in the model, or call ManagedObject.register(_:) with the class at start.
      """)
  }

  /// Whether the entity names the class with its module.
  static func isWholeName(of type: ManagedObject.Type, _ entity: EntityDescription) -> Bool {
    named(entity) == type
  }

  /// Whether the entity says that its objects are of no class of their own, as Core Data's model files do.
  private static func hasNoClass(_ entity: EntityDescription) -> Bool {
    [plain, "NSManagedObject"].contains(entity.declaredClassName)
  }

  /// Whether the class is the one that the entity names.
  static func represents(_ type: ManagedObject.Type, _ entity: EntityDescription) -> Bool {
    if hasNoClass(entity) { return type == ManagedObject.self }
    if let named = named(entity) { return named == type }
    return String(describing: type) == className(of: entity)
  }

  /// The class that the entity names with its module.
  private static func named(_ entity: EntityDescription) -> ManagedObject.Type? {
    let name = entity.managedObjectClassName ?? ""
    guard name.contains("."), !name.hasPrefix(".") else { return nil }
    return registry.withLock { $0.byWholeName[name] } ?? loaded(name)
  }

  /// The class of a whole name, though nobody registered it: the runtime finds classes by their mangled names.
  private static func loaded(_ wholeName: String) -> ManagedObject.Type? {
    let parts = wholeName.split(separator: ".")
    // Other letters are mangled in another way: a class of such a name is registered.
    guard parts.count == 2, wholeName.utf8.allSatisfy({ $0 < 0x80 }),
      !registry.withLock({ $0.unknown.contains(wholeName) })
    else { return nil }
    let mangled = parts.map { "\($0.utf8.count)\($0)" }.joined() + "C"
    guard let type = _typeByName(mangled) as? ManagedObject.Type else {
      registry.withLock { _ = $0.unknown.insert(wholeName) }
      return nil
    }
    return type
  }

  /// `Book` for the class names `Book`, `.Book` and `Shop.Book`; the entity's own name without one.
  private static func className(of entity: EntityDescription) -> String {
    let name = entity.managedObjectClassName ?? ""
    let plain = name.split(separator: ".").last.map(String.init) ?? ""
    return plain.isEmpty || plain == "ManagedObject" ? entity.name : plain
  }
}
