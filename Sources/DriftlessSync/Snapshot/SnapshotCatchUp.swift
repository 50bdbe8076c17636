import Driftless
import DriftlessProtocol
import Foundation

/// What a snapshot says of objects that the replica has: only what came with entries that it does not have.
///
/// What is not pending here becomes the snapshot's. What the snapshot says of pending values is kept beside them, as with
/// entries of the log, and settled when the pull has reached its head.
extension PageApplier {
  /// Of an object that an edit of here brings back.
  static let untoldBeforeDelete =
    " It is as it was known here: what others changed of it before that, the zone's purged log does not tell."

  /// The names of the saves that are pending here.
  ///
  /// - Throws: `UnfitSnapshot` when what is pending can be settled by the log alone, `SyncError` (`.oldCounts`) where a person has
  ///   to say what becomes of it.
  func ownNames(_ reader: SnapshotReader) throws -> Set<UInt64> {
    var names: Set<UInt64> = []
    guard !pending.isEmpty else { return names }
    try settleOldCounts(before: HybridTime(rawValue: reader.namesForgotten))
    try transaction.forEachNamedDelta(through: .max) { _, _, name in names.insert(name) }
    try pending.objects.forEachState { _, object, _ in
      for edit in object.edits where edit.transaction > 0 {
        names.insert(try transaction.transactionName(edit.transaction))
      }
      if object.whole != .none, object.wholeTransaction > 0 {
        names.insert(try transaction.transactionName(object.wholeTransaction))
      }
    }
    names.remove(0)
    return names
  }

  /// Writes what is news of the objects of a part that were here.
  func writeKnown(
    _ part: SnapshotReader.Part, _ news: SnapshotNews, _ names: inout SnapshotNames,
    at place: LogMark
  ) throws {
    let later = try LaterNames(part, names, schema)
    for number in 0..<part.count {
      let isNews = try part.pushed(number).map { !news.known.has($0) }
      guard isNews.contains(true) else { continue }
      var frame = try snapshotFrame(part, number, news, at: place)
      frame.mayCut = !deleteCuts.awaited.isEmpty
      for (index, entry) in frame.table.entries.enumerated() where entry?.isNew == true {
        frame.table.leaveOut(index)
      }
      let changeSet = frame.changeSet
      var columns = changeSet.columns[...]
      for group in changeSet.index.groups {
        let own = columns.prefix(group.properties.count)
        columns = columns.dropFirst(group.properties.count)
        guard let entity = frame.entity(group.entity) else {
          frame.noteUnknownEntity(group.entity)
          continue
        }
        let readers = try frame.readers(group, entity: entity, columns: own, by: opener)
        var row = 0
        var objects = group.objects[...]
        for run in group.transactionRuns {
          let ofRun = objects.prefix(run.count)
          objects = objects.dropFirst(run.count)
          defer { row += run.count }
          guard isNews.indices.contains(run.transaction), isNews[run.transaction] else { continue }
          try times.note(frame.time(of: run), by: frame.origin(of: run))
          for (offset, index) in ofRun.enumerated() {
            if !later.isEmpty, group.kind == .update, let reader = readers.first,
              case let entity = changeSet.index.entities[group.entity].name,
              later.areOver(
                frame.number(of: index) ?? part.number(ofNew: index), reader.property,
                "\(entity).\(reader.name)", number)
            {
              continue
            }
            try writeKnown(index, entity, readers, group, row: row + offset, &frame)
          }
        }
      }
      try names.add(frame)
      try ModelMeaning.Notes.add(frame, transaction)
    }
  }

  private func writeKnown(
    _ index: Int, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, _ frame: inout FrameContext
  ) throws {
    guard let (key, isAlive) = try target(index, entity, in: &frame) else { return }
    keptKeys.side = frame.side(group, row: row)
    if isHeld(key) {
      return try writeHeld(key, isAlive: isAlive, entity, readers, group, row: row, &frame)
    }
    if isAlive {
      try applyRow(key, readers, group, row: row, isWhole: true, &frame)
    } else if group.kind == .insert {
      // The log brought it back.
      try insertAgain(entity, key, readers, group, row: row, index: index, &frame)
    }
  }

