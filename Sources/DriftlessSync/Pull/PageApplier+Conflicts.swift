import Driftless
import DriftlessProtocol
import Foundation

/// The remote side of a conflict.
struct RemoteSide {
  var value: PropertyValue
  var time: HybridTime
  var origin: UUID
  var sequence: UInt64
}

extension PageApplier {
  /// Settles a conflict over one property, journals it, and says what to write; nil leaves the row
  /// as it is.
  func settle(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, of key: ObjectKey,
    local: PropertyValue, localTransaction: Int64, remote: RemoteSide, isInsert: Bool
  ) throws -> PropertyValue? {
    // Two creations of one object share no base.
    let base = isInsert ? nil : try baseValue(of: key, property)
    var conflict = PropertyConflict(
      policy: property.policy, base: base, local: local, remote: remote.value,
      localTime: try transaction.editTime(localTransaction), remoteTime: remote.time,
      localReplica: replica, remoteReplica: remote.origin,
      isOfTwoCreations: isInsert)
    if case .attribute(let attribute, let type) = entity.description.layout.slots[property.slot]
      .kind
    {
      (conflict.attribute, conflict.type) = (attribute, type)
    }
    conflict.isOffered = EditStamp.time(localTransaction) != nil
    conflict.hasCounts =
      try property.policy == .counter && !transaction.deltas(of: key, property.name).isEmpty
    let verdict =
      notHeld(conflict, property)
      ?? MergeTable.settle(conflict) { name, conflict in
        customValue(name, conflict, entity, property, of: key)
      }
    let mask = PropertyMask([property.slot])
    let written: PropertyValue?
    switch verdict.settlement {
    case .same:
      setPending(key) { $0.clear(mask) }
      try dropBase(of: key, property)
      return nil
    case .sameButLater:
      touched.insert(key)
      try replaceBase(of: key, property, with: verdict.base ?? remote.value)
      return nil
    case .remote:
      setPending(key) { $0.clear(mask) }
      try dropBase(of: key, property)
      if property.relationship?.ownsOneToOne == true {
        partnerWords[key, default: [:]][property.slot] = remote
      }
      written = remote.value
    case .local:
      // The merge changes nothing of what is pending, but the zone's value is the base from now on.
      touched.insert(key)
      try replaceBase(of: key, property, with: verdict.base ?? remote.value)
      written = nil
    case .combined(let value):
      if value == remote.value, !conflict.hasCounts {
        setPending(key) { $0.clear(mask) }
        try dropBase(of: key, property)
      } else {
        touched.insert(key)
        try replaceBase(of: key, property, with: verdict.base ?? remote.value)
      }
      written = value
    }
    if case .place = property.kind {
      placeConflicts.add(
        PlaceConflicts.Conflict(
          entity: entity, property: property, key: key, sides: conflict, verdict: verdict,
          sequence: remote.sequence))
      return written
    }
    try journal.add(
      conflict, verdict, entity: entity, property: property, key: key, sequence: remote.sequence)
    report.conflicts += 1
    return written
  }

  /// The verdict on an edit that adds to a value of the zone which the model here cannot hold.
  func notHeld(_ conflict: PropertyConflict, _ property: SyncSchema.Property) -> Verdict? {
    let isUnread =
      SealedValue.cell(in: conflict.remote) != nil || LargeCell.value(in: conflict.remote) != nil
    if !property.policy.addsToFormer, isUnread { return unopened(conflict) }
    guard property.policy.addsToFormer, !conflict.remote.isNull,
      let refusal = property.standIn?.refusal(of: conflict.remote)
    else { return nil }
    // CONFLICT: what was added here, and a zone's value that is too large for the model, or of another type.
    // RESOLUTION: the zone's value stands and is parked: no sum with it could be held here, and one
    // that stops at the bounds of this model would take away from it for everybody.
    return Verdict(
      .remote, rule: "the zone's value",
      note: "It does not fit this model (\(refusal)), so nothing could be added to it here.")
  }

  /// The verdict on an edit that meets a value which could not be opened here.
  private func unopened(_ conflict: PropertyConflict) -> Verdict? {
    switch conflict.policy {
    // CONFLICT: an edit here, and a zone's value that only others read, of a policy that looks at both values.
    // RESOLUTION: the later edit stands: of a cell neither the size is known nor what an app's rule makes of it.
    case .max, .min, .custom:
      LastWriterWins.settle(conflict, since: "since the zone's value cannot be read here")
    case .lastWriterWins, .serverWins, .clientWins, .manual, .counter, .union, .text: nil
    }
  }

  private func customValue(
    _ name: String, _ conflict: PropertyConflict, _ entity: SyncSchema.Entity,
    _ property: SyncSchema.Property, of key: ObjectKey
  ) -> PropertyValue? {
    guard let policy = options.customPolicies[name],
      let identity = try? transaction.identity(of: key)
    else { return nil }
    return policy(
      SyncOptions.Conflict(
        entity: entity.name, property: property.name, identity: identity, base: conflict.base,
        local: conflict.local, remote: conflict.remote, localTime: conflict.localTime,
        remoteTime: conflict.remoteTime))
  }

  /// Whether a local edit has the time of the zone's; so has one that is nobody's.
  func isAsOld(_ edited: Int64?, _ side: RemoteSide) throws -> Bool {
    try edited.map { try transaction.editTime($0) == side.time } ?? true
  }

  /// The values of a row, by slot.
  func currentValues(of key: ObjectKey) throws -> [PropertyValue] {
    guard let row = try transaction.knownOwnRow(key) else {
      throw SyncError.damaged("object \(key.key) of entity number \(key.entity)")
    }
    // What is pending would be settled as a null, and what was edited here be lost: it is told with its file.
    if let edited = pending[key]?.properties, row.lost.intersects(edited) {
      _ = try transaction.row(key)
    }
    return keptKeys.claimed(key, row.values)
  }

  /// What the zone has of a property, or what is offered of it: a value that the model here cannot hold, for which the row shows
  /// something else, or that of the row. It is what a push tells (`PendingReader`).
  ///
  /// - Parameter shown: the row's.
  func known(
    _ property: SyncSchema.Property, of key: ObjectKey, _ shown: PropertyValue
  ) throws -> PropertyValue {
    guard property.standIn != nil,
      pending[key]?.transaction(of: property.slot).map({ EditStamp.time($0) != nil }) ?? true
    else { return shown }
    return try parkedValues.value(of: key, property.name) ?? shown
  }

  func baseValue(of key: ObjectKey, _ property: SyncSchema.Property) throws -> PropertyValue? {
    guard property.needsBase else { return nil }
    return try BaseValues.value(of: key, property.name, on: transaction.connection)
  }

  /// Nothing is pending of a property any more.
  func dropBase(of key: ObjectKey, _ property: SyncSchema.Property) throws {
    guard property.needsBase else { return }
    try BaseValues.drop(key, property.name, on: transaction.connection)
    if property.keepsDeltas { try transaction.dropDeltas(of: key, property.name) }
  }

  /// What is pending of a property is on this value of the zone from now on.
  func replaceBase(
    of key: ObjectKey, _ property: SyncSchema.Property, with value: PropertyValue
  ) throws {
    // What a reference was that a delete cut is kept as well: the zone may have said since that it is another one.
    let connection = transaction.connection
    guard try property.needsBase || BaseValues.value(of: key, property.name, on: connection) != nil
    else { return }
    try BaseValues.replace(key, property.name, with: value, on: connection)
  }
}
