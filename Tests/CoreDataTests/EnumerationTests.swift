import CoreData
import Testing

/// Numbers of enumerations and options, as files, archives and Objective-C have them.
struct EnumerationTests {
  private func expect<Choice: RawRepresentable & Equatable>(
    _ choices: [(Choice, Choice.RawValue)]
  ) where Choice.RawValue: Equatable {
    for (choice, number) in choices {
      #expect(choice.rawValue == number)
      #expect(Choice(rawValue: number) == choice)
    }
  }

  @Test("Types of attributes")
  func attributeTypes() {
    let types: [(NSAttributeType, UInt)] = [
      (.undefinedAttributeType, 0), (.integer16AttributeType, 100), (.integer32AttributeType, 200),
      (.integer64AttributeType, 300), (.decimalAttributeType, 400), (.doubleAttributeType, 500),
      (.floatAttributeType, 600), (.stringAttributeType, 700), (.booleanAttributeType, 800),
      (.dateAttributeType, 900), (.binaryDataAttributeType, 1000), (.UUIDAttributeType, 1100),
      (.URIAttributeType, 1200), (.transformableAttributeType, 1800),
      (.objectIDAttributeType, 2000), (.compositeAttributeType, 2100),
    ]
    expect(types)
    #expect(NSAttributeType(rawValue: 150) == nil)
    let raw: NSAttributeDescription.AttributeType.RawValue = 100
    #expect(NSAttributeDescription.AttributeType(rawValue: raw) == .integer16)
  }

  @Test("What requests give")
  func results() {
    let fetches: [(NSFetchRequestResultType, UInt)] = [
      (.managedObjectResultType, 0), (.managedObjectIDResultType, 1), (.dictionaryResultType, 2),
      (.countResultType, 4),
    ]
    expect(fetches)
    #expect(NSFetchRequestResultType(rawValue: 4) == .countResultType)
    let inserts: [(NSBatchInsertRequestResultType, UInt)] = [
      (.statusOnly, 0), (.objectIDs, 1), (.count, 2),
    ]
    expect(inserts)
    #expect(NSBatchInsertRequestResultType(rawValue: 3) == nil)
    let updates: [(NSBatchUpdateRequestResultType, UInt)] = [
      (.statusOnlyResultType, 0), (.updatedObjectIDsResultType, 1),
      (.updatedObjectsCountResultType, 2),
    ]
    expect(updates)
    #expect(NSBatchUpdateRequestResultType(rawValue: 3) == nil)
    let deletes: [(NSBatchDeleteRequestResultType, UInt)] = [
      (.resultTypeStatusOnly, 0), (.resultTypeObjectIDs, 1), (.resultTypeCount, 2),
    ]
    expect(deletes)
    #expect(NSBatchDeleteRequestResultType(rawValue: 3) == nil)
    let requests: [(NSPersistentStoreRequestType, UInt)] = [
      (.fetchRequestType, 1), (.saveRequestType, 2), (.batchInsertRequestType, 5),
      (.batchUpdateRequestType, 6), (.batchDeleteRequestType, 7),
    ]
    expect(requests)
    #expect(NSPersistentStoreRequestType(rawValue: 3) == nil)
  }

  @Test("History")
  func history() {
    let changes: [(NSPersistentHistoryChangeType, Int)] = [
      (.insert, 0), (.update, 1), (.delete, 2),
    ]
    expect(changes)
    #expect(NSPersistentHistoryChangeType(rawValue: 3) == nil)
    let results: [(NSPersistentHistoryResultType, Int)] = [
      (.statusOnly, 0), (.objectIDs, 1), (.count, 2), (.transactionsOnly, 3), (.changesOnly, 4),
      (.transactionsAndChanges, 5),
    ]
    expect(results)
    #expect(NSPersistentHistoryResultType(rawValue: 6) == nil)
  }

