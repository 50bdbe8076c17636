import Driftless
import Foundation

extension ImportTransaction {
  /// Makes an object as empty as a new one, with what its deletion would do to others: it is deleted
  /// by one line and inserted by a later one, and to everybody it is one object that changed.
  func clear(_ object: ManagedObject, _ line: Int) throws {
    for (name, property) in shapes.shape(of: object.entity).properties {
      switch property {
      case .attribute(_, let key):
        let value = object.entity.attributesByName[name]?.defaultValue ?? .null
        object[key] = ImportedAttribute(propertyValue: value)
      case .toOne(_, let key):
        let other = object[key]
        try follow(name, of: object, to: other.map { [$0] } ?? [], line)
        object[key] = nil
      case .toMany(_, let key):
        try follow(name, of: object, to: object[key].array, line)
        object[key] = []
      }
    }
  }

  /// Does what the relationship's delete rule says to the objects at its other end.
  private func follow(
    _ name: String, of object: ManagedObject, to others: [ManagedObject], _ line: Int
  ) throws {
    switch object.entity.relationshipsByName[name]?.deleteRule {
    case .cascade: for other in others where other !== object { context.delete(other) }
    case .deny where !others.isEmpty:
      throw ImportError(
        line: line,
        "\(object.entity.name) cannot be deleted: its \(name) hold \(others.count) and deny it")
    case .deny, .nullify, .noAction, nil: break
    }
  }
}
