import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// A push names large values that neither the zone nor this store has.
struct ValuesAreNowhere: Error {
  var values: Set<LargeValue>

  var reason: SyncError {
    SyncError(
      .conflicting,
      "It has a large value that neither the zone nor this store has (SHA-256 \(values.sorted().map(\.name).joined(separator: ", "))).",
      suggestion: "It is sent again when the zone's log goes on, and when it changes: set the "
        + "value anew, or sync a replica that has it, then run: syncctl quarantine retry")
  }
}

/// Large values that are not here, and that a push tells by their names: those that are set aside, and those that rows have which an
/// undo went back to, which are looked for once.
struct ToldValues {
  fileprivate var pending: Set<LargeValue>?
}

extension SyncEngine {
  /// Whether a value is one of those.
  func isTold(_ value: LargeValue, _ told: inout ToldValues) throws -> Bool {
    let isSetAside = try store.read {
      try !ParkedValues.nameRows(of: [value], on: $0.connection).isEmpty
    }
    if isSetAside { return true }
    let pending = try told.pending ?? pendingNames()
    told.pending = pending
    return pending.contains(value)
  }

  /// The names that rows have of what is pending.
  func pendingNames() throws -> Set<LargeValue> {
    try store.read { transaction in
      let pending = try pendingSet(
        transaction, state: Self.state(on: transaction.connection, of: store))
      var names: Set<LargeValue> = []
      for (key, object) in pending.objects
      where object.whole != .delete && schema.entity(numbered: key.entity)?.showsNames == true {
        let values = try transaction.knownRow(key)?.values ?? []
        names.formUnion(values.lazy.compactMap { LargeCell.value(in: $0) })
      }
      return names
    }
  }

  /// Looks whether the zone has a value that is not here, and that a push tells by its name alone.
  func isThere(_ value: LargeValue, _ generation: UUID) async throws -> Bool {
    do {
      _ = try await transport.value(value.digest, of: generation, range: 0..<1)
      return true
    } catch let error as ProtocolError where error.code == .noValue {
      return false
    }
  }

  /// What the store had in another log or zone, and the zone has no bytes of, is told by who has them: here it is pending no more,
  /// and missing until then. An edit that went back to such a value stays.
  ///
  /// - Returns: whether something was told so.
  func withdrawNames(of lacking: Set<LargeValue>) throws -> Bool {
    let count = try bookkeep { transaction in
      let pending = try pendingSet(
        transaction, state: Self.state(on: transaction.connection, of: store))
      let connection = transaction.connection
      let (parked, missed) = (
        try ParkedValues(connection), try MissedValues.digests(on: connection)
      )
      var count = 0
      for (key, object) in pending.objects where object.whole != .delete {
        guard let entity = schema.entity(numbered: key.entity),
          entity.properties.contains(where: { object.transaction(of: $0.slot) != nil }),
          let values = try transaction.knownRow(key)?.values
        else { continue }
        var gone = PropertyMask()
        for property in entity.properties where property.standIn != nil {
          let slot = property.slot
          guard object.transaction(of: slot) != nil else { continue }
          let shown = values[slot]
          guard
            let named = try shown.isInZone ? shown : parked.value(of: key, property.name),
            let value = LargeCell.value(in: named), lacking.contains(value),
            object.isOffered(slot) || object.whole == .insert || missed[value.digest] == .left
              || missed[value.digest] == .absent
          else { continue }
          gone.insert(slot)
          if missed[value.digest] != .left {
            try MissedValues.note(value.digest, .absent, at: store.now, on: connection)
          }
        }
        guard !gone.isEmpty else { continue }
        count += 1
        var rest = object
        rest.clear(gone)
        try PendingState.save(
          rest, of: key, entity: entity, through: pending.through, on: connection)
      }
      return count
    }
    guard count > 0 else { return false }
    pendingCache = nil
    log.notice(
      "The zone lacks \(lacking.count) large values that are told by their names here: they are missing until who has them syncs"
    )
    return true
  }
}

extension PendingObject {
  /// Whether a property is told as what a zone had, with the time of its edit.
  func isOffered(_ slot: Int) -> Bool {
    !heldBack.contains(slot) && transaction(of: slot).flatMap { EditStamp.time($0) } != nil
  }
}
