import Foundation

/// Events: what changed between two calls of ``processPendingChanges()``, told to observers and undone together.
extension ManagedObjectContext {
  /// What the arrays of objects in a notification's `userInfo` are called; one that would be empty is absent.
  ///
  /// They are arrays, in the order of the first change, where Core Data has sets: a set costs a large save a tenth more,
  /// whether somebody looks or not.
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
  }

  /// Ends an event: takes over the saves of other contexts that wait, when
  /// ``automaticallyMergesChangesFromParent`` is on, closes the undo group, and posts
  /// `.managedObjectContextObjectsDidChange` when something changed here.
  ///
  /// A save and a fetch do it by themselves, and so does the end of a container's `perform`.
  public func processPendingChanges() {
    updatePlans()
    for changes in inbox.takeAll() { mergeChanges(fromContextDidSave: changes) }
    endEvent()
  }

  /// Whether the event that goes on has changes.
  var hasEvent: Bool { !eventObjects.isEmpty }

  func noteInEvent(_ object: ManagedObject) {
    guard !object.state.contains(.inEvent) else { return }
    object.state.insert(.inEvent)
    eventObjects.append(object)
  }

  func endEvent() {
    settleReplayed()
    undoManager?.endEvent()
    guard hasEvent else { return }
    let objects = eventObjects
    eventObjects = []
    var userInfo: [AnyHashable: Any] = [:]
    // An object that was inserted and deleted is in none of the lists, as if it had never been.
    for (key, isInserted, isDeleted) in [
      (NotificationKey.insertedObjects, true, false), (.updatedObjects, false, false),
      (.deletedObjects, false, true),
    ] {
      let list = objects.selected {
        $0.state.contains(.insertedInEvent) == isInserted
          && $0.state.contains(.deletedInEvent) == isDeleted
      }
      if !list.isEmpty { userInfo[key.rawValue] = list }
      if list.count == objects.count { break }
    }
    objects.walk(Self.leaveEvent)
    guard !userInfo.isEmpty else { return }
    NotificationCenter.default.post(
      name: .managedObjectContextObjectsDidChange, object: self, userInfo: userInfo)
  }

  /// Forgets what changed in the event: it was given up.
  func forgetEvent() {
    eventObjects.walk(Self.leaveEvent)
    eventObjects = []
    replayed = [:]
  }

  private static func leaveEvent(_ object: ManagedObject) {
    object.state.subtract([.inEvent, .insertedInEvent, .deletedInEvent])
    object.changedInEvent = PropertyMask()
  }
}
