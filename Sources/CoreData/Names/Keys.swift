// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names and texts are Core Data's.

/// In a notification of a coordinator: the stores that came.
public let NSAddedPersistentStoresKey = "added"
/// In a notification of a coordinator: the stores that went.
public let NSRemovedPersistentStoresKey = "removed"
/// In a notification of a coordinator: a store that was moved or saved elsewhere and the one in its place, which has the same identifier.
public let NSUUIDChangedPersistentStoresKey = "changed"
/// In a notification of a context: the new objects.
public let NSInsertedObjectsKey = "inserted"
/// In a notification of a context: the changed objects.
public let NSUpdatedObjectsKey = "updated"
/// In a notification of a context: the deleted objects.
public let NSDeletedObjectsKey = "deleted"
/// In a notification of a context: objects that were read anew without being changed here.
public let NSRefreshedObjectsKey = "refreshed"
/// In a notification of a context: objects that went without being deleted.
public let NSInvalidatedObjectsKey = "invalidated"
/// In a notification of a context: the IDs of all objects, after a reset.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// In a notification of a context: the IDs of the new objects.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// In a notification of a context: the IDs of the changed objects.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// In a notification of a context: the IDs of the deleted objects.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// In a notification of a context: the IDs of objects that were read anew.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// In a notification of a context: the IDs of objects that went without being deleted.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
/// In an error: the single ones that it stands for.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// In an error of validation: the object.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// In an error of validation: the name of the property.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// In an error of validation: the predicate that the value breaks.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// In an error of validation: the value.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// In an error: the stores that it is about.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// In an error: the objects that it is about.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// In an error of a save: the conflicts.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of codes of SQLite.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
/// In metadata: the type of the store.
public let NSStoreTypeKey = "NSStoreType"
/// In metadata, and in a notification of a remote change: the identifier of the store.
public let NSStoreUUIDKey = "NSStoreUUID"
/// In metadata: a hash for each entity of the model.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// In metadata: the version identifiers of the model.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"
/// In metadata: a digest of all hashes.
public let NSPersistentStoreModelVersionChecksumKey = "NSStoreModelVersionChecksumKey"
/// A store in a file of SQLite.
public let NSSQLiteStoreType = "SQLite"
/// A store in a file that is read and written as a whole.
public let NSBinaryStoreType = "Binary"
/// A store in memory.
public let NSInMemoryStoreType = "InMemory"
/// The store is opened for reading only: a number that says yes or no.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// A store of another model is migrated: a number that says yes or no.
public let NSMigratePersistentStoresAutomaticallyOption =
  "NSMigratePersistentStoresAutomaticallyOption"
/// A migration may follow from the two models alone: a number that says yes or no.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// A model that differs is accepted where tables and columns are there: a number that says yes or no.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Of Driftless: whether a new store keeps to-many relationships without inverse as a table of pairs, as a store has to that
/// syncs, in place of the columns that Core Data makes: a number that says yes or no.
public let DriftlessToManyPairsOption = "DriftlessToManyPairsOption"
/// How long a store waits for other processes: a number of seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// A dictionary of pragmas: `synchronous` is the one that a store leaves to its user.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Taken and without effect: SQLite keeps its own statistics.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Taken and without effect: a binary store's file holds no archived classes.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Taken and without effect: a binary store's file holds no archived classes.
public let NSBinaryStoreInsecureDecodingCompatibilityOption =
  "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// The store's file is written anew, without what was freed, as it is opened: a number that says yes or no.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// The history is kept: it always is, so that no is refused.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// In a notification of a remote change: the place in the history after it. As an option of a store it is passed over.
public let NSPersistentHistoryTokenKey = "historyToken"
/// In a notification of a remote change: the file of the store.
public let NSPersistentStoreURLKey = "storeURL"
/// Changes are told by `NSPersistentStoreRemoteChange`, those of other processes too: a number that says yes or no.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// Stages of a migration: an `NSStagedMigrationManager`.
public let NSPersistentStoreStagedMigrationManagerOptionKey =
  "NSPersistentStoreStagedMigrationManagerOptionKey"
/// A migration leaves its cleaning up for later: a number that says yes or no.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// Taken and without effect: a store opens the connections that it needs.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"
/// Taken and without effect: Linux has no file protection.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// Taken and without effect: a store is destroyed whether it is in use or not.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"
/// The variable of the migration manager in expressions of mappings.
public let NSMigrationManagerKey = "manager"
/// The variable of the source object in expressions of mappings.
public let NSMigrationSourceObjectKey = "source"
/// The variable of the destination object in expressions of mappings.
public let NSMigrationDestinationObjectKey = "destination"
/// The variable of the entity mapping in expressions of mappings.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The variable of the property mapping in expressions of mappings.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The variable of the migration policy in expressions of mappings.
public let NSMigrationEntityPolicyKey = "entityPolicy"
/// In a notification of a context that reads one state of its stores: the `NSQueryGenerationToken` of that.
public let NSManagedObjectContextQueryGenerationKey = "NSManagedObjectContextQueryGenerationKey"
