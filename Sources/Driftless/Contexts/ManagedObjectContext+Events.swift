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
    // Most events are of one kind: the others are not looked for.
    var restCount = objects.count
    func take(_ isWanted: (ManagedObject) -> Bool) -> [ManagedObject] {
      guard restCount > 0 else { return [] }
      let list = objects.selected(isWanted)
      restCount -= list.count
      return list
    }
    // An object that was inserted and deleted is in none of the lists, as if it had never been.
    let inserted = take {
      $0.state.contains(.insertedInEvent) && !$0.state.contains(.deletedInEvent)
    }
    let updated = take {
      $0.state.isDisjoint(with: [.insertedInEvent, .deletedInEvent])
        && !($0.state.contains(.refreshedInEvent) && $0.changedInEvent.isEmpty)
    }
    let deleted = take {
      $0.state.contains(.deletedInEvent) && !$0.state.contains(.insertedInEvent)
    }
    let refreshed = take {
      $0.state.isDisjoint(with: [.insertedInEvent, .deletedInEvent])
        && $0.state.contains(.refreshedInEvent) && $0.changedInEvent.isEmpty
    }
    graph.ledger.end(objects)
    postObjectsDidChange([
      .insertedObjects: inserted, .updatedObjects: updated, .deletedObjects: deleted,
      .refreshedObjects: refreshed,
    ])
  }

  /// Forgets what changed in the event: it was given up.
  func forgetEvent() {
    letGoOfEvent()
    graph.ledger.end(graph.ledger.takeEvent())
    _ = graph.ledger.takeReplayed()
  }
}
