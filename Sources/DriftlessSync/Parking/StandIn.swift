import Driftless
import Foundation

/// What an object shows of a value that its model cannot hold: the model's default, else the type's
/// zero. A function of the zone's state alone.
struct StandIn {
  private let attribute: AttributeDescription
  let value: PropertyValue

  /// Nil when the attribute holds every value of its type.
  init?(_ slot: PropertySlot) {
    guard case .attribute(let attribute, let type) = slot.kind, attribute.limitsValues else {
      return nil
    }
    self.attribute = attribute
    let ownDefault = slot.defaultValue
    value = ownDefault.isNull && !slot.isOptional ? Self.zero(of: type) : ownDefault
  }

  /// Why the model cannot hold a value; nil when it can.
  func refusal(of value: PropertyValue) -> String? {
    do throws(ValidationError) {
      try attribute.validate(value)
      return nil
    } catch {
      return "\(error)"
    }
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
