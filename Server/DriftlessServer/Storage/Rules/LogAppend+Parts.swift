public import DriftlessProtocol
import Foundation

/// A push in several parts: the last one brings all of them into the log, each as an entry of its own, one after the other, in
/// one transaction. They are checked as one push: what one part does is no news to another.
extension LogAppend {
  func publish(
    _ last: Push, _ zone: ZoneRecord, _ replica: KnownReplica
  ) throws -> Appended {
    guard let header = last.part, header.part == header.parts else {
      throw ProtocolError.malformed("The push ends before its last part")
    }
    let reader = PushReader(limits: limits)
    try letGo(last, header, zone, replica, reader)
    var place = zone
    var known = replica
    var outcome: Appended?
    var digest: Data?
    for number in 1...header.parts {
      let part = try read(number, of: last, header, place, after: zone, reader)
      try tables.ready(for: part)
      guard part.part?.goesOn(from: digest, in: header) == true else {
        throw ProtocolError.otherPush(last.number)
      }
      digest = part.digest
      let appended = try enter(part, place, known)
      place = place.after(appended, newCount: part.contents.newCount, part.contents)
      known = KnownReplica(id: known.id, zone: known.zone, lastPush: last.number)
      outcome = appended
    }
    try tables.dropStaged(of: last.replica, through: last.number)
    guard let outcome else { throw ProtocolError.notStaged(1) }
    return Appended(
      sequence: outcome.sequence, firstObjectNumber: outcome.firstObjectNumber,
      chain: outcome.chain, chainBefore: zone.chain, isRepeat: false)
  }

  /// Whether a part is of a push that the log does not have yet: only such a one is kept beside it.
  ///
  /// - Throws: as ``append(_:to:)``.
  public func isWanted(_ part: Push, of record: ZoneRecord) throws -> Bool {
    let zone = try current(record, part.cursor.generation)
    guard try tables.replica(part.replica) != nil else { return true }
    return try part.number > replica(of: part.replica, zone: zone).lastPush
  }

  /// Looks whether a part could come into the log as it is, where that can be told before the others are there; the caller
  /// rolls back.
  ///
  /// - Throws: as ``append(_:to:)``.
  public func probe(_ part: Push, _ header: ChangeSetHeader, of record: ZoneRecord) throws {
    let zone = try current(record, part.cursor.generation)
    try check(part.cursor.mark, in: zone)
    if let mark = part.mark { try check(mark, in: zone) }
    try checkFloor(part.cursor.mark, in: zone)
    try checkClock(part.contents, zone)
    try checkRoom(for: part, header, in: zone)
    guard header.part == 1 else { return }
    _ = try enter(part, zone, replica(of: part.replica, zone: zone), isProbe: true)
  }

  /// What the parts let go of goes before any of them takes something.
  private func letGo(
    _ last: Push, _ header: ChangeSetHeader, _ zone: ZoneRecord, _ replica: KnownReplica,
    _ reader: PushReader
  ) throws {
    guard try tables.hasClaims(zone: zone.id) else { return }
    let objects = ObjectIndex(
      tables: tables, zone: zone.id, nextObject: zone.nextObject, cursor: last.cursor.sequence,
      head: zone.head, sequence: zone.head + 1, replica: replica.id, own: OwnFrames(),
      limits: limits)
    let keys = KeyIndex(tables: tables, zone: zone.id, objects: objects)
    var next = zone.nextObject
    for number in 1...header.parts {
      let part = try read(
        number, of: last, header, reader, firstNumber: next, madeBefore: next - zone.nextObject)
      try tables.ready(for: part)
      try keys.letGo(part.contents)
      next += part.contents.newCount
    }
  }

  private func read(
    _ number: UInt16, of last: Push, _ header: ChangeSetHeader, _ place: ZoneRecord,
    after zone: ZoneRecord, _ reader: PushReader
  ) throws -> Push {
    let part = try read(
      number, of: last, header, reader, firstNumber: place.nextObject,
      madeBefore: place.nextObject - zone.nextObject)
    try checkClock(part.contents, zone)
    return part
  }

