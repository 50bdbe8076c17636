/// Writes Swift classes for a model's entities: typed keys, and properties that use them.
///
/// ```swift
/// final class Book: ManagedObject {
///   static let title = Attribute<Book, String>("title")
///
///   var title: String {
///     get { self[Book.title] }
///     set { self[Book.title] = newValue }
///   }
/// }
/// ```
///
/// An optional attribute is an optional here; one that is not reads as zero or empty while it has
/// no value. The leaf `location.lat` of a composite attribute becomes `locationLat`. A property
/// whose name every object has already, such as `description`, becomes `descriptionValue`.
/// Transformable attributes are bytes. Fetched properties and attributes without a type have no
/// typed form.
public enum ModelSource {
  /// One source file an entity, in the order of their names.
  ///
  /// - Parameters:
  ///   - model: a frozen model.
  ///   - accessLevel: `internal`, `package` or `public`.
  public static func swift(
    for model: ManagedObjectModel, accessLevel: String = "internal"
  ) -> [(fileName: String, text: String)] {
    let names = SourceNames(model)
    let access = accessLevel == "internal" ? "" : "\(accessLevel) "
    return model.entities.sorted { $0.name < $1.name }.map { entity in
      (
        fileName: "\(names.className(of: entity)).swift",
        text: ClassSource(entity: entity, names: names, access: access).text
      )
    }
  }
}

/// The source of one entity's class.
private struct ClassSource {
  let entity: EntityDescription
  let names: SourceNames
  let access: String

  private struct Member {
    let key: String
    let keyType: String
    let valueType: String
  }

  var text: String {
    let name = names.className(of: entity)
    let parent =
      entity.superentity.map(names.className(of:)) ?? names.library("ManagedObject")
    let kind = entity.subentities.isEmpty ? "final class" : "class"
    var keys: [String] = []
    var properties: [String] = []
    var listed: [String] = []
    let constants = names.constants(of: entity)
    for member in members(of: name) {
      let constant = SourceNames.escaped(constants[member.key] ?? member.key)
      keys.append("  \(access)static let \(constant) = \(member.keyType)(\"\(member.key)\")")
      listed.append("\(name).\(constant)")
      properties.append(
        """
          \(access)var \(constant): \(member.valueType) {
            get { self[\(name).\(constant)] }
            set { self[\(name).\(constant)] = newValue }
          }
        """)
    }
    let list = """
        \(access)override class var typedKeys: [any \(names.library("TypedKey"))] {
          super.typedKeys + [\(listed.joined(separator: ", "))]
        }
      """
    let body = keys.isEmpty ? [] : [keys.joined(separator: "\n")] + properties + [list]
    return """
      import Driftless
      import Foundation

      \(access)\(kind) \(name): \(parent) {
      \(body.joined(separator: "\n\n"))
      }

      """
  }

  private func members(of name: String) -> [Member] {
    entity.ownProperties.sorted { $0.name < $1.name }.flatMap { property -> [Member] in
      switch property {
      case let attribute as AttributeDescription: return leaves(of: attribute, in: name)
      case let relationship as RelationshipDescription:
        guard let destination = relationship.destinationEntity.map(names.className(of:)) else {
          return []
        }
        let (key, value) =
          relationship.isToMany
          ? ("ToMany", "\(names.library("RelatedObjects"))<\(destination)>")
          : ("ToOne", "\(destination)?")
        return [
          Member(
            key: relationship.name, keyType: "\(names.library(key))<\(name), \(destination)>",
            valueType: value)
        ]
      default: return []
      }
    }
  }

  private func leaves(of attribute: AttributeDescription, in name: String) -> [Member] {
    if let composite = attribute as? CompositeAttributeDescription {
      return composite.elements.flatMap { leaves(of: $0, in: name) }
    }
    guard let type = names.swiftType(of: attribute.type) else { return [] }
    let value = attribute.mayBeMissing ? "\(type)?" : type
    return [
      Member(
        key: attribute.path, keyType: "\(names.library("Attribute"))<\(name), \(value)>",
        valueType: value)
    ]
  }
}
