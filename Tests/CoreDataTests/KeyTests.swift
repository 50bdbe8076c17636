import CoreData
import Testing

/// Keys and options, as texts that other programs and files know.
struct KeyTests {
  @Test("Each key is the text that Core Data has for it")
  func texts() {
    let keys: [(String, String)] = [
      (NSAddedPersistentStoresKey, "added"),
      (NSAffectedObjectsErrorKey, "NSAffectedObjectsErrorKey"),
      (NSAffectedStoresErrorKey, "NSAffectedStoresErrorKey"),
      (
        NSBinaryStoreInsecureDecodingCompatibilityOption,
        "NSBinaryStoreInsecureDecodingCompatibilityOption"
      ),
      (NSBinaryStoreSecureDecodingClasses, "NSBinaryStoreSecureDecodingClasses"),
      (NSBinaryStoreType, "Binary"),
      (NSDeletedObjectIDsKey, "deleted_objectIDs"),
      (NSDeletedObjectsKey, "deleted"),
      (NSDetailedErrorsKey, "NSDetailedErrors"),
      (NSIgnorePersistentStoreVersioningOption, "NSIgnorePersistentStoreVersioningOption"),
      (NSInMemoryStoreType, "InMemory"),
      (NSInferMappingModelAutomaticallyOption, "NSInferMappingModelAutomaticallyOption"),
      (NSInsertedObjectIDsKey, "inserted_objectIDs"),
      (NSInsertedObjectsKey, "inserted"),
      (NSInvalidatedAllObjectsKey, "invalidatedAll"),
      (NSInvalidatedObjectIDsKey, "invalidated_objectIDs"),
      (NSInvalidatedObjectsKey, "invalidated"),
      (NSManagedObjectContextQueryGenerationKey, "NSManagedObjectContextQueryGenerationKey"),
      (
        NSMigratePersistentStoresAutomaticallyOption,
        "NSMigratePersistentStoresAutomaticallyOption"
      ),
      (NSMigrationDestinationObjectKey, "destination"),
      (NSMigrationEntityMappingKey, "entityMapping"),
      (NSMigrationEntityPolicyKey, "entityPolicy"),
      (NSMigrationManagerKey, "manager"),
      (NSMigrationPropertyMappingKey, "propertyMapping"),
      (NSMigrationSourceObjectKey, "source"),
      (NSPersistentHistoryTokenKey, "historyToken"),
      (NSPersistentHistoryTrackingKey, "NSPersistentHistoryTrackingKey"),
      (NSPersistentStoreConnectionPoolMaxSizeKey, "NSPersistentStoreConnectionPoolMaxSize"),
      (
        NSPersistentStoreDeferredLightweightMigrationOptionKey,
        "NSPersistentStoreDeferredLightweightMigrationOptionKey"
      ),
      (NSPersistentStoreFileProtectionKey, "NSPersistentStoreFileProtectionKey"),
      (NSPersistentStoreForceDestroyOption, "NSPersistentStoreForceDestroyOption"),
      (NSPersistentStoreModelVersionChecksumKey, "NSStoreModelVersionChecksumKey"),
      (
        NSPersistentStoreRemoteChangeNotificationPostOptionKey,
        "NSPersistentStoreRemoteChangeNotificationOptionKey"
      ),
      (NSPersistentStoreSaveConflictsErrorKey, "conflictList"),
      (
        NSPersistentStoreStagedMigrationManagerOptionKey,
        "NSPersistentStoreStagedMigrationManagerOptionKey"
      ),
      (NSPersistentStoreTimeoutOption, "NSPersistentStoreTimeoutOption"),
      (NSPersistentStoreURLKey, "storeURL"),
      (NSReadOnlyPersistentStoreOption, "NSReadOnlyPersistentStoreOption"),
      (NSRefreshedObjectIDsKey, "refreshed_objectIDs"),
      (NSRefreshedObjectsKey, "refreshed"),
      (NSRemovedPersistentStoresKey, "removed"),
      (NSSQLiteAnalyzeOption, "NSSQLiteAnalyzeOption"),
      (NSSQLiteErrorDomain, "NSSQLiteErrorDomain"),
      (NSSQLiteManualVacuumOption, "NSSQLiteManualVacuumOption"),
      (NSSQLitePragmasOption, "NSSQLitePragmasOption"),
      (NSSQLiteStoreType, "SQLite"),
      (NSStoreModelVersionHashesKey, "NSStoreModelVersionHashes"),
      (NSStoreModelVersionIdentifiersKey, "NSStoreModelVersionIdentifiers"),
      (NSStoreTypeKey, "NSStoreType"),
      (NSStoreUUIDKey, "NSStoreUUID"),
      (NSUUIDChangedPersistentStoresKey, "changed"),
      (NSUpdatedObjectIDsKey, "updated_objectIDs"),
      (NSUpdatedObjectsKey, "updated"),
      (NSValidationKeyErrorKey, "NSValidationErrorKey"),
      (NSValidationObjectErrorKey, "NSValidationErrorObject"),
      (NSValidationPredicateErrorKey, "NSValidationErrorPredicate"),
      (NSValidationValueErrorKey, "NSValidationErrorValue"),
    ]
    for (key, text) in keys { #expect(key == text) }
  }
}
