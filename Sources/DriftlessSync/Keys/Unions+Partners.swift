import Driftless

extension Unions {
  /// CONFLICT: each of the two has a partner that was set here, and not sent. RESOLUTION: the one that was set later has the
  /// object.
  func keepOnePartner(
    _ referrers: [(SyncSchema.Referrer, [ObjectKey])], of stayed: ObjectKey, _ side: RemoteSide
  ) throws {
    for (referrer, _) in referrers {
      let slot = referrer.property.slot
      guard !referrer.relationship.isToMany,
        referrer.relationship.inverseRelationship.map({ !$0.isToMany }) == true
      else { continue }
      let owners = try transaction.keys(referring: referrer.relationship, to: stayed)
      let edits = try owners.compactMap { owner in
        try applier.pending[owner]?.transaction(of: slot).map {
          (owner: owner, time: try transaction.editTime($0))
        }
      }
      // Where one is the zone's, the two clash (`OneToOneEnds`).
      guard edits.count > 1, edits.count == owners.count,
        let last = edits.max(by: { $0.time < $1.time })
      else { continue }
      for edit in edits where edit.owner != last.owner {
        guard let entity = applier.schema.entity(numbered: edit.owner.entity) else { continue }
        var values = try applier.currentValues(of: edit.owner)
        let conflict = PropertyConflict(
          policy: referrer.property.policy, base: nil, local: values[slot], remote: .null,
          localTime: edit.time, remoteTime: last.time, localReplica: applier.replica,
          remoteReplica: applier.replica)
        try applier.journal.add(
          conflict,
          Verdict(
            .remote, rule: "one partner",
            note: "Its partner became one with another object, which got a partner here later."),
          entity: entity, property: referrer.property, key: edit.owner, sequence: side.sequence)
        values[slot] = .null
        try transaction.update(
          edit.owner, PropertyMask([slot]), values: values, expectedVersion: nil)
        applier.report.updated += 1
      }
    }
  }
}
