/// What things are called in generated source, so that it compiles whatever a model calls them.
struct SourceNames {
  private var classNames: [String: String] = [:]
  private var taken: Set<String> = []

  init(_ model: ManagedObjectModel) {
    var wanted: [String: [String]] = [:]
    for entity in model.entities {
      wanted[Self.declaredName(of: entity) ?? entity.name, default: []].append(entity.name)
    }
    for (name, entities) in wanted {
      // Entities that share a class get one of their own each: the class holds one entity's keys.
      for entity in entities { classNames[entity] = entities.count == 1 ? name : entity }
    }
    taken = Set(classNames.values)
  }

  func className(of entity: EntityDescription) -> String {
    let name = classNames[entity.name] ?? entity.name
    return Self.keywords.contains(name) || name == "ManagedObject" ? name + "Object" : name
  }

  /// The class that the model names, without its module. Nil for what is no class of one's own.
  private static func declaredName(of entity: EntityDescription) -> String? {
    guard let name = entity.declaredClassName?.split(separator: ".").last.map(String.init),
      name != "ManagedObject", name != "NSManagedObject",
      (try? ModelName.check(property: name, of: "")) != nil
    else { return nil }
    return name
  }

  /// A type of the library, with its module where a class of the model has the same name.
  func library(_ type: String) -> String { taken.contains(type) ? "Driftless.\(type)" : type }

  func swiftType(of type: AttributeType) -> String? {
    switch type {
    case .integer16: qualified("Int16", "Swift")
    case .integer32: qualified("Int32", "Swift")
    case .integer64: qualified("Int64", "Swift")
    case .decimal: qualified("Decimal", "Foundation")
    case .double: qualified("Double", "Swift")
    case .float: qualified("Float", "Swift")
    case .string: qualified("String", "Swift")
    case .boolean: qualified("Bool", "Swift")
    case .date: qualified("Date", "Foundation")
    case .binaryData, .transformable: qualified("Data", "Foundation")
    case .uuid: qualified("UUID", "Foundation")
    case .uri: qualified("URL", "Foundation")
    case .undefined, .objectID, .composite: nil
    }
  }

  private func qualified(_ type: String, _ module: String) -> String {
    taken.contains(type) ? "\(module).\(type)" : type
  }

  /// For each slot of an entity, inherited ones too, the name of its key and accessor.
  func constants(of entity: EntityDescription) -> [String: String] {
    var constants: [String: String] = [:]
    var used = Self.members
    for slot in entity.layout.slots {
      var parts = slot.name.split(separator: ".").map(String.init)
      for index in parts.indices.dropFirst() {
        parts[index] = parts[index].prefix(1).uppercased() + parts[index].dropFirst()
      }
      var name = parts.joined()
      while !used.insert(name).inserted { name += "Value" }
      constants[slot.name] = name
    }
    return constants
  }

  static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// What every object has, and what no declaration can be called, with backticks or without.
  private static let members: Set<String> = [
    "awakeFromFetch", "awakeFromInsert", "changedValues", "committedValues", "description",
    "didSave", "didTurnIntoFault", "entity", "hasChanges", "hasFault", "hashValue",
    "hasPersistentChangedValues", "identity", "init", "isDeleted", "isFault", "isInserted",
    "isUpdated", "managedObjectContext", "objectID", "objectIDs", "prepareForDeletion", "register",
    "self", "Self", "setValue", "Type", "Protocol", "validateForDelete", "validateForInsert",
    "typedKeys", "validateForUpdate", "value", "willSave", "willTurnIntoFault", "_",
  ]

  private static let keywords: Set<String> = [
    "Any", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default",
    "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate",
    "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil",
    "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return",
    "self", "Self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
    "try", "typealias", "var", "where", "while",
  ]
}
