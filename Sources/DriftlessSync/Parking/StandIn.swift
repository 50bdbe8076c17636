import Driftless
import Foundation

/// What an object shows of a value that its model cannot hold, and of an attribute that no entry names, since it came to the
/// model later: the model's default, else the type's zero or null. A function of the zone's state and the model alone.
struct StandIn {
  private let attribute: AttributeDescription
  private let type: AttributeType
  private let isSealed: Bool
  let value: PropertyValue
  /// Whether there are values of its type, or null, that the attribute does not hold.
  let limitsValues: Bool

  /// Nil for a relationship.
  init?(_ slot: PropertySlot) {
    guard case .attribute(let attribute, let type) = slot.kind else { return nil }
    self.attribute = attribute
    self.type = type
    isSealed = attribute.isEncrypted
    limitsValues = attribute.limitsValues
    let ownDefault = slot.defaultValue
    value = ownDefault.isNull && !slot.isOptional ? Self.zero(of: type) : ownDefault
  }

  /// Why the model cannot hold a value; nil when it can.
  func refusal(of value: PropertyValue) -> String? {
    if SealedValue.cell(in: value) != nil { return "it is sealed, and could not be opened here" }
    if LargeCell.value(in: value) != nil { return "its bytes are not here" }
    if !limitsValues, isOfType(value) { return nil }
    do throws(ValidationError) {
      try attribute.validate(value)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Whether a value crosses the wire in a column of the attribute's type.
  func crosses(_ value: PropertyValue) -> Bool {
    if SealedValue.cell(in: value) != nil { return isSealed }
    if LargeCell.value(in: value) != nil { return false }
    if case .integer = value { return type == .integer16 || type == .integer32 || isOfType(value) }
    return isOfType(value)
  }

  /// Whether a value is of the attribute's type; whether it lies within its bounds is another matter.
  private func isOfType(_ value: PropertyValue) -> Bool {
    if case .data = value, type == .objectID || type == .composite { return true }
    return type.accepts(value)
  }

  private static func zero(of type: AttributeType) -> PropertyValue {
    switch type {
    case .integer16, .integer32, .integer64: .integer(0)
    case .double, .float: .double(0)
    case .decimal: .decimal(0)
    case .boolean: .bool(false)
    case .string: .string("")
    case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
    case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    case .uri: URL(string: "about:blank").map { .uri($0) } ?? .null
    case .binaryData, .transformable, .objectID, .undefined, .composite: .data(Data())
    }
  }
}
