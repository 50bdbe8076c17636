import Driftless
import DriftlessSQLite
import Foundation

/// Why an end of a relationship is as it is that does not cross the wire: the objects at the other end say it, each of which
/// has its own policy, edits and conflicts.
struct FollowingEnd {
  let key: ObjectKey
  let identity: UUID
  let entity: SyncSchema.Entity
  let end: OtherEnd

  func explanation(
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> PropertyExplanation {
    let partners = try partners(transaction)
    let identities = try partners.map { try transaction.identity(of: $0) }
    let owner = end.owner
    let ownerName = owner.entity?.name ?? entity.name
    let said =
      partners.lazy.compactMap { schema.entity(numbered: $0.entity) }.first
      ?? schema.entities.first { schemaEntity in
        owner.entity.map { schemaEntity.description.isKindOf(entity: $0) } == true
      }
    var explanation = PropertyExplanation(
      object: identity, entity: entity.name, property: end.name, value: text(identities),
      policy: said?.property(named: owner.name)?.policy.text ?? ConflictPolicy.lastWriterWins.text,
      isPending: false, changedAt: nil, author: nil, conflicts: [],
      follows: "\(ownerName).\(owner.name)")
    if let last = try lastChange(partners, transaction, schema) {
      explanation.changedAt = try transaction.hybridTime(of: last)
      explanation.author = try transaction.origin(ofTransaction: last).author
    }
    guard let state = try ReplicaState.load(from: transaction.connection) else {
      return explanation
    }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    explanation.isPending = partners.contains { partner in
      slot(of: partner, schema).map { pending[partner]?.transaction(of: $0) != nil } ?? false
    }
    let opener = OpenedEntries(transaction, schema)
    explanation.conflicts = try Journal.entries(
      naming: identity, property: owner.name, on: transaction.connection
    ).map(opener.opened)
    return explanation
  }

  private func partners(_ transaction: ReadTransaction) throws -> [ObjectKey] {
    guard !end.relationship.isToMany else {
      return try transaction.toManyKeys(of: key, end.relationship)
    }
    guard case .reference(let partner)? = try transaction.knownRow(key)?.values[end.slot] else {
      return []
    }
    return [try transaction.concreteKey(root: partner) ?? partner]
  }

  /// As an export would have it, had it to say this end.
  private func text(_ identities: [UUID]) -> String {
    let names = identities.map { "\"\($0.uuidString.lowercased())\"" }
    guard end.relationship.isToMany else { return names.first ?? "null" }
    return "[\((end.relationship.isOrdered ? names : names.sorted()).joined(separator: ","))]"
  }

  private func slot(of partner: ObjectKey, _ schema: SyncSchema) -> Int? {
    schema.entity(numbered: partner.entity)?.property(named: end.owner.name)?.slot
  }

  /// The newest transaction that history has of one of the partners' ends, or of this one.
  private func lastChange(
    _ partners: [ObjectKey], _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> Int64? {
    var slots: [ObjectKey: Int] = [:]
    for partner in partners { slots[partner] = slot(of: partner, schema) }
    slots[key] = end.slot
    var last: Int64?
    try transaction.forEachChange(after: 0) { header, type, changed, mask in
      guard let slot = slots[changed], changed != key || type != .insert,
        type == .insert || mask?.contains(slot) == true
      else { return }
      last = header.number
    }
    return last
  }
}
