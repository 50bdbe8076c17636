package import Foundation

/// A JSON Schema of a file of settings, made from what its reader goes by: editors complete and check by it.
package enum SettingsSchema {
  /// By which a file names its schema, for editors.
  package static let reference = "$schema"

  private static let dialect = "https://json-schema.org/draft/2020-12/schema"

  /// - Parameters:
  ///   - title: What the file is.
  ///   - settings: What its object has.
  package static func text(_ title: String, _ settings: [SettingDeclaration]) throws -> Data {
    var schema = object(settings)
    schema[reference] = dialect
    schema["title"] = title
    var properties = schema["properties"] as? [String: Any] ?? [:]
    properties[reference] = [
      "type": "string", "description": "Where this schema lies, for editors. Nobody else reads it.",
    ]
    schema["properties"] = properties
    return try JSONSerialization.data(
      withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
      + [0x0A]
  }

  private static func object(_ settings: [SettingDeclaration]) -> [String: Any] {
    var schema: [String: Any] = [
      "type": "object", "additionalProperties": false,
      "properties": settings.reduce(into: [String: Any]()) { $0[$1.name] = property($1) },
    ]
    let required = settings.filter(\.isRequired).map(\.name)
    if !required.isEmpty { schema["required"] = required }
    let rivals = settings.compactMap { setting in setting.rival.map { [$0, setting.name] } }
    if !rivals.isEmpty { schema["allOf"] = rivals.map { ["not": ["required": $0]] } }
    return schema
  }

  /// A number without a fraction is printed without one.
  private static func json(_ number: Double) -> Any { Int(exactly: number) ?? number }

  private static func property(_ setting: SettingDeclaration) -> [String: Any] {
    var schema: [String: Any] =
      switch setting.kind {
      case .text, .path: ["type": "string", "minLength": 1]
      case .flag: ["type": "boolean"]
      case .number(let range):
        ["type": "number", "minimum": json(range.lowerBound), "maximum": json(range.upperBound)]
      case .whole(let range):
        ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
      case .choice(let words): ["type": "string", "enum": words]
      case .object(let settings): object(settings)
      case .objects(let settings): ["type": "array", "minItems": 1, "items": object(settings)]
      }
    schema["description"] = setting.unit.map { "\(setting.meaning) In \($0)." } ?? setting.meaning
    switch setting.standard {
    case .text(let text)?: schema["default"] = text
    case .number(let number)?: schema["default"] = json(number)
    case .flag(let flag)?: schema["default"] = flag
    case nil: break
    }
    return schema
  }
}
