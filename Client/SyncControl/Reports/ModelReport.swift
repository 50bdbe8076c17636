import Driftless

/// A model as `model show` prints it.
struct ModelReport: Encodable {
  struct Property: Encodable {
    var name: String
    /// An attribute's type, or a relationship's destination.
    var type: String
    var optional: Bool
    var policy: String
    /// Of relationships only.
    var inverse: String?
    var deleteRule: String?
    var toMany: Bool?
  }

  struct Entity: Encodable {
    var name: String
    var parent: String?
    var abstract: Bool
    var deletePolicy: String
    var properties: [Property]
  }

  var entities: [Entity]
}

extension ModelReport.Entity {
  init(_ entity: EntityDescription) {
    name = entity.name
    parent = entity.superentity?.name
    abstract = entity.isAbstract
    deletePolicy = entity.deletePolicy.rawValue
    properties = entity.layout.slots.compactMap { slot in
      switch slot.kind {
      case .attribute(_, let type):
        return ModelReport.Property(
          name: slot.name, type: "\(type)", optional: slot.isOptional, policy: slot.policy.text)
      case .toOne(let relationship), .toMany(let relationship):
        return ModelReport.Property(
          name: slot.name, type: relationship.destinationEntity?.name ?? "",
          optional: slot.isOptional, policy: slot.policy.text,
          inverse: relationship.inverseRelationship?.name,
          deleteRule: "\(relationship.deleteRule)", toMany: relationship.isToMany)
      }
    }
  }

  /// Lines for a person.
  var lines: [String] {
    var head = name
    if let parent { head += " : \(parent)" }
    if abstract { head += " (abstract)" }
    head += "  \(deletePolicy)"
    let width = (properties.map(\.name.count).max() ?? 0) + 2
    return [head] + properties.map { "  " + $0.name.padded(to: width) + $0.text }
  }
}

extension ModelReport.Property {
  var text: String {
    var text = toMany == true ? "[\(type)]" : type
    if optional { text += "?" }
    text += "  \(policy)"
    if let deleteRule { text += "  \(deleteRule)" }
    if let inverse { text += "  inverse \(inverse)" }
    return text
  }
}
