/// Looking for conflicts with other saves beyond the objects that are changed here.
extension ManagedObjectContext {
  /// Makes the next save see to it that no other save changed this object, though this context does not change it: what
  /// it decided after a look at the object must still hold.
  ///
  /// A save that writes something then treats the object like one that both changed: by ``mergePolicy`` it fails with a
  /// ``SaveConflictError``, or the object takes the store's values. A fault's values are read now. A child context does
  /// not look; its parent may.
  /// - Throws: what kept the fault from being read.
  public func detectConflicts(for object: ManagedObject) throws {
    guard object.context === self, !object.isInserted else { return }
    if object.isFault { try read(object) }
    if object.state.insert(.watched).inserted { watchedObjects.append(object) }
  }

  func forgetWatchedObjects() {
    for object in watchedObjects { object.state.remove(.watched) }
    watchedObjects = []
  }
}
