/// Events: what changed between two calls of ``processPendingChanges()``, told to observers and undone together.
extension ManagedObjectContext {
  /// Ends an event: takes over what other contexts saved, and what came into the stores in another way, when
  /// ``automaticallyMergesChangesFromParent`` is on, closes the undo group, and posts
  /// `.managedObjectContextObjectsDidChange` when something changed here.
  ///
  /// A save and a fetch do it by themselves, and so does the end of a container's `perform`. A container's `viewContext` does it
  /// when the main actor is free.
  public func processPendingChanges() {
    graph.confinement.assertHere("The context")
    // A merge policy may fetch: what comes in meanwhile, and the event, are for after the save.
    if saving.isWritingObjects { return }
    graph.takeInDepartures()
    updatePlans()
    takeNews()
    endEvent()
  }

  /// Ends each event when the main queue gets to it, as a turn of the main run loop does on Apple's systems: who changes an
  /// object of the main queue's context need not end the event.
  func endEventsOnMainQueue() {
    nonisolated(unsafe) weak let context = self  // which is used on the main queue, as this is
    let end = EventEnd { context?.processPendingChanges() }
    graph.ledger.eventBegan = { end.await() }
  }

  /// Takes over, before a piece of work, what came in since the last one: a child does not do so meanwhile, for its parent's
  /// work may be waiting for it.
  package func beginWork() {
    if parent != nil, inbox.hasNews { processPendingChanges() }
  }

  func endEvent() {
    letGoOfEvent()
    endReplay()
    undoManager?.endEvent()
    let objects = graph.ledger.takeEvent()
    guard !objects.isEmpty else { return }
    var lists: [NotificationKey: [ManagedObject]] = [:]
    // An object that was inserted and deleted is in none of the lists, as if it had never been.
    for (key, isInserted, isDeleted, isRefreshed) in [
      (NotificationKey.insertedObjects, true, false, false), (.updatedObjects, false, false, false),
      (.deletedObjects, false, true, false), (.refreshedObjects, false, false, true),
    ] {
      let list = objects.selected {
        $0.state.contains(.insertedInEvent) == isInserted
          && $0.state.contains(.deletedInEvent) == isDeleted
          && (isInserted || isDeleted
            || ($0.state.contains(.refreshedInEvent) && $0.changedInEvent.isEmpty) == isRefreshed)
      }
      lists[key] = list
      if list.count == objects.count { break }
    }
    graph.ledger.end(objects)
    postObjectsDidChange([
      .insertedObjects: lists[.insertedObjects] ?? [],
      .updatedObjects: lists[.updatedObjects] ?? [],
      .deletedObjects: lists[.deletedObjects] ?? [],
      .refreshedObjects: lists[.refreshedObjects] ?? [],
    ])
  }

  /// Forgets what changed in the event: it was given up.
  func forgetEvent() {
    letGoOfEvent()
    graph.ledger.end(graph.ledger.takeEvent())
    _ = graph.ledger.takeReplayed()
  }
}
