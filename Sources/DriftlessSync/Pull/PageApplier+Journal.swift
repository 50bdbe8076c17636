import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  /// The edits of an object that a delete takes: each value goes to the journal.
  func journalLostEdits(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ side: RemoteSide,
    because reason: String = "the object was deleted by another replica: the delete wins."
  ) throws {
    guard let object = pending[key] else { return }
    let values = try currentValues(of: key)
    guard !object.edits.isEmpty else { return }
    let whole = try journal.whole(values, entity, key, formerCuts(from: key, entity))
    for edit in object.edits {
      let time = try transaction.editTime(edit.transaction)
      for property in entity.properties where edit.properties.contains(property.slot) {
        var local: PropertyValue? = values[property.slot]
        var elements: [ObjectKey]?
        switch property.kind {
        case .attribute, .toOne: break
        case .place(let relationship):
          guard let place = try transaction.place(of: key, in: relationship) else { continue }
          local = .integer(place)
        case .elements(let relationship):
          local = nil
          elements = try transaction.toManyKeys(of: key, relationship)
        }
        // What a zone of before had is nobody's edit of now.
        let what =
          object.isOffered(property.slot) ? "was offered to the zone anew" : "was edited here"
        try journal.addDeleteConflict(
          entity: entity, property: property, key: key, local: local, remote: nil,
          elements: elements, outcome: .remote, localTime: time, side: side,
          whole: whole, explanation: "\(property.words) \(what), \(reason)")
        report.conflicts += 1
      }
    }
  }

  /// Remote values for an object whose delete stands here: each goes to the journal.
  func journalKeptDelete(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ object: ZoneStates.Object
  ) throws {
    let grave = try transaction.grave(of: key)
    let cuts = try formerCuts(from: key, entity)
    let local = try transaction.editTime(pending[key]?.wholeTransaction ?? 0)
    var whole: [PropertyValue]?
    for property in entity.properties {
      guard let remote = object.values[property.name], !remote.isKnown else { continue }
      var elements: [ObjectKey]?
      if case .elements = property.kind { elements = remote.elements }
      whole = try whole ?? journal.whole(grave, entity, key, cuts)
      try journal.addDeleteConflict(
        entity: entity, property: property, key: key, local: nil,
        remote: elements == nil ? remote.side.value : nil, elements: elements, outcome: .local,
        localTime: local, side: remote.side, whole: whole,
        explanation: "\(property.words) was edited by another replica, the object was "
          + "deleted here: the delete wins.")
      report.conflicts += 1
    }
    try journalStrangers(entity, key, object, row: grave, cuts, localTime: local)
  }

  /// References to an object, and its places in sets, that its delete took along: of another replica what came with it, of here
  /// what the zone still has.
  private func formerCuts(
    from key: ObjectKey, _ entity: SyncSchema.Entity
  ) throws -> [DeleteCuts.Cut] {
    guard pending[key]?.whole == .delete else { return try zone.object(key).mark?.cuts ?? [] }
    var cuts: [DeleteCuts.Cut] = []
    for referrer in schema.referrers(of: entity) + schema.holders(of: entity) {
      for source in try baseHolders.owners(named: referrer.property.name, of: key)
      where try transaction.concreteKey(root: source) != nil {
        let place = PlaceName.of(referrer.property.name)
        var cut = DeleteCuts.Cut(source: source, property: referrer.property.name)
        if case .integer(let had)? = try BaseValues.value(
          of: source, place, on: transaction.connection)
        {
          cut.place = had
        }
        cuts.append(cut)
      }
    }
    return cuts
  }

  /// Edits of properties that this model does not have, of an object whose delete stands here: they stay parked as they
  /// came, and the journal names them.
  private func journalStrangers(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ object: ZoneStates.Object,
    row: [PropertyValue]?, _ cuts: [DeleteCuts.Cut], localTime: HybridTime
  ) throws {
    for (name, remote) in object.values.sorted(by: { $0.key < $1.key })
    where entity.property(named: name) == nil && !remote.isKnown {
      try journal.addWhole(
        entity: entity, key: key, outcome: .local, localTime: localTime, side: remote.side,
        row: row, cuts: cuts, remote: remote.side.value,
        explanation: "\(name), which this model does not have, was edited by another replica, the "
          + "object was deleted here: the delete wins.")
      report.conflicts += 1
    }
  }

  /// An entry that comes late deletes an object which others edited that had not read it either: for who reads the log in
  /// its order those are edits of nothing.
  func journalLateDelete(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ index: Int, _ frame: FrameContext,
    _ side: RemoteSide
  ) throws {
    guard try !setSince(index, frame).isEmpty, let row = try transaction.knownRow(key)?.values
    else { return }
    try journal.addWhole(
      entity: entity, key: key, outcome: .remote, localTime: side.time, side: side, row: row,
      explanation: "Deleted by an entry of the log that could not be read when it came; what was "
        + "edited since goes with it.")
    report.conflicts += 1
  }

  /// A reference that is cut because its target is deleted.
  func journalCut(
    _ reference: DeleteFates.Reference, to target: ObjectKey, outcome: JournalEntry.Outcome,
    localTime: HybridTime, side: RemoteSide
  ) throws {
    guard let entity = schema.entity(numbered: reference.source.entity) else { return }
    let property = reference.referrer.property
    let value = PropertyValue.reference(target)
    let explanation =
      outcome == .remote
      ? "\(property.name) refers to an object that another replica deleted: it is cut."
      : "\(property.name) of another replica refers to an object that was deleted here: it is cut."
    try journal.addDeleteConflict(
      entity: entity, property: property, key: reference.source,
      local: outcome == .remote ? value : nil, remote: outcome == .remote ? nil : value,
      outcome: outcome, localTime: localTime, side: side, explanation: explanation)
    report.conflicts += 1
  }
}
