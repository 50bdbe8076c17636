import Driftless
import Foundation

/// An attribute value that is already of its attribute's type: lets an import set any attribute by
/// name.
struct ImportedAttribute: AttributeDefaulting {
  static let attributeTypes = Set(AttributeType.allCases)
  static let attributeDefault = ImportedAttribute(propertyValue: .null)

  let propertyValue: PropertyValue
}

/// What an entity's properties are, looked up once an entity instead of once a value.
final class ImportShape {
  enum Property {
    case attribute(AttributeType, Attribute<ManagedObject, ImportedAttribute>)
    case toOne(EntityDescription, ToOne<ManagedObject, ManagedObject>)
    case toMany(EntityDescription, ToMany<ManagedObject, ManagedObject>)
  }

  let entity: EntityDescription
  let properties: [String: Property]
  let hasRelationships: Bool

  init(_ entity: EntityDescription) {
    self.entity = entity
    var properties: [String: Property] = [:]
    for slot in entity.layout.slots where !slot.isTransient {
      switch slot.kind {
      case .attribute(_, let type):
        properties[slot.name] = .attribute(type, Attribute(slot.name))
      case .toOne(let relationship):
        guard let destination = relationship.destinationEntity else { continue }
        properties[slot.name] = .toOne(destination, ToOne(slot.name))
      case .toMany(let relationship):
        guard let destination = relationship.destinationEntity else { continue }
        properties[slot.name] = .toMany(destination, ToMany(slot.name))
      }
    }
    self.properties = properties
    hasRelationships = properties.values.contains {
      if case .attribute = $0 { false } else { true }
    }
  }

  /// The elements of a composite that a line writes as an object; nil where it is none.
  func elements(of member: JSONValue.Member) -> [JSONValue.Member]? {
    guard case .object(let elements) = member.value,
      properties.keys.contains(where: { $0.hasPrefix(member.name + ".") })
    else { return nil }
    return elements.map { .init(name: "\(member.name).\($0.name)", value: $0.value) }
  }

  func unknown(_ name: String, _ line: Int) -> ImportError {
    ImportError(
      line: line, "\(entity.name) has no property \"\(name)\"; it has \(hint(for: name))")
  }

  /// A name that is wrong gets the nearest right one as a hint.
  private func hint(for name: String) -> String {
    let near = properties.keys.filter { $0.lowercased() == name.lowercased() }
    let names = near.isEmpty ? properties.keys.sorted() : near
    return names.prefix(12).joined(separator: ", ") + (names.count > 12 ? ", …" : "")
  }
}

/// The shapes of a model's entities, made when first asked for.
final class ImportShapes {
  private let model: ManagedObjectModel
  private var byName: [String: ImportShape] = [:]

  init(_ model: ManagedObjectModel) { self.model = model }

  func shape(_ name: String, _ line: Int) throws(ImportError) -> ImportShape {
    if let shape = byName[name] { return shape }
    guard let entity = model.entitiesByName[name] else {
      let names = model.entitiesByName.keys.sorted().prefix(12).joined(separator: ", ")
      throw ImportError(line: line, "there is no entity \"\(name)\"; the model has \(names)")
    }
    return shape(of: entity)
  }

  func shape(of entity: EntityDescription) -> ImportShape {
    if let shape = byName[entity.name] { return shape }
    let shape = ImportShape(entity)
    byName[entity.name] = shape
    return shape
  }
}
