import Driftless
import Foundation

/// What key-value coding finds of an object that is no property of the model, and of what that gives: Objective-C finds every
/// method by its name.
enum OwnMember {
  typealias Reading = @Sendable (ManagedObject) -> Any?

  /// Of every managed object. A truth value has two names there.
  static let ofObjects: [String: Reading] = {
    var members: [String: Reading] = [
      "self": { $0 }, "objectID": { $0.objectID }, "entity": { $0.entity },
      "managedObjectContext": { $0.managedObjectContext },
      "hasChanges": { NSNumber(value: $0.hasChanges) },
      "hasPersistentChangedValues": { NSNumber(value: $0.hasPersistentChangedValues) },
      "faultingState": { NSNumber(value: $0.faultingState) },
      "changedValues": { $0.changedValues() },
      "changedValuesForCurrentEvent": { $0.changedValuesForCurrentEvent() },
      "description": { $0.description },
    ]
    let states: [(String, @Sendable (ManagedObject) -> Bool)] = [
      ("Inserted", { $0.isInserted }), ("Updated", { $0.isUpdated }),
      ("Deleted", { $0.isDeleted }), ("Fault", { $0.isFault }),
    ]
    for (name, state) in states {
      let reading: Reading = { NSNumber(value: state($0)) }
      members["is" + name] = reading
      members[name.lowercased()] = reading
    }
    return members
  }()

  private static let ofEntities: [String: @Sendable (NSEntityDescription) -> Any?] = [
    "self": { $0 }, "name": { $0.knownName },
    "managedObjectClassName": { $0.managedObjectClassName },
    "isAbstract": { NSNumber(value: $0.isAbstract) },
    "abstract": { NSNumber(value: $0.isAbstract) }, "superentity": { $0.superentity },
    "renamingIdentifier": { $0.renamingIdentifier }, "userInfo": { $0.userInfo },
  ]

  private static let ofIDs: [String: @Sendable (NSManagedObjectID) -> Any?] = [
    "self": { $0 }, "entity": { $0.entity },
    "isTemporaryID": { NSNumber(value: $0.isTemporaryID) },
    "temporaryID": { NSNumber(value: $0.isTemporaryID) },
    "URIRepresentation": { $0.uriRepresentation() },
  ]

  private static let ofContexts: [String: @Sendable (NSManagedObjectContext) -> Any?] = [
    "self": { $0 }, "name": { $0.name }, "transactionAuthor": { $0.transactionAuthor },
    "hasChanges": { NSNumber(value: $0.hasChanges) },
  ]

  /// What reads a member of an entity, an ID or a context; nil for one that is not known.
  static func reading(of value: Any, _ key: String) -> (() -> Any?)? {
    switch value {
    case let entity as NSEntityDescription: ofEntities[key].map { read in { read(entity) } }
    case let id as NSManagedObjectID: ofIDs[key].map { read in { read(id) } }
    case let context as NSManagedObjectContext: ofContexts[key].map { read in { read(context) } }
    default: nil
    }
  }
}
