// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names and codes are Core Data's.

/// An object breaks a rule of its own.
public var NSManagedObjectValidationError: Int { 1550 }
/// An object breaks a uniqueness constraint.
public var NSManagedObjectConstraintValidationError: Int { 1551 }
/// Several errors of validation, under `NSDetailedErrors`.
public var NSValidationMultipleErrorsError: Int { 1560 }
/// A property that has to have a value has none.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
/// A relationship has too few objects.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }
/// A relationship has too many objects.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }
/// A relationship denies a delete.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
/// A number is too large.
public var NSValidationNumberTooLargeError: Int { 1610 }
/// A number is too small.
public var NSValidationNumberTooSmallError: Int { 1620 }
/// A date is too late.
public var NSValidationDateTooLateError: Int { 1630 }
/// A date is too early.
public var NSValidationDateTooSoonError: Int { 1640 }
/// A date is none.
public var NSValidationInvalidDateError: Int { 1650 }
/// A text is too long.
public var NSValidationStringTooLongError: Int { 1660 }
/// A text is too short.
public var NSValidationStringTooShortError: Int { 1670 }
/// A text does not match its pattern.
public var NSValidationStringPatternMatchingError: Int { 1680 }
/// A URI is none.
public var NSValidationInvalidURIError: Int { 1690 }
/// A context could not be locked.
public var NSManagedObjectContextLockingError: Int { 132000 }
/// A coordinator could not be locked.
public var NSPersistentStoreCoordinatorLockingError: Int { 132010 }
/// An object refers to one that is gone, or is gone itself.
public var NSManagedObjectReferentialIntegrityError: Int { 133000 }
/// Objects of different stores are related.
public var NSManagedObjectExternalRelationshipError: Int { 133010 }
/// Another save changed the same objects.
public var NSManagedObjectMergeError: Int { 133020 }
/// Objects have the values of a uniqueness constraint in common.
public var NSManagedObjectConstraintMergeError: Int { 133021 }
/// There are no stores of the type.
public var NSPersistentStoreInvalidTypeError: Int { 134000 }
/// The store is of another type.
public var NSPersistentStoreTypeMismatchError: Int { 134010 }
/// The file has another schema.
public var NSPersistentStoreIncompatibleSchemaError: Int { 134020 }
/// A store could not be saved.
public var NSPersistentStoreSaveError: Int { 134030 }
/// Some stores were saved, others were not.
public var NSPersistentStoreIncompleteSaveError: Int { 134040 }
/// A save met conflicts.
public var NSPersistentStoreSaveConflictsError: Int { 134050 }
/// Any other error.
public var NSCoreDataError: Int { 134060 }
/// A store could not do what it was asked.
public var NSPersistentStoreOperationError: Int { 134070 }
/// A store could not be opened.
public var NSPersistentStoreOpenError: Int { 134080 }
/// A store did not answer in time.
public var NSPersistentStoreTimeoutError: Int { 134090 }
/// A store does not answer such requests.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134091 }
/// The model is not the one of the store.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134100 }
/// A migration failed.
public var NSMigrationError: Int { 134110 }
/// The result of a migration breaks a uniqueness constraint.
public var NSMigrationConstraintViolationError: Int { 134111 }
/// A migration was cancelled.
public var NSMigrationCancelledError: Int { 134120 }
/// The model of the store is not to be found.
public var NSMigrationMissingSourceModelError: Int { 134130 }
/// There is no mapping model for the two models.
public var NSMigrationMissingMappingModelError: Int { 134140 }
/// The store that is migrated cannot be read.
public var NSMigrationManagerSourceStoreError: Int { 134150 }
/// The store that a migration makes cannot be written.
public var NSMigrationManagerDestinationStoreError: Int { 134160 }
/// A migration policy failed.
public var NSEntityMigrationPolicyError: Int { 134170 }
/// SQLite failed.
public var NSSQLiteError: Int { 134180 }
/// No mapping follows from the two models.
public var NSInferredMappingModelError: Int { 134190 }
/// An external record could not be taken in.
public var NSExternalRecordImportError: Int { 134200 }
/// The history no longer has what comes after a token.
public var NSPersistentHistoryTokenExpiredError: Int { 134301 }
/// The model that a reference names is not to be found.
public var NSManagedObjectModelReferenceNotFoundError: Int { 134504 }
/// The store was written by another version of the framework.
public var NSStagedMigrationFrameworkVersionMismatchError: Int { 134505 }
/// The store is past the model of the last stage.
public var NSStagedMigrationBackwardMigrationError: Int { 134506 }
