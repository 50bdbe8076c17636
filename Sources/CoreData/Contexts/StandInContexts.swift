import Driftless

/// What a context of the module hands its work to.
extension ManagedObjectContext {
  /// One of the library's on a coordinator. Code that was written for Core Data lets go of objects anywhere.
  static func standIn(
    _ coordinator: PersistentStoreCoordinator, _ queue: ContextQueue?
  ) -> ManagedObjectContext {
    let base =
      if let queue {
        ManagedObjectContext(coordinator, queue: queue, isAsserted: false)
      } else {
        ManagedObjectContext(coordinator)
      }
    base.holdsMembers = true
    base.givesFaults = true
    return base
  }

  /// One of the library's on another one.
  static func standIn(
    parent: ManagedObjectContext, _ queue: ContextQueue?
  ) -> ManagedObjectContext {
    let base =
      if let queue, let other = parent.queue, other !== queue {
        ManagedObjectContext(parent: parent, queue: queue, isAsserted: false)
      } else {
        ManagedObjectContext(parent: parent)
      }
    base.holdsMembers = true
    base.givesFaults = true
    return base
  }
}
