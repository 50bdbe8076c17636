import Foundation

/// Events: what changed between two calls of ``processPendingChanges()``, told to observers and undone together.
extension ManagedObjectContext {
  /// What the sets in a notification's `userInfo` are called. A set that would be empty is absent.
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
    var sets: [NotificationKey: Set<ManagedObject>] = [:]
    for object in objects {
      // Inserted and deleted in one event, it is as if it had never been.
      if let key = Self.notificationKey(of: object) { sets[key, default: []].insert(object) }
      Self.leaveEvent(object)
    }
    guard !sets.isEmpty else { return }
    var userInfo: [AnyHashable: Any] = [:]
    for (key, set) in sets { userInfo[key.rawValue] = set }
    NotificationCenter.default.post(
      name: .managedObjectContextObjectsDidChange, object: self, userInfo: userInfo)
  }

  /// Forgets what changed in the event: it was given up.
  func forgetEvent() {
    for object in eventObjects { Self.leaveEvent(object) }
    eventObjects = []
    replayed = [:]
  }

  private static func notificationKey(of object: ManagedObject) -> NotificationKey? {
    switch (object.state.contains(.insertedInEvent), object.state.contains(.deletedInEvent)) {
    case (true, true): nil
    case (true, false): .insertedObjects
    case (false, true): .deletedObjects
    case (false, false): .updatedObjects
    }
  }

  private static func leaveEvent(_ object: ManagedObject) {
    object.state.subtract([.inEvent, .insertedInEvent, .deletedInEvent])
    object.changedInEvent = PropertyMask()
  }
}
