public import Driftless
// What source that imports Core Data sees by that import alone: Foundation, and members of the library's types.
@_exported public import Foundation

@_exported public import protocol Driftless.KeyedMembers
@_exported public import class Driftless.ManagedObject
// Foundation has none of these on Linux; under an alias they would be ambiguous to who imports both modules.
@_exported public import class Driftless.UndoManager
@_exported public import class Driftless.ValueTransformer

/// One object of the graph, in one context. Subclass it once an entity; see `ManagedObject`.
public typealias NSManagedObject = ManagedObject
/// What an object is known by, in every context and thread.
public typealias NSManagedObjectID = ManagedObjectID
/// The entities of a store, and what an application keeps with them.
public typealias NSManagedObjectModel = ManagedObjectModel
/// A kind of object: its name, its class, its properties.
public typealias NSEntityDescription = EntityDescription
/// What an object has: an attribute, a relationship, a fetched property or an expression.
public typealias NSPropertyDescription = PropertyDescription
/// A property that holds a value.
public typealias NSAttributeDescription = AttributeDescription
/// An attribute whose value follows from other properties.
public typealias NSDerivedAttributeDescription = DerivedAttributeDescription
/// An attribute that is made of others.
public typealias NSCompositeAttributeDescription = CompositeAttributeDescription
/// A property that holds objects.
public typealias NSRelationshipDescription = RelationshipDescription
/// A property whose objects a fetch finds.
public typealias NSFetchedPropertyDescription = FetchedPropertyDescription
/// A column of a fetch that gives dictionaries.
public typealias NSExpressionDescription = ExpressionDescription
/// An index of an entity's table.
public typealias NSFetchIndexDescription = FetchIndexDescription
/// One column of an index.
public typealias NSFetchIndexElementDescription = FetchIndexElementDescription
/// How an index is built.
public typealias NSFetchIndexElementType = FetchIndexElementDescription.CollationType
/// Brings stores and the contexts that work on them together.
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
/// One file, or what is in memory in place of one.
public typealias NSPersistentStore = PersistentStore
/// How a container makes or opens one of its stores.
public typealias NSPersistentStoreDescription = PersistentStoreDescription
/// A state of the stores that a context goes on reading.
public typealias NSQueryGenerationToken = QueryGenerationToken
/// Why an object awakes.
public typealias NSSnapshotEventType = SnapshotEvents
/// The name that a transformer is registered by.
public typealias NSValueTransformerName = ValueTransformer.Name
/// The transformer of values that can be archived.
public typealias NSSecureUnarchiveFromDataTransformer = SecureUnarchiveFromData

/// Where a method `validate<Key>` finds a value, and may put another one.
public typealias AutoreleasingUnsafeMutablePointer<Pointee> = UnsafeMutablePointer<Pointee>

extension PersistentStore {
  /// What a store is kept in.
  public typealias StoreType = Driftless.StoreType
}

extension StoreType {
  /// A file that is read and written as a whole; there are such stores in the module `CoreData` alone.
  public static let binary = StoreType(rawValue: NSBinaryStoreType)
}
