import DriftlessSQLite

/// Writes the rows of a batch insert, some hundreds at a time.
struct BatchInserter {
  private static let rowsAtOnce = 512

  private let shape: ObjectShape
  /// Where the objects are that a row's values are set in; nothing of it is ever saved.
  private let scratch: ManagedObjectContext
  private let policy: MergePolicyType
  private let transaction: WriteTransaction
  private let constraints: [UniqueColumns]
  private var objects: [ManagedObject] = []
  private(set) var tally: BatchTally

  init(
    _ shape: ObjectShape, _ scratch: ManagedObjectContext, policy: MergePolicyType,
    transaction: WriteTransaction, tally: BatchTally
  ) {
    self.shape = shape
    self.scratch = scratch
    self.policy = policy
    self.transaction = transaction
    self.tally = tally
    constraints = transaction.schema.uniqueColumns(numbered: shape.number)
  }

  mutating func insert(_ source: BatchInsertRequest.Source) throws {
    switch source {
    case .rows(let rows):
      for row in rows { try append { try Self.fill($0, row) } }
    case .dictionaries(let handler):
      while true {
        var row: [String: Any?] = [:]
        if try handler(&row) { break }
        try append { try Self.fill($0, row) }
      }
    case .objects(let handler):
      var isDone = false
      while !isDone {
        let object = makeObject()
        isDone = try handler(object)
        try scratch.graph.throwAccessorError()
        if !isDone { try take(object) }
      }
    }
    try write()
  }

  private static func fill(_ object: ManagedObject, _ row: [String: Any?]) throws {
    for (name, value) in row {
      if let slot = object.shape.layout.index(named: name), object.shape.relations[slot] != nil {
        throw ObjectError(
          .typeMismatch, "\(name) is a relationship, which a dictionary cannot set",
          suggestion: "Use a managedObjectHandler, or set it after the insert.")
      }
      try object.setValue(value, forKey: name)
    }
  }

  private mutating func append(_ fill: (ManagedObject) throws -> Void) throws {
    let object = makeObject()
    try fill(object)
    try take(object)
  }

  private func makeObject() -> ManagedObject {
    // Born as changed in the event already, so that no write notes it there.
    let object = shape.classToMake.init(
      ObjectBirth(
        shape: shape, graph: scratch.graph, key: scratch.graph.keys.nextTemporaryKey,
        state: .changedNew))
    scratch.graph.keys.addNew(object)
    scratch.graph.ledger.list(object)
    return object
  }

  private mutating func take(_ object: ManagedObject) throws {
    for slot in shape.toOneSlots {
      if case .reference(let key) = object.values[slot], key.key < 0 {
        throw ObjectError(
          .foreignObject,
          "\(shape.entity.name).\(shape.layout.slots[slot].name) refers to an object without a row",
          suggestion: "Insert the other object first, and get it by its ID.")
      }
      if let relation = shape.relations[slot], relation.inverseSlot >= 0,
        !relation.inverseIsToMany, !object.values[slot].isNull
      {
        throw FetchError(
          .unsupported,
          "\(relation.name) is one to one: a batch cannot free the place at the other end",
          suggestion: "Set it in a context.")
      }
    }
    if let slot = object.collections.firstIndex(where: { $0?.hasChanges == true }) {
      throw FetchError(
        .unsupported,
        "\(shape.entity.name).\(shape.layout.slots[slot].name) is to many: a batch cannot write it",
        suggestion: "Set it in a context, or the inverse of its objects.")
    }
    objects.append(object)
    if objects.count == Self.rowsAtOnce { try write() }
  }

  // MARK: Rows

  private mutating func write() throws {
    guard !objects.isEmpty else { return }
    if constraints.isEmpty {
      let keys = try transaction.allocateKeys(shape.entity, count: objects.count)
      var rows = NewRows()
      for (object, key) in zip(objects, keys) {
        rows.append(key, object.row)
        tally.add(ObjectKey(entity: shape.number, key: key))
      }
      try transaction.insert(shape.entity, rows)
    } else {
      for object in objects { try writeUnique(object) }
    }
    let hasOnlyNew = scratch.changedObjects.count == objects.count
    objects = []
    if hasOnlyNew { scratch.letGoOfNewObjects() } else { scratch.rollback() }
    scratch.graph.keys.retireTemporaryKeys()
  }

  private mutating func writeUnique(_ object: ManagedObject) throws {
    let values = object.row
    guard let known = try existing(values) else {
      let key = try transaction.allocateKeys(shape.entity, count: 1).lowerBound
      try transaction.insert(shape.entity, key, values: values)
      return tally.add(ObjectKey(entity: shape.number, key: key))
    }
    var mask = PropertyMask()
    switch policy {
    // CONFLICT: the row's unique values exist. RESOLUTION: none; nothing of the batch is written.
    case .error:
      throw StoreError(
        .constraint, "A \(shape.entity.name) with the same unique values exists.",
        suggestion: "Leave it out, or set the context's mergePolicy to update or keep it.",
        keys: [known])
    // CONFLICT: the row's unique values exist. RESOLUTION: what the store has stays.
    case .mergeByPropertyStoreTrump, .rollback: return
    // CONFLICT: the row's unique values exist. RESOLUTION: what is given is written.
    case .mergeByPropertyObjectTrump: mask = object.changed
    // CONFLICT: the row's unique values exist. RESOLUTION: the whole row is written.
    case .overwrite:
      for slot in shape.layout.slots where !slot.isToMany { mask.insert(slot.index) }
    }
    for slot in shape.layout.slots where slot.isToMany || slot.isTransient {
      mask.remove(slot.index)
    }
    if !mask.isEmpty {
      try transaction.update(known, mask, values: values, expectedVersion: nil)
    }
    tally.add(known)
  }

  /// The row that has the same unique values.
  private func existing(_ values: ValueRow) throws -> ObjectKey? {
    for constraint in constraints {
      guard let key = try constraint.row(with: values, transaction) else { continue }
      guard let other = tally.plan.shape(numbered: key.entity), other.isKind(of: shape.entity)
      else {
        throw StoreError(
          .constraint,
          "An object of another entity than \(shape.entity.name) has the same unique values.",
          suggestion: "Leave the row out, or change the other object.", keys: [key])
      }
      return key
    }
    return nil
  }
}

extension ManagedObjectContext {
  /// Gives up new objects, where nothing else is changed. Those that nobody holds just end.
  func letGoOfNewObjects() {
    _ = graph.ledger.unlistAll()
    for object in graph.keys.newObjects { object.detach() }
  }
}