  /// What is pending here meets what the zone came to. Where the log can be read, that tells more: who put in again what another
  /// took out says so in it alone, and what an object was before it was deleted.
  private func writeHeld(
    _ key: ObjectKey, isAlive: Bool, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, _ frame: inout FrameContext
  ) throws {
    // It was deleted, and came back.
    let isAnew = group.kind != .update
    guard !isAnew || !hasLog else {
      throw UnfitSnapshot(reason: "an object that is pending here was deleted and came back")
    }
    let noted = try zone.object(key).values
    var untold: [String] = []
    for reader in readers {
      guard case .elements = reader.property.kind,
        !isAlive || noted[reader.property.name] != nil
          || pending[key]?.transaction(of: reader.property.slot) != nil
      else { continue }
      guard !hasLog else {
        throw UnfitSnapshot(reason: "a set that is pending here was changed in the zone")
      }
      untold.append(reader.property.name)
    }
    if isAnew { try zone.set(.revived, of: key, frame.side(group, row: row)) }
    try applyHeld(entity, key, readers, group, row: row, isWhole: true, &frame)
    for name in untold {
      guard var value = try zone.object(key).values[name] else { continue }
      value.isUntold = true
      try zone.set(value, of: key, name)
    }
    if isAnew, pending[key] == nil { try zone.removeMark(key) }
  }

  /// Deletes what was here. What one save deleted settles together where something of it is pending here, or is referred to by
  /// what is: a rule may bring back all of it. Where they are too many, a person is asked first.
  func delete(_ deletes: [SnapshotNews.Delete]) throws {
    var living: [(entity: SyncSchema.Entity, delete: SnapshotNews.Delete)] = []
    var met: Set<SnapshotNews.Save> = []
    for delete in deletes {
      guard let entity = schema.entity(numbered: delete.key.entity) else { continue }
      guard try transaction.concreteKey(root: delete.key) == delete.key else {
        if pending[delete.key] != nil { try zone.set(.dead, of: delete.key, delete.side) }
        continue
      }
      living.append((entity, delete))
      guard !pending.isEmpty || !zone.keys.isEmpty, !met.contains(delete.save),
        try isHeld(delete.key) || isReferredToHere(delete.key, entity)
      else { continue }
      guard !hasLog else {
        // Of what it was when it was deleted the log tells more.
        throw UnfitSnapshot(reason: "an object that is pending here was deleted in the zone")
      }
      met.insert(delete.save)
    }
    let held = try brake.held()
    let count = living.count { held.has($0.delete.key.key, root: $0.entity.rootNumber) }
    guard try allowsMassDelete || brake.admits(count) else {
      guard hasLog else {
        // No entry says any more whether they were meant. They are set aside as those of a log are, with what they cut, and hold up
        // nothing else.
        for (_, delete) in living {
          try zone.set(
            .braked, of: delete.key, delete.side, isUntold: true,
            cuts: deleteCuts.since(delete.side, of: rooted(delete.key)))
        }
        return
      }
      // Each entry of the log says whether its deletes are meant.
      throw UnfitSnapshot(
        reason:
          "\(count) object\(count == 1 ? " that is here was" : "s that are here were") deleted in the zone"
      )
    }
    try changingSets { try carryOut(living, met) }
  }

  private func carryOut(
    _ deletes: [(entity: SyncSchema.Entity, delete: SnapshotNews.Delete)],
    _ met: Set<SnapshotNews.Save>
  ) throws {
    for (entity, delete) in deletes {
      guard !met.contains(delete.save) else {
        try zone.set(
          .dead, of: delete.key, delete.side, isUntold: true,
          cuts: deleteCuts.since(delete.side, of: rooted(delete.key)))
        continue
      }
      try times.note(
        HybridTime(rawValue: delete.transaction.hybridTime),
        by: EditOrigin(
          author: delete.transaction.author, contextName: delete.transaction.contextName))
      try deleteHere(entity, delete.key)
      report.deleted += 1
    }
  }
}
