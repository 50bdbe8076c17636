import Driftless
import Foundation

/// What the journal says of objects that became one, and of those that are two again.
extension Unions {
  /// What makes two objects one.
  enum Bond {
    case key
    /// Each must have a partner that only one of them can have.
    case partner
  }

  func journal(
    _ identity: UUID, _ stayed: ObjectKey, _ entity: SyncSchema.Entity, _ object: PendingObject,
    _ values: [PropertyValue], _ side: RemoteSide, _ bond: Bond
  ) throws {
    let localTime = try transaction.editTime(object.lastTransaction)
    var side = side
    // What an edit here brought together, no change of the zone did.
    if side.time.rawValue == 0 { side.time = localTime }
    let what =
      switch bond {
      case .key: "An object of the zone has the same unique key"
      case .partner: "A new object of the zone has the same partner, which each must have"
      }
    try applier.journal.addWhole(
      entity: entity, key: stayed, outcome: .combined, localTime: localTime, side: side,
      row: values,
      explanation:
        "\(what): the one made here, \(identity.uuidString.lowercased()), is one with it.")
  }

  func journalUndo(
    _ key: ObjectKey, _ stayed: ObjectKey, _ entity: SyncSchema.Entity
  ) throws {
    let gone = try transaction.identity(of: stayed).uuidString.lowercased()
    let side = applier.keptKeys.side
    try applier.journal.addWhole(
      entity: entity, key: key, outcome: .local, localTime: side.time, side: side,
      explanation: "It was one with object \(gone), which another replica deleted before the zone "
        + "heard of that: it is an object of its own again.")
    applier.report.conflicts += 1
  }
}
