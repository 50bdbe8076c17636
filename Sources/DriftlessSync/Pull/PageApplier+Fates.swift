import Driftless
import DriftlessSQLite
import Foundation

/// Carries out what `DeleteFates` decides.
extension PageApplier {
  func settleDeletes(_ fates: inout DeleteFates) throws {
    try fates.addReferredTo()
    guard !fates.candidates.isEmpty else { return }
    try fates.decide()
    try changingSets {
      for key in fates.keptInOrder {
        if let kept = fates.kept[key] { try keep(kept, fates.candidates[key]?.object) }
      }
    }
    let gone = fates.keys.filter { fates.kept[$0] == nil }
    for key in gone { try journalDelete(key, fates) }
    try changingSets {
      for taken in fates.taken.values.sorted(by: {
        ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key)
      }) {
        try take(taken, fates)
      }
      try carryOut(gone, fates)
    }
  }

  /// Carries out the deletes that stand.
  private func carryOut(_ gone: [ObjectKey], _ fates: DeleteFates) throws {
    for key in gone {
      if let candidate = fates.candidates[key], candidate.side == .zone,
        let entity = schema.entity(numbered: key.entity)
      {
        if let deleted = candidate.object.mark?.side {
          try times.note(deleted.time, by: origin(of: deleted))
        }
        try deleteHere(entity, key)
        report.deleted += 1
      }
      if fates.candidates[key]?.side == .here {
        // It comes back with what the zone says of it, should something turn out to need it.
        standingDeletes.append(key)
      } else {
        try zone.remove(key)
      }
    }
  }

  /// Whether an object lives, or does so again since another one must refer to it: it was deleted here alone.
  func isThere(_ target: ObjectKey, orBackFor source: ObjectKey) throws -> Bool {
    if try transaction.concreteKey(root: target) != nil { return true }
    var fates = DeleteFates(self)
    guard let deleted = try fates.deleted(target) else { return false }
    fates.add(deleted, try zone.object(deleted), .here)
    try fates.keep(deleted, requiredBy: source)
    for key in fates.keptInOrder {
      guard let kept = fates.kept[key] else { continue }
      try keep(kept, fates.candidates[key]?.object ?? zone.object(key))
      for taken in takenAlong.removeValue(forKey: key) ?? [] { try taken.bringBack(self) }
    }
    return try transaction.concreteKey(root: target) != nil
  }

  /// An object that one side deleted stays, or comes back.
  private func keep(_ kept: DeleteFates.Kept, _ object: ZoneStates.Object?) throws {
    let key = kept.key
    guard let entity = schema.entity(numbered: key.entity) else { return }
    guard pending[key]?.whole == .delete else {
      return try revive(
        entity, key, object ?? ZoneStates.Object(), cause: kept.cause,
        because: kept.reason.explanation(ofRevival: false)
          + (object?.mark?.isUntold == true ? Self.untoldBeforeDelete : ""))
    }
    guard try buried(entity, key) != nil else {
      if EditStamp.time(pending[key]?.wholeTransaction ?? 0) != nil {
        // The zone lost the delete that it had acknowledged, and has the object since before that.
        throw UnknownZoneValue(entity: entity.name, property: nil)
      }
      // Its row was not kept, as with a delete from before the store was enrolled: the delete stands.
      if let object { try journalKeptDelete(entity, key, object) }
      return try zone.remove(key)
    }
    let deleted = try transaction.editTime(pending[key]?.wholeTransaction ?? 0)
    try bringBack(entity, key)
    if let object { try settleValues(entity, key, object) }
    try zone.remove(key)
    try journal.addWhole(
      entity: entity, key: key, outcome: .remote, localTime: deleted,
      side: object?.newestSide ?? .unknown,
      explanation: kept.reason.explanation(ofRevival: true))
    report.conflicts += 1
  }

  /// An object that the zone deleted stays, and is pushed whole.
  ///
  /// - Parameter cause: the pending transaction that keeps it; nil for its own last one.
  func revive(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ object: ZoneStates.Object,
    cause: Int64? = nil, because reason: String
  ) throws {
    guard let mark = object.mark else { return }
    let last = cause ?? pending[key]?.lastTransaction ?? 0
    setPending(key) { state in
      state.whole = .revive
      state.wholeTransaction = max(last, state.lastTransaction)
    }
    try settleValues(entity, key, object)
    setPending(key) {
      $0.whole = .revive; $0.wholeTransaction = last; $0.isDeadInZone = !mark.isBuried
    }
    try zone.remove(key)
    try journal.addWhole(
      entity: entity, key: key, outcome: .local, localTime: try transaction.editTime(last),
      side: mark.side, explanation: reason)
    report.conflicts += 1
  }

  /// Journals what a delete that stands takes of the other side.
  private func journalDelete(_ key: ObjectKey, _ fates: DeleteFates) throws {
    guard let candidate = fates.candidates[key], let entity = schema.entity(numbered: key.entity)
    else { return }
    switch candidate.side {
    case .zone:
      let side = candidate.object.mark?.side ?? .unknown
      try journalLostEdits(entity, key, side)
      for reference in try fates.references(to: key) where fates.taken[reference.source] == nil {
        try journalCut(
          reference, to: key, outcome: .remote,
          localTime: try transaction.editTime(reference.cause), side: side)
      }
    case .here:
      try journalKeptDelete(entity, key, candidate.object)
      let deleted = try transaction.editTime(pending[key]?.wholeTransaction ?? 0)
      let references = try fates.references(to: key) + fates.unseenReferences(to: key)
      for reference in references where fates.taken[reference.source] == nil {
        try journalCut(
          reference, to: key, outcome: .local, localTime: deleted,
          side: candidate.object.newestSide ?? .unknown)
      }
      try dangling.markTold(root: entity.rootNumber, target: key.key)
      // The delete stands on what the zone says: the next push carries it.
      touched.insert(key)
    }
  }

  /// Deletes an object that a delete takes along, as if it were deleted here.
  private func take(_ taken: DeleteFates.Taken, _ fates: DeleteFates) throws {
    let key = taken.key
    try finishSets(of: key)
    guard let entity = schema.entity(numbered: key.entity), try transaction.knownRow(key) != nil
    else { return }
    let candidate = fates.candidates[taken.target]
    let isOurs = candidate?.side == .here
    let values = try currentValues(of: key)
    if isOurs { takenAlong[taken.target, default: []].append(try TakenAlong(key, entity, self)) }
    try journal.addWhole(
      entity: entity, key: key, outcome: isOurs ? .local : .remote,
      localTime: try transaction.editTime(pending[key]?.lastTransaction ?? taken.cause),
      side: candidate?.object.newestSide ?? .unknown, row: values,
      explanation: isOurs
        ? "It refers to an object that was deleted here, and goes with it."
        : "It refers to an object that another replica deleted, and goes with it.")
    report.conflicts += 1
    // Of a new object the entry above says all.
    if pending[key]?.whole == PendingObject.Whole.none {
      try journalLostEdits(
        entity, key, candidate?.object.newestSide ?? .unknown,
        because: "and the object goes with one that was deleted.")
    }
    for referrer in schema.referrers(of: entity) {
      for source in try transaction.keys(referring: referrer.relationship, to: key)
      where source != key && fates.taken[source] == nil {
        try journalCut(
          DeleteFates.Reference(
            source: source, referrer: referrer, cause: taken.cause, rule: .nullify),
          to: key, outcome: isOurs ? .local : .remote,
          localTime: try transaction.editTime(pending[source]?.lastTransaction ?? taken.cause),
          side: candidate?.object.newestSide ?? .unknown)
      }
    }
    try deleteAgain(key, entity, values, taken.cause)
  }

  /// Deletes an object as if it were deleted here: the delete is pending where the zone knows the object.
  ///
  /// - Parameter cause: the transaction of the delete, or its time (`EditStamp`).
  func deleteAgain(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ values: [PropertyValue], _ cause: Int64
  ) throws {
    let isKnown = try directory.number(root: entity.rootNumber, key: key.key) != nil
    if isKnown {
      for property in entity.properties {
        guard case .elements(let relationship) = property.kind,
          try BaseValues.keys(of: key, property.name, on: transaction.connection) == nil
        else { continue }
        try BaseValues.replace(
          key, property.name, with: try transaction.toManyKeys(of: key, relationship),
          on: transaction.connection)
      }
      try transaction.bury(key, values)
    }
    try cutReferences(to: key, entity)
    try transaction.delete(key, expectedVersion: nil)
    try zone.remove(key)
    setPending(key) { object in
      guard isKnown else {
        object = PendingObject()
        return
      }
      object.whole = .delete
      object.wholeTransaction = cause
    }
  }
}

extension DeleteFates.Reason {
  /// - Parameter isRevival: It was deleted here, and comes back.
  func explanation(ofRevival isRevival: Bool) -> String {
    let (who, ending) =
      isRevival
      ? ("Deleted here", "the object is back.")
      : ("Deleted by another replica", "the object stays.")
    return switch self {
    case .edited where isRevival:
      "Deleted here, edited by another replica: the edit wins, the object is back."
    case .edited: PageApplier.editWins
    case .cascaded: "\(who) with an object that an edit keeps: \(ending)"
    case .denied: "\(who), while an object that denies it refers to it: \(ending)"
    case .tied: "\(who), while an object that would go with it may not: \(ending)"
    case .required: "\(who), while an object that requires it refers to it: \(ending)"
    }
  }
}

extension ZoneStates.Object {
  /// Who said the newest of it, and when.
  var newestSide: RemoteSide? {
    let sides = values.values.map(\.side) + [mark?.side].compactMap { $0 }
    return sides.max { $0.sequence < $1.sequence }
  }
}

extension RemoteSide {
  /// Of a change of which only what it led to is known.
  static let unknown = RemoteSide(
    value: .null, time: HybridTime(rawValue: 0),
    origin: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), sequence: 0)
}
