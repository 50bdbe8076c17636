import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  /// The edits of an object that a remote delete takes: each value goes to the journal.
  func journalLostEdits(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ side: RemoteSide
  ) throws {
    guard let object = pending[key] else { return }
    let values = try currentValues(of: key)
    for edit in object.edits {
      let time = try transaction.editTime(edit.transaction)
      for property in entity.properties where edit.properties.contains(property.slot) {
        if property.isCollective { continue }
        try journal.addDeleteConflict(
          entity: entity, property: property, key: key, local: values[property.slot], remote: nil,
          outcome: .remote, localTime: time, side: side, row: values,
          explanation: "\(property.name) was edited here, the object was deleted by another "
            + "replica: the delete wins.")
        report.conflicts += 1
      }
    }
  }

  /// An edit that stands against a remote delete.
  func journalKeptEdit(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ side: RemoteSide
  ) throws {
    guard let object = pending[key] else { return }
    let time = try transaction.editTime(object.lastTransaction)
    try journal.addDeleteConflict(
      entity: entity, property: nil, key: key, local: nil, remote: nil, outcome: .local,
      localTime: time, side: side,
      explanation: "Edited here, deleted by another replica: the edit wins, the object stays.")
    report.conflicts += 1
  }

  /// Remote values for an object whose delete stands here: each goes to the journal.
  func journalKeptDelete(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, _ frame: inout FrameContext
  ) throws {
    let grave = try transaction.grave(of: key)
    let local = try transaction.editTime(pending[key]?.wholeTransaction ?? 0)
    for reader in readers {
      if reader.property.isCollective { continue }
      let value = try read(reader, row: row, of: key, &frame)
      let side = RemoteSide(
        value: value, time: frame.time(group, row: row), origin: frame.origin,
        sequence: frame.sequence)
      try journal.addDeleteConflict(
        entity: entity, property: reader.property, key: key, local: nil, remote: value,
        outcome: .local, localTime: local, side: side, row: grave,
        explanation: "\(reader.property.name) was edited by another replica, the object was "
          + "deleted here: the delete wins.")
      report.conflicts += 1
    }
    // The delete stands on the remote edit: the next push carries it again.
    touched.insert(key)
  }
}
