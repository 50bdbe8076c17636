import Driftless
import Foundation

/// Objects that went, and that must refer to each other: none of them can come back before the others, so they come together.
struct KeptCircle {
  /// What the journal has of one.
  struct Member {
    let entry: JournalEntry
    let entity: SyncSchema.Entity
    let row: [PropertyValue]
  }

  /// The one that comes back.
  let object: UUID
  let transaction: WriteTransaction
  let schema: SyncSchema

  /// What the journal has of the object that a reference names, where that one must refer to the one that comes back, be it by way of
  /// others.
  func member(heldBy reference: PropertyValue) throws -> Member? {
    guard let identity = try identity(in: reference) else { return nil }
    var seen: Set<UUID> = []
    return try requires(identity, &seen) ? kept(identity) : nil
  }

  private func requires(_ identity: UUID, _ seen: inout Set<UUID>) throws -> Bool {
    guard seen.insert(identity).inserted, let member = try kept(identity) else { return false }
    for slot in member.entity.description.layout.slots {
      guard let relationship = slot.relationship, !relationship.isToMany, !relationship.isOptional,
        member.row.indices.contains(slot.index),
        let other = try self.identity(in: member.row[slot.index])
      else { continue }
      if try other == object || requires(other, &seen) { return true }
    }
    return false
  }

  private func identity(in reference: PropertyValue) throws -> UUID? {
    switch reference {
    case .reference(let key): try transaction.identity(of: key)
    case .uuid(let identity): identity
    default: nil
    }
  }

  private func kept(_ identity: UUID) throws -> Member? {
    guard let (entry, row) = try Journal.lastKept(of: identity, on: transaction.connection),
      let entity = schema.entity(namedNowOrBefore: entry.entity)
    else { return nil }
    return Member(entry: entry, entity: entity, row: row)
  }
}
