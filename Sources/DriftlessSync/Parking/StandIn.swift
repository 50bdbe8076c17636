import Driftless
import Foundation

/// What an object shows of a value that its model cannot hold, and of an attribute that no entry names, since it came to the
/// model later: the model's default, else the type's zero or null. Of null, which an entry says, it shows the default, else null:
/// nobody said a zero. A function of the zone's state and the model alone.
struct StandIn {
  private let attribute: AttributeDescription
  private let type: AttributeType
  private let isSealed: Bool
  /// Whether the model has a default for it. Without one, null is shown as null, also where a value is required (`LackedValues`).
  let hasDefault: Bool
  private(set) var value: PropertyValue
  /// What is shown of a value that the model cannot hold: null of a unique key, since two objects that show one value of it
  /// would not fit into one store, and which of them shows it is no function of the zone's state.
  private(set) var shown: PropertyValue
  /// Whether the object says of a large value that is not here that the zone has it (`ValueInZone`): of bytes that nobody adds to, and
  /// of which two objects may have the same.
  private(set) var showsNames: Bool
  /// Whether there are values of its type, or null, that the attribute does not hold.
  let limitsValues: Bool

  /// Nil for a relationship.
  init?(_ slot: PropertySlot) {
    guard case .attribute(let attribute, let type) = slot.kind else { return nil }
    self.attribute = attribute
    self.type = type
    isSealed = attribute.isEncrypted
    limitsValues = attribute.limitsValues
    showsNames = (type == .binaryData || type == .transformable) && !slot.policy.addsToFormer
    let ownDefault = slot.defaultValue
    value = ownDefault.isNull && !slot.isOptional ? Self.zero(of: type) : ownDefault
    shown = value
    hasDefault = !ownDefault.isNull
  }

  /// As it is of an attribute that is part of a unique key.
  var ofKey: StandIn {
    var own = self
    own.shown = .null
    own.showsNames = false
    if !hasDefault { own.value = .null }
    return own
  }

  /// What the object shows of a value that the model cannot hold, or that is not here.
  func shown(for value: PropertyValue) -> PropertyValue {
    if value.isNull, !hasDefault { return .null }
    return showsNames && value.isInZone ? value : shown
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

  /// Whether a large value whose bytes are not here can be told by its name in a column of the attribute's type.
  func names(_ value: PropertyValue) -> Bool {
    guard LargeCell.value(in: value) != nil, LargeCell.isSealed(value) == isSealed else {
      return false
    }
    return isSealed || type.isOfBytes
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
