import Driftless
import Foundation

/// Objects that went at once, and that must refer to each other: none of them can come back before the others, so they come together.
final class KeptCircle {
  /// What the journal has of one.
  struct Member {
    let entry: JournalEntry
    let entity: SyncSchema.Entity
    let row: [PropertyValue]
  }

  /// What tells of the one that comes back, and what it was.
  private let entry: JournalEntry
  private let row: [PropertyValue]
  private let entity: SyncSchema.Entity
  private let transaction: WriteTransaction
  private let schema: SyncSchema

  init(
    of entry: JournalEntry, _ entity: SyncSchema.Entity, _ row: [PropertyValue],
    _ transaction: WriteTransaction, schema: SyncSchema
  ) {
    (self.entry, self.entity, self.row) = (entry, entity, row)
    self.transaction = transaction
    self.schema = schema
  }

  /// What of the journal tells of what went with it: what it has of an object from before is not what that was by then.
  private lazy var drop = Result { try Journal.drop(of: entry, on: transaction.connection) }

  /// Those that must refer to the one that comes back, be it by way of others.
  private lazy var members = Result { try findMembers() }

  /// What the journal has of the object that a reference names, where that one must refer to the one that comes back, be it by way of
  /// others.
  func member(heldBy reference: PropertyValue) throws -> Member? {
    guard let identity = try identity(in: reference), try members.get().contains(identity) else {
      return nil
    }
    return try kept(identity)
  }

  /// What the journal has of an object that went with the one that comes back, and on which nobody has decided.
  func kept(_ identity: UUID) throws -> Member? {
    guard
      let (entry, row) = try Journal.kept(
        of: identity, in: drop.get(), on: transaction.connection),
      let entity = schema.entity(namedNowOrBefore: entry.entity)
    else { return nil }
    return Member(entry: entry, entity: entity, row: row)
  }

  /// Goes from the one that comes back over all that is required, and from there back. Chains may be as long as there are objects.
  private func findMembers() throws -> Set<UUID> {
    var owners: [UUID: [UUID]] = [:]
    var seen: Set<UUID> = [entry.object]
    var left = [entry.object]
    while let identity = left.popLast() {
      let isFirst = identity == entry.object
      guard
        let member = try isFirst
          ? Member(entry: entry, entity: entity, row: row) : kept(identity)
      else { continue }
      for other in try required(by: member) {
        owners[other, default: []].append(identity)
        if seen.insert(other).inserted { left.append(other) }
      }
    }
    var members: Set<UUID> = []
    left = owners[entry.object] ?? []
    while let identity = left.popLast() {
      guard identity != entry.object, members.insert(identity).inserted else { continue }
      left += owners[identity] ?? []
    }
    return members
  }

  private func required(by member: Member) throws -> [UUID] {
    try member.entity.description.layout.slots.compactMap { slot in
      guard let relationship = slot.relationship, !relationship.isToMany, !relationship.isOptional,
        member.row.indices.contains(slot.index)
      else { return nil }
      return try identity(in: member.row[slot.index])
    }
  }

  private func identity(in reference: PropertyValue) throws -> UUID? {
    switch reference {
    case .reference(let key): try transaction.identity(of: key)
    case .uuid(let identity): identity
    default: nil
    }
  }
}
