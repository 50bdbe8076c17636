import Driftless
import DriftlessProtocol

/// Taking in what a zone's log comes to.
///
/// Objects refer to each other whatever the order of their numbers, so first each new number gets its key. Then the rows of
/// new objects are written, in which a reference to an object whose row comes later is a reference to one that lives; then
/// what is news of objects that were here, and at last deletes, which cut what refers to them.
extension PageApplier {
  /// - Parameter known: what the replica has of the log.
  /// - Returns: what this model does not have of it; nothing of that is here.
  /// - Throws: `UnfitSnapshot` when it says something that does not fit together, or that the log alone can settle; then the
  ///   transaction must end. So it is with what this model does not have, where there is a log: that is kept entry by entry.
  func install(
    _ reader: SnapshotReader, at place: LogMark, over known: KnownLog
  ) throws -> Set<ParkedName> {
    isJoining = true
    defer { isJoining = false }
    try brake.begin()
    var news = SnapshotNews(known, deleted: remembered)
    var reader = reader
    var names = SnapshotNames(schema, hasLog: hasLog)
    try news.expectNone(of: ownNames(reader), in: reader)
    try reader.forEachPart { try register($0, at: place, in: &news, &names) }
    guard reader.isPlain else {
      throw UnfitSnapshot(reason: "an object was deleted under another entity's name")
    }
    directory.refresh()
    try reader.forEachPart { part in
      guard part.numbers.contains(where: { news.objects.has($0) }) else { return }
      try writeNew(part, news, &names, at: place)
    }
    guard report.inserted + news.metCount == news.objects.livingCount else {
      throw UnfitSnapshot(
        reason:
          "it has \(news.objects.livingCount) objects, and \(report.inserted) could be written")
    }
    if !known.isNothing {
      if !hasLog { deleteCuts.awaited = news.deleted }
      try reader.forEachPart { try writeKnown($0, news, &names, at: place) }
      try delete(news.deletes)
    }
    if names.hasOtherEnds {
      try reader.forEachPart { try writeOtherEnds($0, news, at: place) }
    }
    // The other ends of one-to-one relationships, and keys that were free too late.
    try finishKeys()
    // Which of two of the zone's had it first is in the log alone.
    guard try !keptKeys.waitsForKeys || !hasLog && clashesArePending() else {
      throw UnfitSnapshot(reason: "two objects have one unique key")
    }
    return names.unknown
  }

  // MARK: Numbers

  /// Gives each new number its key, in the order of the numbers: an identity may have come anew after its object was deleted.
  /// Notes the deletes of objects that were here.
  private func register(
    _ part: SnapshotReader.Part, at place: LogMark, in news: inout SnapshotNews,
    _ names: inout SnapshotNames
  ) throws {
    let index = try part.index(0)
    for number in 0..<part.count {
      let index = try number == 0 ? index : part.index(number)
      for entity in index.entities { try names.note(entity, changeSet: number) }
      try news.expectNone(of: index)
      news.noteMakers(of: index)
    }
    var entities = index.entities
    var runs = Self.runs(index.newObjects, numbers: part.numbers)
    let pushed = try part.pushed(0)
    for dead in part.dead {
      let entity: Int
      if let known = entities.firstIndex(where: { $0.name == dead.entity }) {
        entity = known
      } else {
        entities.append(.init(name: dead.entity, properties: []))
        entity = entities.count - 1
      }
      guard index.transactions.indices.contains(dead.transaction),
        pushed.indices.contains(dead.transaction)
      else { throw UnfitSnapshot(reason: "it does not fit together") }
      try news.expectNone(of: dead.maker)
      news.noteMaker(dead.maker)
      runs.append(
        NumberedRun(
          first: dead.first,
          objects: .init(
            entity: entity, identities: .range(first: dead.identity, count: dead.count),
            isGiven: dead.isGiven), isAlive: false,
          deletion: .init(
            transaction: index.transactions[dead.transaction], pushed: pushed[dead.transaction])))
    }
    runs.sort { $0.first < $1.first }
    let header = ChangeSetHeader(
      replica: zoneID, pushNumber: 1,
      cursor: Cursor(generation: zoneID, sequence: place.sequence, chain: place.chain))
    var frame = FrameContext(
      ChangeSet(header: header, index: ChangeSetIndex(entities: entities), columns: []),
      sequence: place.sequence, firstNumber: 0, schema: schema)
    for run in runs {
      guard let entity = frame.entity(run.objects.entity) else {
        if run.isAlive { try names.leaveOut(entities[run.objects.entity].name) }
        news.objects.leaveOut(run.first, run.objects.count)
        continue
      }
      for run in try newParts(of: run, entity, &news) {
        try register(run, entity, in: &frame, &news)
      }
    }
  }

