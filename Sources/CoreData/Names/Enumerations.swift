// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
public import Driftless

/// The type of an attribute. The raw values are Core Data's.
public enum NSAttributeType: UInt, Hashable, Sendable {
  case undefinedAttributeType = 0
  case integer16AttributeType = 100
  case integer32AttributeType = 200
  case integer64AttributeType = 300
  case decimalAttributeType = 400
  case doubleAttributeType = 500
  case floatAttributeType = 600
  case stringAttributeType = 700
  case booleanAttributeType = 800
  case dateAttributeType = 900
  case binaryDataAttributeType = 1000
  case UUIDAttributeType = 1100
  case URIAttributeType = 1200
  case transformableAttributeType = 1800
  case objectIDAttributeType = 2000
  case compositeAttributeType = 2100

  /// The type under its newer name.
  var known: AttributeType { AttributeType(rawValue: Int(rawValue)) ?? .undefined }

  init(_ type: AttributeType) {
    self = NSAttributeType(rawValue: UInt(type.rawValue)) ?? .undefinedAttributeType
  }
}

extension AttributeType {
  /// The newer name of a type.
  public init(rawValue: NSAttributeType) { self = rawValue.known }
}

/// What happens to the destinations of a relationship when its source is deleted. The raw values are Core Data's.
public enum NSDeleteRule: UInt, Hashable, Sendable {
  case noActionDeleteRule = 0
  case nullifyDeleteRule = 1
  case cascadeDeleteRule = 2
  case denyDeleteRule = 3
}

/// Where the work of a context runs. The raw values are Core Data's.
public enum NSManagedObjectContextConcurrencyType: UInt, Hashable, Sendable {
  case confinementConcurrencyType = 0
  case privateQueueConcurrencyType = 1
  case mainQueueConcurrencyType = 2
}

extension NSManagedObjectContext {
  /// Where the work of a context runs, under the newer names.
  public struct ConcurrencyType: RawRepresentable, Hashable, Sendable {
    public var rawValue: NSManagedObjectContextConcurrencyType

    public init(rawValue: NSManagedObjectContextConcurrencyType) { self.rawValue = rawValue }

    /// On the main queue.
    public static let mainQueue = ConcurrencyType(rawValue: .mainQueueConcurrencyType)
    /// On a queue of its own.
    public static let privateQueue = ConcurrencyType(rawValue: .privateQueueConcurrencyType)
  }
}

/// What a request asks. The raw values are Core Data's.
public enum NSPersistentStoreRequestType: UInt, Hashable, Sendable {
  case fetchRequestType = 1
  case saveRequestType = 2
  case batchInsertRequestType = 5
  case batchUpdateRequestType = 6
  case batchDeleteRequestType = 7
}

/// What a fetch gives. The raw values are Core Data's.
public struct NSFetchRequestResultType: OptionSet, Hashable, Sendable {
  public let rawValue: UInt

  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Objects.
  public static let managedObjectResultType = NSFetchRequestResultType([])
  /// Their IDs.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries of properties and expressions.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// One number: how many objects there are.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

/// What a merge policy does about a conflict. The raw values are Core Data's.
public enum NSMergePolicyType: UInt, Hashable, Sendable {
  case errorMergePolicyType = 0
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  case overwriteMergePolicyType = 3
  case rollbackMergePolicyType = 4

  /// The type as the library has it.
  var known: MergePolicyType { MergePolicyType(rawValue: Int(rawValue)) ?? .error }
}

/// What a batch insert tells. The raw values are Core Data's.
public enum NSBatchInsertRequestResultType: UInt, Hashable, Sendable {
  case statusOnly = 0
  case objectIDs = 1
  case count = 2
}

/// What a batch update tells. The raw values are Core Data's.
public enum NSBatchUpdateRequestResultType: UInt, Hashable, Sendable {
  case statusOnlyResultType = 0
  case updatedObjectIDsResultType = 1
  case updatedObjectsCountResultType = 2
}

/// What a batch delete tells. The raw values are Core Data's.
public enum NSBatchDeleteRequestResultType: UInt, Hashable, Sendable {
  case resultTypeStatusOnly = 0
  case resultTypeObjectIDs = 1
  case resultTypeCount = 2
}

/// What a transaction did to an object. The raw values are Core Data's.
public enum NSPersistentHistoryChangeType: Int, Hashable, Sendable {
  case insert = 0
  case update = 1
  case delete = 2
}

/// What an answer of the history is made of. The raw values are Core Data's.
public enum NSPersistentHistoryResultType: Int, Hashable, Sendable {
  case statusOnly = 0
  case objectIDs = 1
  case count = 2
  case transactionsOnly = 3
  case changesOnly = 4
  case transactionsAndChanges = 5
}

/// How an object of fetched results changed. The raw values are Core Data's.
public enum NSFetchedResultsChangeType: UInt, Hashable, Sendable {
  case insert = 1
  case delete = 2
  case move = 3
  case update = 4
}

/// What an entity mapping does. The raw values are Core Data's.
public enum NSEntityMappingType: UInt, Hashable, Sendable {
  case undefinedEntityMappingType = 0
  case customEntityMappingType = 1
  case addEntityMappingType = 2
  case removeEntityMappingType = 3
  case copyEntityMappingType = 4
  case transformEntityMappingType = 5
}
