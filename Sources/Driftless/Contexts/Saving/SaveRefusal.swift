/// What must not be done to a context while its save writes: merge policies, objects' methods and observers are called
/// meanwhile, and may try.
extension ManagedObjectContext {
  /// Takes note of something that would take from a save what it writes: a save to the stores fails, and after one into the
  /// parent, which has the changes by then, it is done. False when no save writes, and it may be done now.
  func refuseWhileWriting(
    _ what: String, _ body: @escaping (ManagedObjectContext) -> Void
  ) -> Bool {
    guard saving.isWritingObjects else { return false }
    if parent != nil {
      saving.postpone(body)
      return true
    }
    saving.refuse(
      ObjectError(
        .nestedSave, "\(what) was called while the context's save was writing, and was not done",
        suggestion:
          "Throw an error from the merge policy to give the save up, and call it after that."))
    return true
  }

  /// Does what was asked for while a save into the parent went on.
  func doPostponed() {
    for body in saving.takePostponed() { body(self) }
  }

  /// Throws what was refused since the save began to write.
  func throwRefusal() throws {
    if let refusal = saving.takeRefusal() { throw refusal }
  }

  /// Throws where whoever gave the context out says when it writes.
  func checkMayWrite() throws(ObjectError) {
    if let refusal = saving.writeRefusal { throw refusal }
  }
}