  /// What of a run the replica does not have. Deletes of what it has are noted.
  private func newParts(
    of run: NumberedRun, _ entity: SyncSchema.Entity, _ news: inout SnapshotNews
  ) throws -> [NumberedRun] {
    guard !news.known.isNothing else { return [run] }
    let count = run.objects.count
    var parts: [NumberedRun] = []
    // Of what was dead before there is nothing to say.
    if let deletion = run.deletion, news.known.has(deletion.pushed),
      run.first &+ UInt64(count) <= news.known.nextNumber
    {
      return []
    }
    var first: Int?
    for offset in 0...count {
      let number = run.first &+ UInt64(offset)
      var key: ObjectKey?
      if offset < count {
        key = try directory.key(ofNumber: number)
        guard key != nil || number >= news.known.nextNumber || news.known.lacked(entity) else {
          throw UnfitSnapshot(reason: "object \(number) of the zone is not here")
        }
        if let key, let deletion = run.deletion, !news.known.has(deletion.pushed) {
          news.append(
            .init(
              key: ObjectKey(entity: entity.number, key: key.key),
              transaction: deletion.transaction, side: deletion.side),
            ObjectKey(entity: entity.rootNumber, key: key.key))
        }
      }
      if offset < count, key == nil {
        if first == nil { first = offset }
      } else if let begin = first {
        parts.append(run.part(begin, offset - begin))
        first = nil
      }
    }
    return parts
  }

  private func register(
    _ run: NumberedRun, _ entity: SyncSchema.Entity, in frame: inout FrameContext,
    _ news: inout SnapshotNews
  ) throws {
    if remembered.mayBe(run.objects.identities) {
      try meetDeleted(run.objects, isAlive: run.isAlive, news)
    }
    frame.table = ObjectTable(capacity: run.objects.count)
    try addNewObjects(run.objects, firstNumber: run.first, to: &frame)
    if let deletion = run.deletion?.transaction {
      try times.note(
        HybridTime(rawValue: deletion.hybridTime),
        by: EditOrigin(author: deletion.author, contextName: deletion.contextName))
    }
    for (offset, entry) in frame.table.entries.enumerated() {
      guard let entry else { throw Self.unknown(entity.name) }
      if entry.existed, !news.known.isNothing || !pending.isEmpty {
        try meet(entry.key, entity, run.deletion?.side, &news)
      }
      let key = entry.key.key
      news.objects.append(
        run.first + UInt64(offset), ObjectKey(entity: entity.rootNumber, key: key),
        living: run.isAlive ? ObjectKey(entity: entity.number, key: key) : nil,
        existed: entry.existed)
      // Who offers what it has tells its deletes as well. Of what was here before, the history has it.
      if !run.isAlive, !entry.existed {
        try transaction.recordDelete(ObjectKey(entity: entity.number, key: key))
      }
    }
  }

  static func unknown(_ name: String) -> UnfitSnapshot {
    UnfitSnapshot(reason: "the model here does not have \(name), or has it as something else")
  }

  /// Objects whose numbers follow each other.
  private struct NumberedRun {
    var first: UInt64
    var objects: ChangeSetIndex.NewObjects
    var isAlive: Bool
    /// Of dead ones.
    var deletion: Deletion?

    struct Deletion {
      var transaction: ChangeSetIndex.Transaction
      var pushed: SnapshotReader.Part.Pushed
      var side: RemoteSide {
        RemoteSide(
          value: .null, time: HybridTime(rawValue: transaction.hybridTime), origin: pushed.replica,
          sequence: pushed.sequence)
      }
    }

    func part(_ offset: Int, _ count: Int) -> NumberedRun {
      guard count < objects.count else { return self }
      var part = self
      part.first = first &+ UInt64(offset)
      part.objects = .init(
        entity: objects.entity, identities: objects.identities.part(offset, count),
        isGiven: objects.isGiven)
      return part
    }
  }

  /// Cuts runs of new objects where their numbers do not follow each other.
  private static func runs(
    _ newObjects: [ChangeSetIndex.NewObjects], numbers: [UInt64]
  ) -> [NumberedRun] {
    var runs: [NumberedRun] = []
    var place = 0
    for run in newObjects {
      var offset = 0
      while offset < run.count {
        let first = numbers[place]
        var count = 1
        while offset + count < run.count, numbers[place + count] == first + UInt64(count) {
          count += 1
        }
        runs.append(
          NumberedRun(
            first: first,
            objects: .init(
              entity: run.entity, identities: run.identities.part(offset, count),
              isGiven: run.isGiven), isAlive: true))
        offset += count
        place += count
      }
    }
    return runs
  }

  // MARK: Rows

