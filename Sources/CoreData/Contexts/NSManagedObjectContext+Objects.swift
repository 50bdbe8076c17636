public import Driftless
public import Foundation

extension NSManagedObjectContext {
  /// The object of the ID if the context has it; never reads from the store.
  public func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    base.registeredObject(for: objectID)
  }

  /// The object of the ID, with its values.
  /// - Throws: 133000 when the store has no such row, or what kept it from being read.
  public func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    try asCocoaErrors { try base.existingObject(with: objectID) }
  }

  /// Gives new objects the IDs that they will have in the store.
  /// - Throws: 134060 for an object of another context; what kept the store from being written.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    try asCocoaErrors { try base.obtainPermanentIDs(for: objects) }
  }

  /// Takes what the store has now for all objects, keeping unsaved changes.
  public func refreshAllObjects() { failSave { try base.refreshAllObjects() } }

  /// Makes the next save look whether another one changed the object, though this context does not.
  public func detectConflicts(for object: NSManagedObject) {
    failSave { try base.detectConflicts(for: object) }
  }

  /// Puts a new object into a store. What is no object, or cannot go there, makes the next save fail.
  public func assign(_ object: Any, to store: NSPersistentStore) {
    failSave {
      guard let object = object as? ManagedObject else {
        throw ObjectError(
          .typeMismatch, "\(type(of: object)) is no managed object",
          suggestion: "Assign objects of the context.")
      }
      try base.assign(object, to: store)
    }
  }

  /// Keeps an error that cannot be thrown where it is met for the next save.
  func failSave(_ body: () throws -> Void) { base.deferError(body) }

  // MARK: Changes of others

  /// Takes over what another context saved, or a transaction of the history changed, on this context's queue.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    performAndWait { base.mergeChanges(fromContextDidSave: notification) }
  }

  /// Takes over changes that were made elsewhere, such as by a batch request, in several contexts, on their queues.
  ///
  /// - Parameters:
  ///   - changeNotificationData: Object IDs, their URIs or objects, in arrays or sets, under the keys of notifications.
  ///   - contexts: Each takes them over before this returns. Objects that others inserted are not made.
  public class func mergeChanges(
    fromRemoteContextSave changeNotificationData: [AnyHashable: Any],
    into contexts: [NSManagedObjectContext]
  ) {
    for context in contexts {
      context.performAndWait {
        ManagedObjectContext.mergeChanges(
          fromRemoteContextSave: changeNotificationData.mapValues(swiftList), into: [context.base])
      }
    }
  }

  /// Lists of Foundation's as Swift's.
  private static func swiftList(_ list: Any) -> Any {
    let elements: [Any]
    switch list {
    case let set as NSSet: elements = set.allObjects
    case let array as NSArray: elements = array.map { $0 }
    default: return list
    }
    if let ids = elements as? [NSManagedObjectID] { return ids }
    if let uris = elements as? [URL] { return uris }
    return elements as? [NSManagedObject] ?? list
  }
}
