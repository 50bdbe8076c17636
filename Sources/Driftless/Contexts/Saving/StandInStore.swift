import Foundation

/// A store in memory that stands for one that an application keeps in a form of its own.
///
/// Its rows are filled from there as it is opened. A save writes rows as in any store, and tells it before they are committed:
/// where that throws, the save fails and nothing was written.
package protocol StandInStore: PersistentStore {
  /// The keys that new objects get, in their order.
  func keys(forNew objects: [ManagedObject]) throws -> [Int64]
  /// Rows were written in a transaction that has not committed yet; contexts that are made now read them.
  func willCommit(_ changes: StoreChanges, _ coordinator: PersistentStoreCoordinator) throws
}

/// What a save writes to one store.
package struct StoreChanges {
  package let inserted: [ManagedObjectID]
  package let updated: [ManagedObjectID]
  package let deleted: [ManagedObjectID]
}

extension SaveWriter {
  /// What was written, by the IDs that the objects have in the store.
  var storeChanges: StoreChanges {
    func ids(_ keys: [ObjectKey]) -> [ManagedObjectID] {
      var known: Set<ObjectKey> = []
      return keys.filter { known.insert($0).inserted }.compactMap(plan.objectID)
    }
    let merged = resolutions.filter { $0.values != nil }.map(\.object.objectKey)
    let lost = resolutions.filter { $0.values == nil }.map(\.object.objectKey)
    return StoreChanges(
      inserted: ids(inserted.map { newKey($0.objectKey) }),
      updated: ids(updated.map(\.objectKey) + merged + derivedOnly),
      deleted: ids(deleted.map(\.objectKey) + lost))
  }
}

extension ManagedObjectContext {
  /// Stores that stand for others choose the keys of new objects: these have them before rows are written.
  func nameForStandIns(_ plans: [ObjectPlan]) throws {
    for plan in plans where plan.store is any StandInStore {
      try obtainPermanentIDs(
        for: changedObjects.selected { object in
          object.isIn(self) && object.isInserted && !object.isDeleted
            && object.shape.planIndex == plan.index
        })
    }
  }
}

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
    let filler = StoreFiller(plan, ManagedObjectContext(coordinator))
    _ = try write(TransactionInfo()) { try filler.fill(objects, $0) }
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
    let shape = try shape(of: object)
    let made = shape.objectClass.init(
      ObjectBirth(
        shape: shape, graph: scratch.graph, key: scratch.graph.keys.nextTemporaryKey,
        state: [.inserted, .dirty, .touched, .inEvent]))
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
    try transaction.reserve(object.id.key.key, for: shape.entity)
    try transaction.insert(
      shape.entity, object.id.key.key,
      values: UnsafeBufferPointer(start: made.values, count: shape.slotCount))
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
