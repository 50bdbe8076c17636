import Foundation

/// A context that comes in the place of another.
extension ManagedObjectContext {
  /// Takes over the new objects of a context that was nowhere, with their relationships. One whose entity is not here as it is
  /// stays behind, and makes the next save fail.
  package func takeNewObjects(of other: ManagedObjectContext) {
    var comers: [Comer] = []
    for object in other.graph.keys.newObjects where object.isInserted && !object.isDeleted {
      graph.deferError {
        comers.append(Comer(object, try shape(taking: object), of: other.graph.keys))
      }
    }
    // What its accessors could not do is heard at the next save, as it would have been there.
    for error in other.graph.accessorErrors { graph.deferError { throw error } }
    guard !comers.isEmpty else { return }
    for comer in comers { other.vanish(comer.object) }
    let coming = Set(comers.map { ObjectIdentifier($0.object) })
    other.graph.ledger.forget { coming.contains(ObjectIdentifier($0)) }
    var keys: [Int64: ObjectKey] = [:]
    for comer in comers { keys[comer.formerKey.key] = take(comer) }
    for comer in comers {
      comer.object.rename { keys[$0.key] ?? $0 }
      comer.object.noteClaims()
    }
  }

  /// A new object of the other context, with what was known of it there.
  private struct Comer {
    let object: ManagedObject
    let shape: ObjectShape
    let formerKey: ObjectKey
    let identity: UUID?
    /// Whether somebody may come with its ID.
    let isGivenOut: Bool
    let trace: TemporaryKeyTrace?

    init(_ object: ManagedObject, _ shape: ObjectShape, of keys: borrowing IdentityMap) {
      self.object = object
      self.shape = shape
      formerKey = object.objectKey
      identity = keys.identity(of: object.key)
      isGivenOut = keys.isGivenOut(object.key)
      trace = keys.trace(of: object.key)
    }
  }

  private func shape(taking object: ManagedObject) throws(ObjectError) -> ObjectShape {
    let shape = try shape(named: object.entity.name)
    guard shape.hasSlots(of: object.shape), shape.takes(type(of: object)) else {
      throw ObjectError(
        .unknownEntity,
        "\(object.entity.name) is another one in the context's stores than that of the object",
        suggestion: "Make the object with the entity of the model that the stores have.")
    }
    return shape
  }

  /// It awoke there, and its insert can be taken back as it was registered.
  private func take(_ comer: Comer) -> ObjectKey {
    let object = comer.object
    object.join(graph, key: graph.keys.nextTemporaryKey, as: comer.shape)
    graph.keys.addNew(object)
    graph.retained?.insert(object)
    if let identity = comer.identity { graph.keys.give(identity, to: object.key) }
    graph.ledger.list(object)
    graph.ledger.noteInEvent(object)
    object.state.note(.insertedInEvent)
    let plan = comer.shape.planIndex
    if comer.isGivenOut {
      graph.keys.notePermanent(
        PlacedKey(plan: plan, key: object.objectKey), for: comer.formerKey.key, comer.trace)
      graph.keys.noteGivenOut(object.key)
    }
    if undoManager != nil {
      graph.keys.noteRenamed(comer.formerKey, object.objectKey, in: plan)
    }
    return object.objectKey
  }
}
