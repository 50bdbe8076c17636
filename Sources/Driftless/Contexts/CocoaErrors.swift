public import Foundation

// As Foundation's errors (`error as NSError`) those of objects, contexts and stores are Core Data's: its domain, its codes
// and its keys, so that code which comes from there goes on asking for them.

/// Core Data's names of codes stand beside each: `NSValidationMultipleErrorsError` is `validationMultipleErrors`.
enum CocoaCode {
  static let fileWriteNoPermission = 513
  static let fileReadCorruptFile = 259
  static let fileWriteOutOfSpace = 640
  static let validationMultipleErrors = ValidationErrors.cocoaCode
  static let managedObjectReferentialIntegrity = 133000
  static let managedObjectExternalRelationship = 133010
  static let managedObjectMerge = 133020
  static let managedObjectConstraintMerge = 133021
  static let persistentStoreIncompatibleSchema = 134020
  static let persistentStoreSave = 134030
  static let coreData = 134060
  static let persistentStoreOpen = 134080
  static let persistentStoreTimeout = 134090
  static let persistentStoreIncompatibleVersionHash = 134100
  static let migration = 134110
  static let migrationConstraintViolation = 134111
  static let migrationMissingSourceModel = 134130
  static let migrationMissingMappingModel = 134140
  static let sqlite = 134180
  static let inferredMappingModel = 134190
  static let persistentHistoryTokenExpired = 134301
  static let stagedMigrationModelNotFound = 134504
}

extension ValidationErrors: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }

  /// 1560, and the errors under `NSDetailedErrors`; of one alone its own code and keys.
  public var errorCode: Int { Self.code(of: errors) }
  public var errorUserInfo: [String: Any] { Self.userInfo(of: errors) }
  public var errorDescription: String? { Self.text(of: errors) }

  static func code(of errors: [any Error]) -> Int {
    errors.count == 1 ? (errors[0] as NSError).code : CocoaCode.validationMultipleErrors
  }

  static func userInfo(of errors: [any Error]) -> [String: Any] {
    if errors.count == 1 { return (errors[0] as NSError).userInfo }
    return [
      NSLocalizedDescriptionKey: text(of: errors),
      "NSDetailedErrors": errors.map { $0 as NSError },
    ]
  }

  static func text(of errors: [any Error]) -> String {
    errors.map(\.localizedDescription).joined(separator: "\n")
  }
}

extension ValidationFailure: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }

  /// 1560, and the errors under `NSDetailedErrors`; of one alone its own code and keys.
  public var errorCode: Int { ValidationErrors.code(of: errors) }
  public var errorUserInfo: [String: Any] {
    ValidationErrors.userInfo(of: errors)
      .merging(["NSAffectedObjectsErrorKey": items.map(\.objectID)]) { own, _ in own }
  }
  public var errorDescription: String? { ValidationErrors.text(of: errors) }

  /// Each with the ID of its object under `NSValidationErrorObject`: an error goes where objects must not.
  private var errors: [any Error] {
    items.map { item in
      guard item.error is ValidationError else { return item.error }
      let error = item.error as NSError
      return NSError(
        domain: error.domain, code: error.code,
        userInfo: error.userInfo.merging(["NSValidationErrorObject": item.objectID]) { own, _ in own
        })
    }
  }
}

extension AccessorFailure: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }

  /// 1560, and the errors under `NSDetailedErrors`.
  public var errorCode: Int { ValidationErrors.code(of: errors) }
  public var errorUserInfo: [String: Any] { ValidationErrors.userInfo(of: errors) }
  public var errorDescription: String? { ValidationErrors.text(of: errors) }
}

extension SaveConflictError: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }
  public var errorCode: Int { CocoaCode.managedObjectMerge }
  public var errorUserInfo: [String: Any] { ["conflictList": conflicts] }
  public var errorDescription: String? { description }
}

extension ConstraintConflictError: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }
  public var errorCode: Int { CocoaCode.managedObjectConstraintMerge }
  public var errorUserInfo: [String: Any] { ["conflictList": conflicts] }
  public var errorDescription: String? { description }
}

extension ObjectError: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }
  public var errorUserInfo: [String: Any] {
    [NSLocalizedDescriptionKey: description, NSLocalizedRecoverySuggestionErrorKey: suggestion]
  }
  public var errorCode: Int {
    switch code {
    case .missingObject, .unreadable: CocoaCode.managedObjectReferentialIntegrity
    case .crossStore: CocoaCode.managedObjectExternalRelationship
    case .entityWithoutStore: CocoaCode.persistentStoreIncompatibleSchema
    case .unstableSave: CocoaCode.persistentStoreSave
    case .storeRefused: CocoaCode.persistentStoreOpen
    default: CocoaCode.coreData
    }
  }
  public var errorDescription: String? { description }
  public var recoverySuggestion: String? { suggestion }
}

extension StoreError: CustomNSError, LocalizedError {
  public static var errorDomain: String { NSCocoaErrorDomain }
  public var errorUserInfo: [String: Any] {
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: description, NSLocalizedRecoverySuggestionErrorKey: suggestion,
    ]
    if isOfMigration {
      userInfo["reason"] = message
      userInfo[NSUnderlyingErrorKey] = NSError(
        domain: NSCocoaErrorDomain, code: CocoaCode.migrationConstraintViolation,
        userInfo: [NSLocalizedDescriptionKey: message])
    }
    return userInfo
  }
  public var errorCode: Int {
    switch code {
    case .cannotOpen, .newerFormat: CocoaCode.persistentStoreOpen
    case .notADatabase, .damaged: CocoaCode.fileReadCorruptFile
    case .notAStore: CocoaCode.persistentStoreIncompatibleSchema
    case .incompatibleModel, .newerModel: CocoaCode.persistentStoreIncompatibleVersionHash
    case .relationshipLeavesConfiguration: CocoaCode.managedObjectExternalRelationship
    case .missingModel: CocoaCode.migrationMissingSourceModel
    case .cannotMigrate: CocoaCode.inferredMappingModel
    case .missingMapping: CocoaCode.migrationMissingMappingModel
    case .modelNotFound: CocoaCode.stagedMigrationModelNotFound
    case .readOnly: CocoaCode.fileWriteNoPermission
    case .diskFull: CocoaCode.fileWriteOutOfSpace
    case .busy, .syncLocked: CocoaCode.persistentStoreTimeout
    case .conflict: CocoaCode.managedObjectMerge
    case .constraint:
      isOfMigration ? CocoaCode.migration : CocoaCode.managedObjectConstraintMerge
    case .historyTokenExpired: CocoaCode.persistentHistoryTokenExpired
    case .readOrWriteFailed, .sqlite: CocoaCode.sqlite
    default: CocoaCode.coreData
    }
  }
  public var errorDescription: String? { description }
  public var recoverySuggestion: String? { suggestion }
}
