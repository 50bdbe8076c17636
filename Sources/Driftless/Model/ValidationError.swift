public import Foundation

/// A value that a model does not allow: which property of which object, and why. The codes are Core
/// Data's.
///
/// `localizedDescription` is for the people who use an application: it names things as the model's
/// localization dictionary does. `description` is for its developers.
public struct ValidationError: Error, CustomStringConvertible, Sendable {
  /// Core Data's error code, such as 1570 for a missing mandatory value.
  public let code: Int
  /// The entity that declares the property.
  public let entityName: String
  /// The property whose value is not allowed.
  public let propertyName: String
  /// What is wrong, for developers.
  public let message: String
  /// The validation predicate that the value does not satisfy, or that a bound which it breaks stands for; nil for another
  /// rule.
  public let predicate: FetchPredicate?
  /// The value that is not allowed; nil where the rule is about several objects.
  public internal(set) var value: PropertyValue?
  /// The message as people read it.
  private let localizedMessage: String?

  /// A defect that an override found.
  ///
  /// - Parameters:
  ///   - code: Core Data's, or the application's own.
  ///   - entityName: The entity of the object.
  ///   - propertyName: The property whose value is not allowed.
  ///   - message: What is wrong, for developers.
  public init(code: Int, entityName: String, propertyName: String, message: String) {
    self.code = code
    self.entityName = entityName
    self.propertyName = propertyName
    self.message = message
    predicate = nil
    localizedMessage = nil
  }

  /// A rule of a property, in the words of its model's localization dictionary.
  package init(
    code: Int, property: PropertyDescription, message: String, predicate: FetchPredicate? = nil
  ) {
    self.init(code: code, property: property, message: message, text: nil, predicate: predicate)
  }

  /// A validation predicate that does not hold for a value.
  init(
    _ property: PropertyDescription, _ warnings: [ValidationWarning], at index: Int,
    _ predicate: FetchPredicate
  ) {
    let message = "the value does not satisfy \(predicate)"
    switch index < warnings.count ? warnings[index] : .code(Self.managedObjectValidation) {
    case .code(let code):
      self.init(code: code, property: property, message: message, text: nil, predicate: predicate)
    case .message(let text):
      self.init(
        code: Self.managedObjectValidation, property: property, message: text, text: text,
        predicate: predicate)
    }
  }

  private init(
    code: Int, property: PropertyDescription, message: String, text: String?,
    predicate: FetchPredicate?
  ) {
    let words = LocalizedNames(property.owningModel?.localizationDictionary ?? [:])
    self.code = code
    self.message = message
    self.predicate = predicate
    let attribute = property as? AttributeDescription
    entityName = attribute?.declaringEntity?.name ?? property.entity?.name ?? ""
    propertyName = attribute?.path ?? property.name
    localizedMessage =
      text.map(words.errorString)
      ?? words.sentence(
        of: entityName, propertyName, Self.nonLocalizedString(of: code))
  }

  public var description: String { "\(entityName).\(propertyName): \(message) [\(code)]" }

  /// Of a kind that has no code of its own.
  public static let managedObjectValidation = 1550
  /// A required value is missing.
  public static let missingMandatoryProperty = 1570
  /// A relationship holds too few objects.
  public static let relationshipLacksMinimumCount = 1580
  /// A relationship holds too many objects.
  public static let relationshipExceedsMaximumCount = 1590
  /// A relationship denies the delete while it holds objects.
  public static let relationshipDeniedDelete = 1600
  /// A number is above its maximum.
  public static let numberTooLarge = 1610
  /// A number is below its minimum.
  public static let numberTooSmall = 1620
  /// A date is after its maximum.
  public static let dateTooLate = 1630
  /// A date is before its minimum.
  public static let dateTooSoon = 1640
  /// A text has too many characters.
  public static let stringTooLong = 1660
  /// A text has too few characters.
  public static let stringTooShort = 1670
  /// A text does not match its regular expression.
  public static let stringPatternMatching = 1680
  /// A value is not of the attribute's type. Core Data has no code of its own for it.
  public static let invalidType = 1550

  /// What a code says of a property, in English: the text after `ErrorString/` under which a
  /// localization dictionary has it in another language.
  public static func nonLocalizedString(of code: Int) -> String {
    switch code {
    case missingMandatoryProperty: "is a required value."
    case relationshipLacksMinimumCount: "holds too few objects."
    case relationshipExceedsMaximumCount: "holds too many objects."
    case relationshipDeniedDelete: "still holds objects."
    case numberTooLarge: "is too large."
    case numberTooSmall: "is too small."
    case dateTooLate: "is too late."
    case dateTooSoon: "is too early."
    case stringTooLong: "is too long."
    case stringTooShort: "is too short."
    default: "is not valid."
    }
  }
}

/// As Foundation's error it is Core Data's: its domain, its code, and under its keys the property,
/// the value and the predicate.
extension ValidationError: CustomNSError {
  public static var errorDomain: String { NSCocoaErrorDomain }
  public var errorCode: Int { code }
  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [
      NSLocalizedDescriptionKey: errorDescription ?? message, "NSValidationErrorKey": propertyName,
    ]
    info["NSValidationErrorValue"] = value?.plain
    info["NSValidationErrorPredicate"] = predicate
    return info
  }
}

extension ValidationError: LocalizedError {
  public var errorDescription: String? {
    localizedMessage
      ?? "\(propertyName) \(Self.nonLocalizedString(of: code))"
  }
}
