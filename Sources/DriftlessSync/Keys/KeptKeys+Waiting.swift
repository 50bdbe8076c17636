import Driftless
import DriftlessSQLite
import Foundation

/// Values that wait for their keys with nothing pending: the log has two holders of one key, since programs without the
/// constraint gave it to both. A person gives one of them another value.
extension KeptKeys {
  struct Waiting {
    var key: ObjectKey
    var property: String
    /// The properties of the constraint.
    var names: [String]
    /// The object that has the key.
    var holder: ObjectKey
    var side: RemoteSide
    var bytes: Int
  }

  /// How a list of what is set aside names them.
  static let code = "key-taken"

  static func waiting(
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [Waiting] {
    let connection = transaction.connection
    guard try exist(on: connection) else { return [] }
    var rows: [ObjectKey: [(property: SyncSchema.Property, side: RemoteSide, bytes: Int)]] = [:]
    try forEach(on: connection, schema) { key, property, side, bytes in
      // Half a pair waits for no key.
      guard property.relationship?.isOwnOneToOne != true else { return }
      rows[key, default: []].append((property, side, bytes))
    }
    var waiting: [Waiting] = []
    for (key, kept) in rows {
      // What is deleted here comes back with it, should it come back.
      guard let shown = try transaction.knownOwnRow(key)?.values,
        let entity = schema.entity(numbered: key.entity)
      else { continue }
      var claimed = shown
      for value in kept { claimed[value.property.slot] = value.side.value }
      for (property, side, bytes) in kept where shown[property.slot].isNull {
        // An edit over it ends its waiting.
        guard try !BaseValues.isKept(of: key, property.name, on: connection),
          let found = try transaction.keyHolders(
            of: key, claimed, touching: PropertyMask([property.slot])
          ).first
        else { continue }
        waiting.append(
          Waiting(
            key: key, property: property.name,
            names: found.slots.compactMap { entity.property(at: $0)?.name },
            holder: found.holder, side: side, bytes: bytes))
      }
    }
    return waiting
  }

  /// What waits, as a list of what is set aside tells it.
  static func parked(_ transaction: ReadTransaction, _ schema: SyncSchema) throws -> [ParkedEntry] {
    try waiting(transaction, schema).map { waiting in
      let holder = try transaction.identity(of: waiting.holder).uuidString.lowercased()
      return ParkedEntry(
        sequence: waiting.side.sequence, sender: waiting.side.origin, code: code,
        reason: "\(waiting.names.joined(separator: ", ")) is unique, and object \(holder) has "
          + "this value: give one of the two another one.",
        names: [], object: try transaction.identity(of: waiting.key),
        entity: schema.entity(numbered: waiting.key.entity)?.name, property: waiting.property,
        since: waiting.side.time.date, bytes: waiting.bytes)
    }
  }
}