  private func writeNew(
    _ part: SnapshotReader.Part, _ news: SnapshotNews, _ names: inout SnapshotNames,
    at place: LogMark
  ) throws {
    let later = try LaterNames(part, names, schema)
    for number in 0..<part.count {
      var frame = try snapshotFrame(part, number, news, at: place)
      for (index, entry) in frame.table.entries.enumerated() where entry?.isNew == false {
        frame.table.leaveOut(index)
      }
      let changeSet = frame.changeSet
      var columns = changeSet.columns[...]
      for group in changeSet.index.groups {
        guard group.kind == .insert || group.kind == .update else {
          throw UnfitSnapshot(reason: "it says more of an object than what it has")
        }
        let own = columns.prefix(group.properties.count)
        columns = columns.dropFirst(group.properties.count)
        // A value under a former name, over which a later one stands.
        let over = later.isEmpty ? [] : over(group, part, number, later, frame)
        for index in over { frame.table.leaveOut(index) }
        try apply(group, columns: own, in: &frame)
        for index in over { frame.table.leaveOut(index, false) }
      }
      try names.add(frame)
      try ModelMeaning.Notes.add(frame, transaction)
      guard !frame.needsParked else { throw UnfitSnapshot(reason: "it does not fit together") }
    }
  }

  /// The objects of a group of updates that say a property under one name, and something later under another.
  private func over(
    _ group: ChangeSetIndex.Group, _ part: SnapshotReader.Part, _ changeSet: Int,
    _ later: LaterNames, _ frame: FrameContext
  ) -> [Int] {
    guard group.kind == .update, let place = group.properties.first,
      let entity = frame.entity(group.entity),
      case let named = frame.changeSet.index.entities[group.entity],
      case let name = named.properties[place],
      let property = entity.property(namedNowOrBefore: name)
    else { return [] }
    return group.objects.filter { index in
      guard frame.table.entry(index)?.isLeftOut == false else { return false }
      let number = frame.number(of: index) ?? part.number(ofNew: index)
      return later.areOver(number, property, "\(named.name).\(name)", changeSet)
    }
  }

  /// Takes in what is said of relationships from the ends that do not say them here, once all objects are there.
  private func writeOtherEnds(
    _ part: SnapshotReader.Part, _ news: SnapshotNews, at place: LogMark
  ) throws {
    for number in 0..<part.count {
      let isNews = try part.pushed(number).map { !news.known.has($0) }
      var frame = try snapshotFrame(part, number, news, at: place)
      let changeSet = frame.changeSet
      var columns = changeSet.columns[...]
      for group in changeSet.index.groups {
        let own = columns.prefix(group.properties.count)
        columns = columns.dropFirst(group.properties.count)
        guard let entity = frame.entity(group.entity) else { continue }
        _ = try frame.readers(group, entity: entity, columns: own, by: opener)
        frame.keepOtherEnds(of: group, entity)
        guard !frame.saidFromOtherEnds.isEmpty else { continue }
        var known: [Int] = []
        var objects = group.objects[...]
        for run in group.transactionRuns {
          let ofRun = objects.prefix(run.count)
          objects = objects.dropFirst(run.count)
          guard isNews.indices.contains(run.transaction), !isNews[run.transaction] else { continue }
          known += ofRun.filter { frame.table.entry($0)?.isNew == false }
        }
        for index in known { frame.table.leaveOut(index) }
        try applyOtherEnds(&frame)
        for index in known { frame.table.leaveOut(index, false) }
      }
      try ModelMeaning.Notes.add(frame, transaction)
    }
  }

  /// A change set of a snapshot's part, with the objects that it names.
  func snapshotFrame(
    _ part: SnapshotReader.Part, _ number: Int, _ news: SnapshotNews, at place: LogMark
  ) throws -> FrameContext {
    let changeSet = try part.changeSet(number)
    var frame = FrameContext(changeSet, sequence: place.sequence, firstNumber: 0, schema: schema)
    frame.isOfSnapshot = true
    frame.isOfNewcomer = news.known.isNothing
    frame.pushed = try part.pushed(number)
    func entry(_ number: UInt64, isOwn: Bool = false) throws -> ObjectTable.Entry? {
      if let new = news.objects.entry(of: number, isOwn: isOwn) { return new }
      guard !news.objects.leavesOut(number) else { return nil }
      guard let key = try directory.key(ofNumber: number) else {
        throw ProtocolError.malformed(
          "The snapshot names object \(number), which it does not have")
      }
      return .init(key: key, life: .unknown, existed: true, isNew: false)
    }
    if number == 0 {
      for own in part.numbers { frame.table.append(try entry(own, isOwn: true)) }
    }
    for known in changeSet.index.knownNumbers { frame.table.append(try entry(known)) }
    return frame
  }
}

extension ChangeSetIndex.Identities {
  fileprivate func part(_ first: Int, _ count: Int) -> Self {
    switch self {
    case .range(let identity, _):
      .range(first: identity.advanced(by: UInt64(first)), count: count)
    case .listed(let identities): .listed(Array(identities[first..<first + count]))
    }
  }
}
