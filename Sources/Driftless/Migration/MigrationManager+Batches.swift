/// A migration's objects, a part after the other: what is made is saved when it is much, and leaves the memory.
extension MigrationManager {
  /// How many objects of the source are read at once.
  private static let sourcesMax = 500

  // MARK: Source

  /// Calls `body` with the objects that a mapping is about, one after the other.
  func forEachSource(
    of mapping: EntityMapping, _ body: (ManagedObject) throws -> Void
  ) throws {
    let expressions = MappingExpressions(mapping, of: self)
    guard let request = try expressions.sourceRequest() else {
      for object in try expressions.sourceInstances() { try body(object) }
      return
    }
    let keys = try sourceContext.keys(for: request)
    guard let first = keys.first else { return }
    // The request is for one entity.
    let (plan, entity, numbers) = (first.plan, first.key.entity, keys.map(\.key.key))
    for start in stride(from: 0, to: numbers.count, by: Self.sourcesMax) {
      let objects = numbers[start..<min(start + Self.sourcesMax, numbers.count)].compactMap {
        sourceContext.graph.object(
          for: ObjectKey(entity: entity, key: $0), in: plan, adopting: ManagedObject.self)
      }
      for object in objects { try body(object) }
    }
  }

  func source(_ key: ObjectKey) -> ManagedObject? {
    guard let plan = sourceContext.stores.plans.first else { return nil }
    return sourceContext.graph.object(for: key, in: plan.index, adopting: ManagedObject.self)
  }

  // MARK: Destination

  /// The object; nil when it was deleted since.
  func destination(_ place: MigrationAssociations.Place) -> ManagedObject? {
    switch place {
    case .unsaved(let object): return object
    case .saved(let key):
      guard let id = destinationContext.stores.plans.first?.objectID(key) else { return nil }
      return try? destinationContext.existingObject(with: id)
    }
  }

  /// Calls `body` with the objects that a mapping made, one after the other, each once: what is saved meanwhile follows what
  /// was saved before, and only then comes what nobody saved yet.
  func forEachInstance(
    madeBy mapping: EntityMapping, _ body: (ManagedObject) throws -> Void
  ) throws {
    guard let associations else { return }
    var last: Int64 = 0
    while true {
      let keys = try associations.saved(by: mapping.name, after: &last, limit: Self.sourcesMax)
      if keys.isEmpty { break }
      for key in keys { if let object = destination(.saved(key)) { try body(object) } }
    }
    for object in associations.unsaved(by: mapping.name) where object.managedObjectContext != nil {
      try body(object)
    }
  }

  /// Saves what was made and changed, once it is much: nobody but who holds them keeps the objects in memory then.
  func saveIfMuch() throws {
    if destinationContext.changedObjects.count >= Self.unsavedMax { try savePart() }
  }

  /// An object that cannot be read has no values, and would be migrated as if they were null.
  func checkSource() throws {
    for case let error as ObjectError in sourceContext.accessorErrors
    where error.code == .unreadable {
      guard error.message.contains(ExternalDataFolder.lossWords) else { throw error }
      throw StoreError(.lostFile, error.message, suggestion: error.suggestion)
    }
  }

  /// Saves without validation: what is required may still be missing.
  private func savePart() throws {
    try destinationContext.save(validates: false)
    try associations?.didSave()
    isSavedInParts = true
    // Objects that a policy holds let go of what they have, their relationships above all.
    try destinationContext.refreshAllObjects()
  }

  /// Saves the rest. When it throws ``ValidationFailure``, the result breaks the model's rules.
  func saveAll() throws {
    guard isSavedInParts else { return try destinationContext.save() }
    try savePart()
    for entity in destinationModel.entities where !entity.isAbstract {
      guard destinationContext.stores.plans.first?.shape(named: entity.name) != nil else {
        continue
      }
      try validateAll(entity.name)
    }
  }

  private func validateAll(_ entityName: String) throws {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.includesSubentities = false
    let keys = try destinationContext.keys(for: request).map(\.key)
    for start in stride(from: 0, to: keys.count, by: Self.sourcesMax) {
      var items: [ValidationFailure.Item] = []
      for key in keys[start..<min(start + Self.sourcesMax, keys.count)] {
        destination(.saved(key))?.validate(asNew: true, into: &items)
      }
      if !items.isEmpty { throw ValidationFailure(items: items) }
      try checkCancelled()
    }
  }
}
