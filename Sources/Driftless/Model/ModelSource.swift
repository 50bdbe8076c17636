/// Writes Swift classes for a model's entities: typed keys, and properties that use them.
public enum ModelSource {
  /// One source file an entity.
  ///
  /// - Parameter accessLevel: `internal`, `package` or `public`.
  public static func swift(
    for model: ManagedObjectModel, accessLevel: String = "internal"
  ) -> [(fileName: String, text: String)] {
    model.entities.sorted { $0.name < $1.name }.map { entity in
      (fileName: "\(className(of: entity)).swift", text: text(of: entity, accessLevel))
    }
  }

  private static let reserved: Set<String> = [
    "class", "default", "extension", "func", "import", "in", "init", "is", "let", "operator",
    "private", "protocol", "public", "repeat", "return", "self", "static", "struct", "switch",
    "var", "where", "while", "case", "for", "if", "else", "enum", "guard", "do", "as", "true",
    "false", "nil", "throw", "throws", "try", "internal", "subscript", "super", "break",
    "continue", "defer", "fallthrough", "catch", "rethrows", "Any", "Type", "Self",
  ]

  private static func identifier(_ name: String) -> String {
    reserved.contains(name) ? "`\(name)`" : name
  }

  private static func className(of entity: EntityDescription) -> String {
    let name = entity.declaredClassName?.split(separator: ".").last.map(String.init)
    return name.flatMap { $0 == "ManagedObject" || $0 == "NSManagedObject" ? nil : $0 }
      ?? entity.name
  }

  private static func text(of entity: EntityDescription, _ accessLevel: String) -> String {
    let access = accessLevel == "internal" ? "" : "\(accessLevel) "
    let name = className(of: entity)
    let parent = entity.superentity.map(className(of:)) ?? "ManagedObject"
    let kind = entity.subentities.isEmpty ? "final class" : "class"
    var keys: [String] = []
    var properties: [String] = []
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      for (key, type, value) in declarations(of: property, in: name) {
        let constant = identifier(
          key.split(separator: ".").enumerated().map {
            $0.offset == 0
              ? String($0.element) : $0.element.prefix(1).uppercased() + $0.element.dropFirst()
          }.joined())
        keys.append("  \(access)static let \(constant) = \(type)(\"\(key)\")")
        guard let value else { continue }
        properties.append(
          """
            \(access)var \(constant): \(value) {
              get { self[\(name).\(constant)] }
              set { self[\(name).\(constant)] = newValue }
            }
          """)
      }
    }
    return """
      import Driftless
      import Foundation

      \(access)\(kind) \(name): \(parent) {
      \(keys.joined(separator: "\n"))

      \(properties.joined(separator: "\n\n"))
      }

      """
  }

  /// For each key of a property: its name, its type, and the type of the accessor.
  private static func declarations(
    of property: PropertyDescription, in name: String
  ) -> [(key: String, type: String, value: String?)] {
    switch property {
    case let composite as CompositeAttributeDescription:
      return composite.elements.flatMap { declarations(of: $0, in: name) }
        .map { ("\(composite.name).\($0.key)", $0.type, $0.value) }
    case let attribute as AttributeDescription:
      guard let type = swiftType(of: attribute.type) else { return [] }
      let value = attribute.isOptional && attribute.defaultValue.isNull ? "\(type)?" : type
      return [(attribute.name, "Attribute<\(name), \(value)>", value)]
    case let relationship as RelationshipDescription:
      guard let destination = relationship.destinationEntity.map(className(of:)) else { return [] }
      return relationship.isToMany
        ? [(relationship.name, "ToMany<\(name), \(destination)>", nil)]
        : [(relationship.name, "ToOne<\(name), \(destination)>", "\(destination)?")]
    default: return []
    }
  }

  private static func swiftType(of type: AttributeType) -> String? {
    switch type {
    case .integer16: "Int16"
    case .integer32: "Int32"
    case .integer64: "Int64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Bool"
    case .date: "Date"
    case .binaryData, .transformable: "Data"
    case .uuid: "UUID"
    case .uri: "URL"
    case .undefined, .objectID, .composite: nil
    }
  }
}
