/// One object of a store that is kept in another form: what a row is made of.
package struct OutsideObject {
  package let id: ManagedObjectID
  /// Attributes by name, as `setValue(_:forKey:)` takes them.
  package var attributes: [String: Any] = [:]
  /// The objects of relationships by name; one or none of a to-one relationship.
  package var related: [String: [ManagedObjectID]] = [:]

  package init(_ id: ManagedObjectID) { self.id = id }
}

extension PersistentStore {
  /// Writes rows for objects that are kept in another form. Either end of a relationship will do.
  ///
  /// - Throws: ``ObjectError`` for an entity that the store does not have or a value that does not fit; `StoreError`.
  ///   Nothing is written then.
  package final func fill(with objects: [OutsideObject]) throws {
    guard !objects.isEmpty else { return }
    let coordinator = PersistentStoreCoordinator(store: self)
    guard let plan = coordinator.plans.first else { return }
    let filler = StoreFiller(plan, ManagedObjectContext(scratchOn: coordinator))
    _ = try write(TransactionInfo()) { try filler.fill(objects, $0) }
  }

  /// Writes what rows do not have yet of objects that are kept in another form. To-one relationships that are left out stay as
  /// they are; to-many ones are not looked at.
  ///
  /// - Parameter number: The newest transaction when it was asked for them. Rows that others wrote since are newer, and stay.
  /// - Returns: The transaction that wrote them; nil where nothing was to be written.
  /// - Throws: as ``fill(with:)``.
  package final func put(_ objects: [OutsideObject], askedAfter number: Int64) throws -> Int64? {
    try write(TransactionInfo(kind: .imported)) { transaction in
      let newer = try transaction.keysWritten(after: number)
      try put(objects.filter { !newer.contains($0.id.key) }, transaction)
    }
    .committed?.number
  }

  /// Writes what rows do not have yet in a transaction that goes on.
  ///
  /// - Throws: as ``fill(with:)``.
  package final func put(_ objects: [OutsideObject], _ transaction: WriteTransaction) throws {
    guard !objects.isEmpty else { return }
    let coordinator = PersistentStoreCoordinator(store: self)
    guard let plan = coordinator.plans.first else { return }
    let filler = StoreFiller(plan, ManagedObjectContext(scratchOn: coordinator))
    for object in objects { try filler.put(object, transaction) }
  }

  /// Makes a to-many relationship of an object hold these, whose rows are there.
  ///
  /// - Parameter number: As for objects: members that others wrote since stay where they are.
  /// - Returns: The transaction that wrote it; nil where nothing was to be written.
  /// - Throws: `StoreError`.
  package final func put(
    _ others: [ManagedObjectID], as relationship: RelationshipDescription,
    of id: ManagedObjectID, askedAfter number: Int64
  ) throws -> Int64? {
    try write(TransactionInfo(kind: .imported)) { transaction in
      let newer = try transaction.keysWritten(after: number)
      let former = try transaction.toManyKeys(of: id.key, relationship)
      let isOwnerNewer = newer.contains(id.key)
      let keys = others.map(\.key).filter { !newer.contains($0) || former.contains($0) }
      let told = Set(keys)
      let (added, removed) = (
        told.subtracting(former), Set(former).subtracting(told).subtracting(newer)
      )
      if let inverse = relationship.inverseRelationship, !inverse.isToMany {
        for (changed, value) in [(removed, PropertyValue.null), (added, .reference(id.key))] {
          for key in changed { try transaction.put(value, for: inverse.name, of: key) }
        }
      } else if !isOwnerNewer {
        try transaction.removePairs(relationship, id.key, Array(removed))
        try transaction.addPairs(relationship, id.key, keys.filter(added.contains))
      }
      guard relationship.isOrdered, !isOwnerNewer else { return }
      let stayed = former.filter { !told.contains($0) && !removed.contains($0) }
      try transaction.setOrder(relationship, id.key, keys + stayed)
    }
    .committed?.number
  }

  /// Whether an object's row was written.
  package final func hasRow(_ id: ManagedObjectID) throws -> Bool {
    try read { try $0.row(id.key) != nil }
  }
}

extension WriteTransaction {
  /// The objects that transactions after one wrote.
  fileprivate func keysWritten(after number: Int64) throws -> Set<ObjectKey> {
    guard self.number - 1 > number else { return [] }
    var keys: Set<ObjectKey> = []
    try forEachChange(after: number) { _, _, key, _ in keys.insert(key) }
    return keys
  }

  /// Writes one property of a row that is there.
  fileprivate func put(_ value: PropertyValue, for name: String, of key: ObjectKey) throws {
    guard var row = try ownRow(key),
      let slot = schema.entity(numbered: key.entity)?.layout.index(named: name)
    else { return }
    row.values[slot] = value
    try update(key, PropertyMask([slot]), values: row.values, expectedVersion: nil)
  }
}

