public import Foundation

// Core Data's codes, as they are caught, by their longer names.
extension CocoaError {
  /// An object breaks a rule of its own.
  public static var managedObjectValidationError: CocoaError.Code {
    CocoaError.Code(rawValue: 1550)
  }
  /// Several errors of validation, under `NSDetailedErrors`.
  public static var validationMultipleErrorsError: CocoaError.Code {
    CocoaError.Code(rawValue: 1560)
  }
  /// A property that has to have a value has none.
  public static var validationMissingMandatoryPropertyError: CocoaError.Code {
    CocoaError.Code(rawValue: 1570)
  }
  /// A relationship has too few objects.
  public static var validationRelationshipLacksMinimumCountError: CocoaError.Code {
    CocoaError.Code(rawValue: 1580)
  }
  /// A relationship has too many objects.
  public static var validationRelationshipExceedsMaximumCountError: CocoaError.Code {
    CocoaError.Code(rawValue: 1590)
  }
  /// A relationship denies a delete.
  public static var validationRelationshipDeniedDeleteError: CocoaError.Code {
    CocoaError.Code(rawValue: 1600)
  }
  /// A number is too large.
  public static var validationNumberTooLargeError: CocoaError.Code {
    CocoaError.Code(rawValue: 1610)
  }
  /// A number is too small.
  public static var validationNumberTooSmallError: CocoaError.Code {
    CocoaError.Code(rawValue: 1620)
  }
  /// A date is too late.
  public static var validationDateTooLateError: CocoaError.Code { CocoaError.Code(rawValue: 1630) }
  /// A date is too early.
  public static var validationDateTooSoonError: CocoaError.Code { CocoaError.Code(rawValue: 1640) }
  /// A date is none.
  public static var validationInvalidDateError: CocoaError.Code { CocoaError.Code(rawValue: 1650) }
  /// A text is too long.
  public static var validationStringTooLongError: CocoaError.Code {
    CocoaError.Code(rawValue: 1660)
  }
  /// A text is too short.
  public static var validationStringTooShortError: CocoaError.Code {
    CocoaError.Code(rawValue: 1670)
  }
  /// A text does not match its pattern.
  public static var validationStringPatternMatchingError: CocoaError.Code {
    CocoaError.Code(rawValue: 1680)
  }
  /// A context could not be locked.
  public static var managedObjectContextLockingError: CocoaError.Code {
    CocoaError.Code(rawValue: 132000)
  }
  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLockingError: CocoaError.Code {
    CocoaError.Code(rawValue: 132010)
  }
  /// An object refers to one that is gone, or is gone itself.
  public static var managedObjectReferentialIntegrityError: CocoaError.Code {
    CocoaError.Code(rawValue: 133000)
  }
  /// Objects of different stores are related.
  public static var managedObjectExternalRelationshipError: CocoaError.Code {
    CocoaError.Code(rawValue: 133010)
  }
  /// Another save changed the same objects.
  public static var managedObjectMergeError: CocoaError.Code { CocoaError.Code(rawValue: 133020) }
  /// Objects have the values of a uniqueness constraint in common.
  public static var managedObjectConstraintMergeError: CocoaError.Code {
    CocoaError.Code(rawValue: 133021)
  }
  /// There are no stores of the type.
  public static var persistentStoreInvalidTypeError: CocoaError.Code {
    CocoaError.Code(rawValue: 134000)
  }
  /// The store is of another type.
  public static var persistentStoreTypeMismatchError: CocoaError.Code {
    CocoaError.Code(rawValue: 134010)
  }
  /// The file has another schema.
  public static var persistentStoreIncompatibleSchemaError: CocoaError.Code {
    CocoaError.Code(rawValue: 134020)
  }
  /// A store could not be saved.
  public static var persistentStoreSaveError: CocoaError.Code { CocoaError.Code(rawValue: 134030) }
  /// Some stores were saved, others were not.
  public static var persistentStoreIncompleteSaveError: CocoaError.Code {
    CocoaError.Code(rawValue: 134040)
  }
  /// A save met conflicts.
  public static var persistentStoreSaveConflictsError: CocoaError.Code {
    CocoaError.Code(rawValue: 134050)
  }
  /// Any other error.
  public static var coreDataError: CocoaError.Code { CocoaError.Code(rawValue: 134060) }
  /// A store could not do what it was asked.
  public static var persistentStoreOperationError: CocoaError.Code {
    CocoaError.Code(rawValue: 134070)
  }
  /// A store could not be opened.
  public static var persistentStoreOpenError: CocoaError.Code { CocoaError.Code(rawValue: 134080) }
  /// A store did not answer in time.
  public static var persistentStoreTimeoutError: CocoaError.Code {
    CocoaError.Code(rawValue: 134090)
  }
  /// A store does not answer such requests.
  public static var persistentStoreUnsupportedRequestTypeError: CocoaError.Code {
    CocoaError.Code(rawValue: 134091)
  }
  /// The model is not the one of the store.
  public static var persistentStoreIncompatibleVersionHashError: CocoaError.Code {
    CocoaError.Code(rawValue: 134100)
  }
  /// A migration failed.
  public static var migrationError: CocoaError.Code { CocoaError.Code(rawValue: 134110) }
  /// A migration was cancelled.
  public static var migrationCancelledError: CocoaError.Code { CocoaError.Code(rawValue: 134120) }
  /// The model of the store is not to be found.
  public static var migrationMissingSourceModelError: CocoaError.Code {
    CocoaError.Code(rawValue: 134130)
  }
  /// There is no mapping model for the two models.
  public static var migrationMissingMappingModelError: CocoaError.Code {
    CocoaError.Code(rawValue: 134140)
  }
  /// The store that is migrated cannot be read.
  public static var migrationManagerSourceStoreError: CocoaError.Code {
    CocoaError.Code(rawValue: 134150)
  }
  /// The store that a migration makes cannot be written.
  public static var migrationManagerDestinationStoreError: CocoaError.Code {
    CocoaError.Code(rawValue: 134160)
  }
  /// A migration policy failed.
  public static var entityMigrationPolicyError: CocoaError.Code {
    CocoaError.Code(rawValue: 134170)
  }
  /// SQLite failed.
  public static var sqliteError: CocoaError.Code { CocoaError.Code(rawValue: 134180) }
  /// No mapping follows from the two models.
  public static var inferredMappingModelError: CocoaError.Code { CocoaError.Code(rawValue: 134190) }
  /// An external record could not be taken in.
  public static var externalRecordImportError: CocoaError.Code { CocoaError.Code(rawValue: 134200) }
}
