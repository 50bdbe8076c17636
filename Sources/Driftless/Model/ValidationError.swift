/// A value that a model does not allow: which property of which object, and why. The codes are Core Data's.
public struct ValidationError: Error, CustomStringConvertible, Sendable {
  /// Core Data's error code, such as 1570 for a missing mandatory value.
  public let code: Int
  public let entityName: String
  public let propertyName: String
  public let message: String

  public init(code: Int, entityName: String, propertyName: String, message: String) {
    self.code = code
    self.entityName = entityName
    self.propertyName = propertyName
    self.message = message
  }

  public var description: String { "\(entityName).\(propertyName): \(message) [\(code)]" }

  public static let missingMandatoryProperty = 1570
  public static let relationshipLacksMinimumCount = 1580
  public static let relationshipExceedsMaximumCount = 1590
  public static let relationshipDeniedDelete = 1600
  public static let numberTooLarge = 1610
  public static let numberTooSmall = 1620
  public static let dateTooLate = 1630
  public static let dateTooSoon = 1640
  public static let stringTooLong = 1660
  public static let stringTooShort = 1670
  public static let stringPatternMatching = 1680
  public static let invalidType = 1550
}