  /// Reads a part. One that the disk has changed is not there, so that it is sent again.
  private func read(
    _ number: UInt16, of last: Push, _ header: ChangeSetHeader, _ reader: PushReader,
    firstNumber: UInt64, madeBefore: UInt64?
  ) throws -> Push {
    let frame = try frame(number, of: last, header)
    do {
      return try reader.read(frame, firstNumber: firstNumber, madeBefore: madeBefore)
    } catch is ProtocolError where number < header.parts && !ChangeSetHeader.isWhole(frame) {
      throw ProtocolError.notStaged(number)
    }
  }

  private func frame(
    _ number: UInt16, of last: Push, _ header: ChangeSetHeader
  ) throws -> Data {
    guard number < header.parts else { return last.frame }
    guard let frame = try tables.staged(number, of: last) else {
      throw ProtocolError.notStaged(number)
    }
    return frame
  }

  // MARK: - Taking back

  /// Those of some entries that the log does not have, and where it ends. It reads alone.
  ///
  /// - Throws: `ServerError` (`.diverged` for one that is not as the log has it).
  public func lacking(
    _ entries: [Refill], of record: ZoneRecord
  ) throws -> (entries: [Refill], head: LogMark) {
    var zone = try current(record, record.generation)
    var lacking: [Refill] = []
    for (entry, push) in entries {
      if push.cursor.generation != zone.generation {
        zone = try current(record, push.cursor.generation)
      }
      if entry.sequence > zone.head {
        lacking.append((entry, push))
      } else {
        try check(entry.mark, in: zone)
      }
    }
    return (lacking, LogMark(sequence: zone.head, chain: zone.chain))
  }

  /// Takes back an entry that the log lost; one that it has is left. Of a push in several parts each waits beside the log for the last
  /// one.
  ///
  /// - Throws: `ServerError`: `.diverged` when the log does not go on with it, and as ``append(_:to:)``; the caller rolls back to before
  ///   it, or to before others that its transaction took.
  public func refillInParts(
    _ entry: PullPage.Entry, _ push: Push, of record: ZoneRecord
  ) throws {
    guard let header = push.part else {
      _ = try refill(entry, push, of: record)
      return
    }
    let zone = try current(record, push.cursor.generation)
    guard entry.sequence > zone.head else { return try check(entry.mark, in: zone) }
    guard !header.isFollowedByParts else {
      try tables.makeRoom(for: push, header, limits, of: zone)
      return try tables.stage(push, header, at: nowMilliseconds, of: zone)
    }
    let reader = PushReader(limits: limits)
    try letGo(push, header, zone, replica(of: push.replica, zone: zone, isRefill: true), reader)
    var place = zone
    for number in 1...header.parts {
      let part = try read(
        number, of: push, header, reader, firstNumber: place.nextObject, madeBefore: nil)
      let sequence = place.head + 1
      let chain = place.chain.next(
        digest: part.digest, sequence: sequence, firstObjectNumber: place.nextObject)
      let taken = PullPage.Entry(
        sequence: sequence, firstObjectNumber: place.nextObject, chain: chain,
        isOwnHeaderOnly: false, frame: part.frame)
      try tables.ready(for: part)
      guard number < header.parts || taken.mark == entry.mark,
        let appended = try refill(taken, part, of: record)
      else { throw ServerError.diverged(at: entry.sequence, zone) }
      place = place.after(appended, newCount: part.contents.newCount, part.contents)
    }
    try tables.dropStaged(of: push.replica, through: push.number)
  }
}

extension ZoneRecord {
  /// The zone with one more entry.
  fileprivate func after(
    _ appended: Appended, newCount: UInt64, _ contents: Push.Contents
  ) -> ZoneRecord {
    ZoneRecord(
      id: id, name: name, zoneID: zoneID, generation: generation, parent: parent, intent: intent,
      replacements: replacements, formatLevel: formatLevel, head: appended.sequence,
      chain: appended.chain, nextObject: nextObject + newCount,
      newestMilliseconds: max(newestMilliseconds, contents.newestMilliseconds), limits: limits,
      isPutBack: isPutBack)
  }
}
