import DriftlessProtocol
import Foundation

/// The text that a constraint of unique keys has in the tables: a JSON list of the entity and its properties.
enum ConstraintText {
  static func of(_ constraint: ZoneConstraint) throws -> String {
    String(
      decoding: try JSONEncoder().encode([constraint.entity] + constraint.properties),
      as: UTF8.self)
  }

  /// - Throws: `ServerError` (`.storage`) when the text is none of those.
  static func constraint(_ text: String) throws -> ZoneConstraint {
    guard let names = try? JSONDecoder().decode([String].self, from: Data(text.utf8)),
      let entity = names.first
    else {
      throw ServerError(
        .storage, "a constraint in the index is damaged",
        suggestion: "Restore the database from its backup.")
    }
    return ZoneConstraint(entity: entity, properties: Array(names.dropFirst()))
  }
}