  @Test("Rules, policies and kinds")
  func rules() {
    let rules: [(NSDeleteRule, UInt)] = [
      (.noActionDeleteRule, 0), (.nullifyDeleteRule, 1), (.cascadeDeleteRule, 2),
      (.denyDeleteRule, 3),
    ]
    expect(rules)
    #expect(NSDeleteRule(rawValue: 4) == nil)
    let policies: [(NSMergePolicyType, UInt)] = [
      (.errorMergePolicyType, 0), (.mergeByPropertyStoreTrumpMergePolicyType, 1),
      (.mergeByPropertyObjectTrumpMergePolicyType, 2), (.overwriteMergePolicyType, 3),
      (.rollbackMergePolicyType, 4),
    ]
    expect(policies)
    #expect(NSMergePolicyType(rawValue: 5) == nil)
    let mappings: [(NSEntityMappingType, UInt)] = [
      (.undefinedEntityMappingType, 0), (.customEntityMappingType, 1), (.addEntityMappingType, 2),
      (.removeEntityMappingType, 3), (.copyEntityMappingType, 4), (.transformEntityMappingType, 5),
    ]
    expect(mappings)
    #expect(NSEntityMappingType(rawValue: 6) == nil)
    let changes: [(NSFetchedResultsChangeType, UInt)] = [
      (.insert, 1), (.delete, 2), (.move, 3), (.update, 4),
    ]
    expect(changes)
    #expect(NSFetchedResultsChangeType(rawValue: 0) == nil)
    let queues: [(NSManagedObjectContextConcurrencyType, UInt)] = [
      (.confinementConcurrencyType, 0), (.privateQueueConcurrencyType, 1),
      (.mainQueueConcurrencyType, 2),
    ]
    expect(queues)
    #expect(NSManagedObjectContextConcurrencyType(rawValue: 3) == nil)
    let type: NSManagedObjectContext.ConcurrencyType = .mainQueue
    let raw: NSManagedObjectContext.ConcurrencyType.RawValue = type.rawValue
    #expect(raw == .mainQueueConcurrencyType)
    #expect(NSFetchIndexElementType(rawValue: 1) == .rTree)
  }

  @Test("Why an object awakes")
  func snapshotEvents() {
    let events: [NSSnapshotEventType] = [
      .undoInsertion, .undoDeletion, .undoUpdate, .rollback, .refresh, .mergePolicy,
    ]
    #expect(events.map(\.rawValue) == [2, 4, 8, 16, 32, 64])
    #expect(NSSnapshotEventType(rawValue: 2) == .undoInsertion)
  }

  @Test("Notifications have one name wherever it stands")
  func notifications() {
    let names: [(Notification.Name, Notification.Name)] = [
      (
        NSManagedObjectContext.didChangeObjectsNotification,
        .NSManagedObjectContextObjectsDidChange
      ),
      (NSManagedObjectContext.willSaveObjectsNotification, .NSManagedObjectContextWillSave),
      (NSManagedObjectContext.didSaveObjectsNotification, .NSManagedObjectContextDidSave),
      (
        NSManagedObjectContext.didSaveObjectIDsNotification,
        .NSManagedObjectContextDidSaveObjectIDs
      ),
      (
        NSManagedObjectContext.didMergeChangesObjectIDsNotification,
        .NSManagedObjectContextDidMergeChangesObjectIDs
      ),
    ]
    for (one, other) in names { #expect(one == other) }
    let all: [Notification.Name] = [
      .NSPersistentStoreCoordinatorStoresWillChange, .NSPersistentStoreCoordinatorStoresDidChange,
      .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreRemoteChange,
    ]
    #expect(Set(all).count == 4)
    let keys: [(NSManagedObjectContext.NotificationKey, String)] = [
      (.insertedObjects, NSInsertedObjectsKey), (.updatedObjects, NSUpdatedObjectsKey),
      (.deletedObjects, NSDeletedObjectsKey), (.refreshedObjects, NSRefreshedObjectsKey),
      (.invalidatedObjects, NSInvalidatedObjectsKey),
      (.invalidatedAllObjects, NSInvalidatedAllObjectsKey),
      (.insertedObjectIDs, NSInsertedObjectIDsKey), (.updatedObjectIDs, NSUpdatedObjectIDsKey),
      (.deletedObjectIDs, NSDeletedObjectIDsKey), (.refreshedObjectIDs, NSRefreshedObjectIDsKey),
      (.invalidatedObjectIDs, NSInvalidatedObjectIDsKey),
      (.queryGeneration, NSManagedObjectContextQueryGenerationKey),
    ]
    for (key, text) in keys {
      let raw: NSManagedObjectContext.NotificationKey.RawValue = key.rawValue
      #expect(raw == text)
    }
    let schedules: Set<NSManagedObjectContext.ScheduledTaskType> = [.immediate, .enqueued]
    #expect(schedules.count == 2)
    var hasher = Hasher()
    NSManagedObjectContext.ScheduledTaskType.immediate.hash(into: &hasher)
    #expect(hasher.finalize() != 0)
  }
}