/// Writes the rows of objects that are kept in another form.
private struct StoreFiller {
  private static let rowsAtOnce = 512

  private let plan: ObjectPlan
  /// Where the objects are that a row's values are set in; nothing of it is ever saved.
  private let scratch: ManagedObjectContext

  init(_ plan: ObjectPlan, _ scratch: ManagedObjectContext) {
    self.plan = plan
    self.scratch = scratch
  }

  func fill(_ objects: [OutsideObject], _ transaction: WriteTransaction) throws {
    let references = try references(of: objects)
    for (index, object) in objects.enumerated() {
      try insert(object, references[object.id.key] ?? [:], transaction)
      if index % Self.rowsAtOnce == Self.rowsAtOnce - 1 { forget() }
    }
    forget()
    for object in objects { try relate(object, transaction) }
  }

  private func shape(of object: OutsideObject) throws -> ObjectShape {
    if let shape = plan.shape(named: object.id.entity.name) { return shape }
    throw ObjectError(
      .unknownEntity, "The store has no objects of \(object.id.entity.name)",
      suggestion: "Give it objects of the entities that its configuration has.")
  }

  /// The to-one ends that follow from what either end says, by object and slot.
  private func references(of objects: [OutsideObject]) throws -> [ObjectKey: [Int: ObjectKey]] {
    var references: [ObjectKey: [Int: ObjectKey]] = [:]
    for object in objects {
      for relation in try shape(of: object).relations.compactMap({ $0 }) {
        for other in object.related[relation.name] ?? [] {
          if !relation.isToMany {
            references[object.id.key, default: [:]][relation.slot] = other.key
          }
          if relation.inverseSlot >= 0, !relation.inverseIsToMany {
            references[other.key, default: [:]][relation.inverseSlot] = object.id.key
          }
        }
      }
    }
    return references
  }

  private func insert(
    _ object: OutsideObject, _ references: [Int: ObjectKey], _ transaction: WriteTransaction
  ) throws {
    let made = try make(object, references)
    let entity = made.shape.entity
    try transaction.reserve(object.id.key.key, for: entity)
    try transaction.insert(
      entity, object.id.key.key,
      values: made.row)
  }

  /// Inserts a row, or writes what the row does not have yet.
  func put(_ object: OutsideObject, _ transaction: WriteTransaction) throws {
    defer { forget() }
    let references = try references(of: [object])[object.id.key] ?? [:]
    guard let row = try transaction.row(object.id.key) else {
      return try insert(object, references, transaction)
    }
    let made = try make(object, references)
    var mask = PropertyMask()
    for slot in made.shape.layout.slots where !slot.isToMany && !slot.isTransient {
      if slot.relationship != nil, object.related[slot.name] == nil { continue }
      if slot.property is DerivedAttributeDescription { continue }
      if made.values[slot.index] != row.values[slot.index] { mask.insert(slot.index) }
    }
    guard !mask.isEmpty else { return }
    try transaction.update(
      object.id.key, mask,
      values: made.row,
      expectedVersion: nil)
  }

  /// An object of no context to be, with the values of the row.
  private func make(
    _ object: OutsideObject, _ references: [Int: ObjectKey]
  ) throws -> ManagedObject {
    let shape = try shape(of: object)
    let made = shape.classToMake.init(
      ObjectBirth(
        shape: shape, graph: scratch.graph, key: scratch.graph.keys.nextTemporaryKey,
        state: .changedNew))
    scratch.graph.keys.addNew(made)
    scratch.graph.ledger.list(made)
    for (name, attribute) in shape.entity.attributesByName
    where !(attribute is DerivedAttributeDescription) && !attribute.isTransient {
      try made.setValue(object.attributes[name], forKey: name)
    }
    for slot in shape.toOneSlots {
      made.values[slot] = references[slot].map { .reference($0) } ?? .null
    }
    try scratch.graph.throwAccessorError()
    return made
  }

  private func relate(_ object: OutsideObject, _ transaction: WriteTransaction) throws {
    for case let relation? in try shape(of: object).relations where relation.isToMany {
      let others = (object.related[relation.name] ?? []).map(\.key)
      guard !others.isEmpty else { continue }
      if relation.isManyToMany {
        try transaction.addPairs(relation.description, object.id.key, others)
      }
      if relation.isOrdered {
        try transaction.setOrder(relation.description, object.id.key, others)
      }
    }
  }

  private func forget() {
    scratch.letGoOfNewObjects()
    scratch.graph.keys.retireTemporaryKeys()
  }
}
