/// Objects that count as changed though no property of them was, while a save goes on: there is nothing to write of them, to ask
/// a row for or to tell others, whatever became of it elsewhere.
struct TouchedObjects {
  private let objects: [ManagedObject]

  /// Takes them out of the changes of a context.
  init(of context: ManagedObjectContext) {
    objects = context.changedObjects.selected { $0.isIn(context) && $0.isOnlyTouched }
    objects.walk { $0.markUnchanged() }
  }

  /// Nothing was saved: they count as changed again.
  func putBack(in context: ManagedObjectContext) {
    objects.walk { object in
      guard object.isIn(context) else { return }
      object.state.change()
      context.graph.ledger.list(object)
    }
  }

  func didSave() { objects.walk { $0.didSave() } }
}
