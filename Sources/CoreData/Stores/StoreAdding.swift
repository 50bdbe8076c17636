public import Driftless
import Foundation

/// What a coordinator makes of what it is given to add, and of what comes of it.
extension PersistentStoreCoordinator {
  /// A configuration of the model. Under a name that is none of its, Core Data takes all entities.
  func known(_ configuration: String?) -> String? {
    guard let configuration, managedObjectModel.configurations.contains(configuration) else {
      return nil
    }
    return configuration
  }

  /// Without a file a store would be kept in memory, and gone with the process.
  func requireURL(_ url: URL?, for type: String) throws {
    guard url == nil, [NSSQLiteStoreType, NSBinaryStoreType].contains(type) else { return }
    throw CocoaError(
      .persistentStoreOpen,
      userInfo: [
        NSLocalizedDescriptionKey: "A store of the type \(type) needs a URL.",
        NSLocalizedRecoverySuggestionErrorKey:
          "Give it the URL of its file, or the type NSInMemoryStoreType.",
      ])
  }

  /// What kept a store from being added, as Core Data gives it: an error of the migration, with the one of the mapping beneath.
  func storeError(_ error: any Error, at url: URL?) -> any Error {
    let known = cocoaError(error)
    guard let refusal = error as? StoreError, refusal.code == .cannotMigrate else { return known }
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: refusal.description, "reason": refusal.message,
      NSLocalizedRecoverySuggestionErrorKey: refusal.suggestion,
    ]
    if let url { userInfo["sourceURL"] = url }
    guard let lacking = refusal.lacking else {
      userInfo[NSUnderlyingErrorKey] = known
      return NSError(
        domain: NSCocoaErrorDomain, code: NSMigrationMissingMappingModelError, userInfo: userInfo)
    }
    userInfo["entity"] = lacking.entity
    userInfo["attribute"] = lacking.property
    return NSError(domain: NSCocoaErrorDomain, code: NSMigrationError, userInfo: userInfo)
  }
}

/// Whether an option makes no difference here, nor in Core Data: that no history is to be kept, which is kept all the same, and
/// a key that is none of a store's, which the log names.
func isWithoutEffect(_ key: String, _ value: Any) -> Bool {
  switch key {
  case NSPersistentHistoryTrackingKey: (value as? NSNumber)?.boolValue != true
  case NSPersistentHistoryTokenKey: true
  default: StoreOptionKey.isPassedOver(key)
  }
}

/// Stores are told apart as objects.
extension PersistentStore: Hashable {
  public static func == (left: PersistentStore, right: PersistentStore) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Coordinators are told apart as objects.
extension PersistentStoreCoordinator: Hashable {
  public static func == (
    left: PersistentStoreCoordinator, right: PersistentStoreCoordinator
  ) -> Bool {
    left === right
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
