import CoreData
import Testing

// The codes are those of Core Data's public header.
/// Codes of errors, under each of the names that they have.
struct ErrorCodeTests {
  @Test("Each code of Core Data's has its number, under the names of Objective-C")
  func numbers() {
    let codes: [(Int, Int)] = [
      (NSManagedObjectValidationError, 1550),
      (NSManagedObjectConstraintValidationError, 1551),
      (NSValidationMultipleErrorsError, 1560),
      (NSValidationMissingMandatoryPropertyError, 1570),
      (NSValidationRelationshipLacksMinimumCountError, 1580),
      (NSValidationRelationshipExceedsMaximumCountError, 1590),
      (NSValidationRelationshipDeniedDeleteError, 1600),
      (NSValidationNumberTooLargeError, 1610),
      (NSValidationNumberTooSmallError, 1620),
      (NSValidationDateTooLateError, 1630),
      (NSValidationDateTooSoonError, 1640),
      (NSValidationInvalidDateError, 1650),
      (NSValidationStringTooLongError, 1660),
      (NSValidationStringTooShortError, 1670),
      (NSValidationStringPatternMatchingError, 1680),
      (NSValidationInvalidURIError, 1690),
      (NSManagedObjectContextLockingError, 132000),
      (NSPersistentStoreCoordinatorLockingError, 132010),
      (NSManagedObjectReferentialIntegrityError, 133000),
      (NSManagedObjectExternalRelationshipError, 133010),
      (NSManagedObjectMergeError, 133020),
      (NSManagedObjectConstraintMergeError, 133021),
      (NSPersistentStoreInvalidTypeError, 134000),
      (NSPersistentStoreTypeMismatchError, 134010),
      (NSPersistentStoreIncompatibleSchemaError, 134020),
      (NSPersistentStoreSaveError, 134030),
      (NSPersistentStoreIncompleteSaveError, 134040),
      (NSPersistentStoreSaveConflictsError, 134050),
      (NSCoreDataError, 134060),
      (NSPersistentStoreOperationError, 134070),
      (NSPersistentStoreOpenError, 134080),
      (NSPersistentStoreTimeoutError, 134090),
      (NSPersistentStoreUnsupportedRequestTypeError, 134091),
      (NSPersistentStoreIncompatibleVersionHashError, 134100),
      (NSMigrationError, 134110),
      (NSMigrationConstraintViolationError, 134111),
      (NSMigrationCancelledError, 134120),
      (NSMigrationMissingSourceModelError, 134130),
      (NSMigrationMissingMappingModelError, 134140),
      (NSMigrationManagerSourceStoreError, 134150),
      (NSMigrationManagerDestinationStoreError, 134160),
      (NSEntityMigrationPolicyError, 134170),
      (NSSQLiteError, 134180),
      (NSInferredMappingModelError, 134190),
      (NSExternalRecordImportError, 134200),
      (NSPersistentHistoryTokenExpiredError, 134301),
      (NSManagedObjectModelReferenceNotFoundError, 134504),
      (NSStagedMigrationFrameworkVersionMismatchError, 134505),
      (NSStagedMigrationBackwardMigrationError, 134506),
    ]
    for (code, number) in codes { #expect(code == number) }
  }

  @Test("Codes of Cocoa errors")
  func short() {
    let codes: [(CocoaError.Code, Int)] = [
      (CocoaError.Code.managedObjectValidation, 1550),
      (CocoaError.Code.validationMultipleErrors, 1560),
      (CocoaError.Code.validationMissingMandatoryProperty, 1570),
      (CocoaError.Code.validationRelationshipLacksMinimumCount, 1580),
      (CocoaError.Code.validationRelationshipExceedsMaximumCount, 1590),
      (CocoaError.Code.validationRelationshipDeniedDelete, 1600),
      (CocoaError.Code.validationNumberTooLarge, 1610),
      (CocoaError.Code.validationNumberTooSmall, 1620),
      (CocoaError.Code.validationDateTooLate, 1630),
      (CocoaError.Code.validationDateTooSoon, 1640),
      (CocoaError.Code.validationInvalidDate, 1650),
      (CocoaError.Code.validationStringTooLong, 1660),
      (CocoaError.Code.validationStringTooShort, 1670),
      (CocoaError.Code.validationStringPatternMatching, 1680),
      (CocoaError.Code.managedObjectContextLocking, 132000),
      (CocoaError.Code.persistentStoreCoordinatorLocking, 132010),
      (CocoaError.Code.managedObjectReferentialIntegrity, 133000),
      (CocoaError.Code.managedObjectExternalRelationship, 133010),
      (CocoaError.Code.managedObjectMerge, 133020),
      (CocoaError.Code.managedObjectConstraintMerge, 133021),
      (CocoaError.Code.persistentStoreInvalidType, 134000),
      (CocoaError.Code.persistentStoreTypeMismatch, 134010),
      (CocoaError.Code.persistentStoreIncompatibleSchema, 134020),
      (CocoaError.Code.persistentStoreSave, 134030),
      (CocoaError.Code.persistentStoreIncompleteSave, 134040),
      (CocoaError.Code.persistentStoreSaveConflicts, 134050),
      (CocoaError.Code.coreData, 134060),
      (CocoaError.Code.persistentStoreOperation, 134070),
      (CocoaError.Code.persistentStoreOpen, 134080),
      (CocoaError.Code.persistentStoreTimeout, 134090),
      (CocoaError.Code.persistentStoreUnsupportedRequestType, 134091),
      (CocoaError.Code.persistentStoreIncompatibleVersionHash, 134100),
      (CocoaError.Code.migration, 134110),
      (CocoaError.Code.migrationCancelled, 134120),
      (CocoaError.Code.migrationMissingSourceModel, 134130),
      (CocoaError.Code.migrationMissingMappingModel, 134140),
      (CocoaError.Code.migrationManagerSourceStore, 134150),
      (CocoaError.Code.migrationManagerDestinationStore, 134160),
      (CocoaError.Code.entityMigrationPolicy, 134170),
      (CocoaError.Code.sqlite, 134180),
      (CocoaError.Code.inferredMappingModel, 134190),
      (CocoaError.Code.externalRecordImport, 134200),
    ]
    for (code, number) in codes { #expect(code.rawValue == number) }
  }

  @Test("Codes of Cocoa errors by their longer names")
  func long() {
    let codes: [(CocoaError.Code, Int)] = [
      (CocoaError.Code.managedObjectValidationError, 1550),
      (CocoaError.Code.validationMultipleErrorsError, 1560),
      (CocoaError.Code.validationMissingMandatoryPropertyError, 1570),
      (CocoaError.Code.validationRelationshipLacksMinimumCountError, 1580),
      (CocoaError.Code.validationRelationshipExceedsMaximumCountError, 1590),
      (CocoaError.Code.validationRelationshipDeniedDeleteError, 1600),
      (CocoaError.Code.validationNumberTooLargeError, 1610),
      (CocoaError.Code.validationNumberTooSmallError, 1620),
      (CocoaError.Code.validationDateTooLateError, 1630),
      (CocoaError.Code.validationDateTooSoonError, 1640),
      (CocoaError.Code.validationInvalidDateError, 1650),
      (CocoaError.Code.validationStringTooLongError, 1660),
      (CocoaError.Code.validationStringTooShortError, 1670),
      (CocoaError.Code.validationStringPatternMatchingError, 1680),
      (CocoaError.Code.managedObjectContextLockingError, 132000),
      (CocoaError.Code.persistentStoreCoordinatorLockingError, 132010),
      (CocoaError.Code.managedObjectReferentialIntegrityError, 133000),
      (CocoaError.Code.managedObjectExternalRelationshipError, 133010),
      (CocoaError.Code.managedObjectMergeError, 133020),
      (CocoaError.Code.managedObjectConstraintMergeError, 133021),
      (CocoaError.Code.persistentStoreInvalidTypeError, 134000),
      (CocoaError.Code.persistentStoreTypeMismatchError, 134010),
      (CocoaError.Code.persistentStoreIncompatibleSchemaError, 134020),
      (CocoaError.Code.persistentStoreSaveError, 134030),
      (CocoaError.Code.persistentStoreIncompleteSaveError, 134040),
      (CocoaError.Code.persistentStoreSaveConflictsError, 134050),
      (CocoaError.Code.coreDataError, 134060),
      (CocoaError.Code.persistentStoreOperationError, 134070),
      (CocoaError.Code.persistentStoreOpenError, 134080),
      (CocoaError.Code.persistentStoreTimeoutError, 134090),
      (CocoaError.Code.persistentStoreUnsupportedRequestTypeError, 134091),
      (CocoaError.Code.persistentStoreIncompatibleVersionHashError, 134100),
      (CocoaError.Code.migrationError, 134110),
      (CocoaError.Code.migrationCancelledError, 134120),
      (CocoaError.Code.migrationMissingSourceModelError, 134130),
      (CocoaError.Code.migrationMissingMappingModelError, 134140),
      (CocoaError.Code.migrationManagerSourceStoreError, 134150),
      (CocoaError.Code.migrationManagerDestinationStoreError, 134160),
      (CocoaError.Code.entityMigrationPolicyError, 134170),
      (CocoaError.Code.sqliteError, 134180),
      (CocoaError.Code.inferredMappingModelError, 134190),
      (CocoaError.Code.externalRecordImportError, 134200),
    ]
    for (code, number) in codes { #expect(code.rawValue == number) }
  }

  @Test("Codes as they are caught")
  func caught() {
    let codes: [(CocoaError.Code, Int)] = [
      (CocoaError.managedObjectValidation, 1550),
      (CocoaError.validationMultipleErrors, 1560),
      (CocoaError.validationMissingMandatoryProperty, 1570),
      (CocoaError.validationRelationshipLacksMinimumCount, 1580),
      (CocoaError.validationRelationshipExceedsMaximumCount, 1590),
      (CocoaError.validationRelationshipDeniedDelete, 1600),
      (CocoaError.validationNumberTooLarge, 1610),
      (CocoaError.validationNumberTooSmall, 1620),
      (CocoaError.validationDateTooLate, 1630),
      (CocoaError.validationDateTooSoon, 1640),
      (CocoaError.validationInvalidDate, 1650),
      (CocoaError.validationStringTooLong, 1660),
      (CocoaError.validationStringTooShort, 1670),
      (CocoaError.validationStringPatternMatching, 1680),
      (CocoaError.managedObjectContextLocking, 132000),
      (CocoaError.persistentStoreCoordinatorLocking, 132010),
      (CocoaError.managedObjectReferentialIntegrity, 133000),
      (CocoaError.managedObjectExternalRelationship, 133010),
      (CocoaError.managedObjectMerge, 133020),
      (CocoaError.managedObjectConstraintMerge, 133021),
      (CocoaError.persistentStoreInvalidType, 134000),
      (CocoaError.persistentStoreTypeMismatch, 134010),
      (CocoaError.persistentStoreIncompatibleSchema, 134020),
      (CocoaError.persistentStoreSave, 134030),
      (CocoaError.persistentStoreIncompleteSave, 134040),
      (CocoaError.persistentStoreSaveConflicts, 134050),
      (CocoaError.coreData, 134060),
      (CocoaError.persistentStoreOperation, 134070),
      (CocoaError.persistentStoreOpen, 134080),
      (CocoaError.persistentStoreTimeout, 134090),
      (CocoaError.persistentStoreUnsupportedRequestType, 134091),
      (CocoaError.persistentStoreIncompatibleVersionHash, 134100),
      (CocoaError.migration, 134110),
      (CocoaError.migrationCancelled, 134120),
      (CocoaError.migrationMissingSourceModel, 134130),
      (CocoaError.migrationMissingMappingModel, 134140),
      (CocoaError.migrationManagerSourceStore, 134150),
      (CocoaError.migrationManagerDestinationStore, 134160),
      (CocoaError.entityMigrationPolicy, 134170),
      (CocoaError.sqlite, 134180),
      (CocoaError.inferredMappingModel, 134190),
      (CocoaError.externalRecordImport, 134200),
    ]
    for (code, number) in codes { #expect(code.rawValue == number) }
  }

  @Test("Codes as they are caught, by their longer names")
  func caughtLong() {
    let codes: [(CocoaError.Code, Int)] = [
      (CocoaError.managedObjectValidationError, 1550),
      (CocoaError.validationMultipleErrorsError, 1560),
      (CocoaError.validationMissingMandatoryPropertyError, 1570),
      (CocoaError.validationRelationshipLacksMinimumCountError, 1580),
      (CocoaError.validationRelationshipExceedsMaximumCountError, 1590),
      (CocoaError.validationRelationshipDeniedDeleteError, 1600),
      (CocoaError.validationNumberTooLargeError, 1610),
      (CocoaError.validationNumberTooSmallError, 1620),
      (CocoaError.validationDateTooLateError, 1630),
      (CocoaError.validationDateTooSoonError, 1640),
      (CocoaError.validationInvalidDateError, 1650),
      (CocoaError.validationStringTooLongError, 1660),
      (CocoaError.validationStringTooShortError, 1670),
      (CocoaError.validationStringPatternMatchingError, 1680),
      (CocoaError.managedObjectContextLockingError, 132000),
      (CocoaError.persistentStoreCoordinatorLockingError, 132010),
      (CocoaError.managedObjectReferentialIntegrityError, 133000),
      (CocoaError.managedObjectExternalRelationshipError, 133010),
      (CocoaError.managedObjectMergeError, 133020),
      (CocoaError.managedObjectConstraintMergeError, 133021),
      (CocoaError.persistentStoreInvalidTypeError, 134000),
      (CocoaError.persistentStoreTypeMismatchError, 134010),
      (CocoaError.persistentStoreIncompatibleSchemaError, 134020),
      (CocoaError.persistentStoreSaveError, 134030),
      (CocoaError.persistentStoreIncompleteSaveError, 134040),
      (CocoaError.persistentStoreSaveConflictsError, 134050),
      (CocoaError.coreDataError, 134060),
      (CocoaError.persistentStoreOperationError, 134070),
      (CocoaError.persistentStoreOpenError, 134080),
      (CocoaError.persistentStoreTimeoutError, 134090),
      (CocoaError.persistentStoreUnsupportedRequestTypeError, 134091),
      (CocoaError.persistentStoreIncompatibleVersionHashError, 134100),
      (CocoaError.migrationError, 134110),
      (CocoaError.migrationCancelledError, 134120),
      (CocoaError.migrationMissingSourceModelError, 134130),
      (CocoaError.migrationMissingMappingModelError, 134140),
      (CocoaError.migrationManagerSourceStoreError, 134150),
      (CocoaError.migrationManagerDestinationStoreError, 134160),
      (CocoaError.entityMigrationPolicyError, 134170),
      (CocoaError.sqliteError, 134180),
      (CocoaError.inferredMappingModelError, 134190),
      (CocoaError.externalRecordImportError, 134200),
    ]
    for (code, number) in codes { #expect(code.rawValue == number) }
  }

  @Test("What an error is about is read by name")
  func values() {
    let predicate = NSPredicate(format: "price > 1")
    let object = NSObject()
    let error = CocoaError(
      .validationMultipleErrors,
      userInfo: [
        NSValidationPredicateErrorKey: predicate, NSAffectedObjectsErrorKey: [object],
        NSValidationKeyErrorKey: "price", NSValidationValueErrorKey: 0,
      ])
    #expect(error.validationPredicate === predicate)
    #expect(error.affectedObjects?.first === object)
    #expect(error.validationKey == "price" && error.validationValue as? Int == 0)
  }

  @Test("Constants of policies and kinds of expressions")
  func constants() {
    let policies: [(Any, NSMergePolicyType)] = [
      (NSErrorMergePolicy, .errorMergePolicyType),
      (NSMergeByPropertyStoreTrumpMergePolicy, .mergeByPropertyStoreTrumpMergePolicyType),
      (NSMergeByPropertyObjectTrumpMergePolicy, .mergeByPropertyObjectTrumpMergePolicyType),
      (NSOverwriteMergePolicy, .overwriteMergePolicyType),
      (NSRollbackMergePolicy, .rollbackMergePolicyType),
    ]
    for (policy, type) in policies { #expect((policy as? NSMergePolicy)?.mergeType == type) }
    #expect(NSFetchRequestExpressionType == NSExpression.ExpressionType.fetchRequest)
  }
}
