/// One-to-one relationships where a merge policy decided: each end is a column of a row of its own, and the policy may have kept
/// the one and not the other.
extension SaveWriter {
  /// A reference, and whose it is.
  private struct Reference: Hashable {
    let owner: ObjectKey
    let end: Int64
  }

  /// Two objects that refer to each other stay together. A reference that its end does not answer, since it refers to another
  /// object or to none, or is gone, is cut.
  mutating func cutUnansweredReferences(_ transaction: WriteTransaction) throws {
    guard !decided.isEmpty, !plan.store.readsOutside else { return }
    var answers: [(row: ReadTransaction.Row, slot: Int)] = []
    var changed: [ObjectKey] = []
    let new = Dictionary(
      inserted.map { (newKey($0.objectKey), $0) }, uniquingKeysWith: { first, _ in first })
    for shape in plan.shapes {
      for case let relation? in shape.relations
      where relation.isOneToOne && relation.description.entity === shape.entity {
        for reference in try references(by: relation, of: shape, transaction) {
          if let end = try answer(to: reference, relation, transaction) {
            answers.append((end, relation.inverseSlot))
          } else if try !mayDangle(reference, relation, transaction) {
            changed += try cut(reference.owner, relation, new, transaction)
          }
        }
      }
    }
    try showRows(of: changed, transaction)
    show(answers)
  }

  /// The references of objects that this save wrote, and those to such objects.
  private func references(
    by relation: Relation, of shape: ObjectShape, _ transaction: WriteTransaction
  ) throws -> Set<Reference> {
    var found: Set<Reference> = []
    let keys = writtenKeys
    for key in keys where plan.shape(numbered: key.entity)?.isKind(of: shape.entity) == true {
      guard let row = try transaction.ownRow(key),
        case .reference(let end) = row.values[relation.slot]
      else { continue }
      found.insert(Reference(owner: key, end: end.key))
    }
    let ends = keys.filter {
      plan.shape(numbered: $0.entity)?.isKind(of: relation.destination) == true
    }
    guard !ends.isEmpty, let column = transaction.column(of: relation.description) else {
      return found
    }
    try transaction.forEachReference(to: ends.map(\.key), in: column, of: shape.entity) {
      found.insert(Reference(owner: $1, end: $0))
    }
    return found
  }

  private var writtenKeys: Set<ObjectKey> {
    Set(inserted.map { newKey($0.objectKey) })
      .union((updated + deleted + resolutions.map(\.object)).map(\.objectKey))
  }

  /// The row that a reference leads to, where that refers to the owner; nil where it does not.
  private func answer(
    to reference: Reference, _ relation: Relation, _ transaction: WriteTransaction
  ) throws -> ReadTransaction.Row? {
    guard let number = plan.shape(named: relation.destination.rootEntity.name)?.number,
      let end = try transaction.concreteKey(root: ObjectKey(entity: number, key: reference.end)),
      let row = try transaction.ownRow(end),
      case .reference(let answer) = row.values[relation.inverseSlot]
    else { return nil }
    return answer.key == reference.owner.key ? row : nil
  }

  /// Whether the end is gone, and the delete rule leaves references to it as they are.
  private func mayDangle(
    _ reference: Reference, _ relation: Relation, _ transaction: WriteTransaction
  ) throws -> Bool {
    guard relation.description.inverseRelationship?.deleteRule == .noAction,
      let number = plan.shape(named: relation.destination.rootEntity.name)?.number
    else { return false }
    return try transaction.concreteKey(root: ObjectKey(entity: number, key: reference.end)) == nil
  }

  /// Ends that this save does not write may have got their references by another one: the context shows them as the policy decided.
  private mutating func show(_ answers: [(row: ReadTransaction.Row, slot: Int)]) {
    guard !answers.isEmpty else { return }
    var known = Set(resolutions.lazy.map { ObjectIdentifier($0.object) })
    for (row, slot) in answers {
      guard let end = context.graph.registered(row.key, in: plan.index), !end.lacksValues,
        !end.hasChanges, end.values[slot] != row.values[slot],
        known.insert(ObjectIdentifier(end)).inserted
      else { continue }
      resolutions.append(.init(object: end, values: row.values, version: row.version))
    }
  }

  /// - Parameter new: The new objects, by the keys that they got.
  /// - Returns: The objects whose rows it changed, but for a new one.
  private mutating func cut(
    _ owner: ObjectKey, _ relation: Relation, _ new: [ObjectKey: ManagedObject],
    _ transaction: WriteTransaction
  ) throws -> [ObjectKey] {
    if let former = try formerPartner(of: owner, relation, transaction) {
      try write(.reference(former), to: owner, at: relation.slot, transaction)
      try write(.reference(owner), to: former, at: relation.inverseSlot, transaction)
      return [owner, former]
    }
    try write(.null, to: owner, at: relation.slot, transaction)
    try requireOptional(relation, of: owner)
    guard let new = new[owner], let row = try transaction.ownRow(owner) else { return [owner] }
    cuts.append(Cut(object: new, slot: relation.slot, version: row.version))
    return []
  }

  /// The one that an owner had before this save gave it an end that does not answer, where that has nobody either since.
  private func formerPartner(
    of owner: ObjectKey, _ relation: Relation, _ transaction: WriteTransaction
  ) throws -> ObjectKey? {
    guard let object = context.graph.registered(owner, in: plan.index),
      [nil, .mergeByPropertyStoreTrump].contains(decided[object.objectID]),
      case .reference(let former)? = object.committed?[relation.slot], former.key != owner.key,
      let partner = context.graph.registered(former, in: plan.index), !partner.isDeleted,
      case .reference(let back)? = partner.committed?[relation.inverseSlot], back.key == owner.key,
      let row = try transaction.ownRow(partner.objectKey), row.values[relation.inverseSlot].isNull
    else { return nil }
    return partner.objectKey
  }

  func write(
    _ value: PropertyValue, to key: ObjectKey, at slot: Int, _ transaction: WriteTransaction
  ) throws {
    var values = [PropertyValue](repeating: .null, count: slot + 1)
    values[slot] = value
    try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
  }
}

extension Relation {
  /// Whether it and its other end hold one object each.
  fileprivate var isOneToOne: Bool { !isToMany && inverseSlot >= 0 && !inverseIsToMany }
}
