import Driftless
import DriftlessProtocol

/// Taking in what a zone's log comes to, as a replica that has nothing of it.
///
/// Objects refer to each other whatever the order of their numbers, so first each number gets its key, and then the rows are
/// written, in which a reference to an object whose row comes later is a reference to one that lives.
extension PageApplier {
  /// - Throws: `UnfitSnapshot` when it says something that this model cannot take in, or that does not fit together; then the
  ///   transaction must end.
  func install(_ reader: SnapshotReader, at place: LogMark) throws {
    isJoining = true
    defer { isJoining = false }
    var objects = SnapshotObjects()
    var reader = reader
    try reader.forEachPart { try register($0, at: place, in: &objects) }
    guard reader.isPlain else {
      throw UnfitSnapshot(reason: "an object was deleted under another entity's name")
    }
    directory.refresh()
    try reader.forEachPart { try write($0, objects, at: place) }
    // The other ends of one-to-one relationships, and keys that were free too late.
    try finishKeys()
    // Which of them had it first is in the log alone.
    guard keptKeys.isEmpty else { throw UnfitSnapshot(reason: "two objects have one unique key") }
    guard report.inserted == objects.livingCount else {
      throw UnfitSnapshot(
        reason: "it has \(objects.livingCount) objects, and \(report.inserted) could be written")
    }
  }

  // MARK: Numbers

  /// Gives each number its key, in the order of the numbers: an identity may have come anew after its object was deleted.
  private func register(
    _ part: SnapshotReader.Part, at place: LogMark, in objects: inout SnapshotObjects
  ) throws {
    let index = try part.index(0)
    for number in 0..<part.count {
      for entity in try number == 0 ? index.entities : part.index(number).entities {
        try checkNames(entity)
      }
    }
    var entities = index.entities
    var runs = Self.runs(index.newObjects, numbers: part.numbers)
    for dead in part.dead {
      let entity: Int
      if let known = entities.firstIndex(where: { $0.name == dead.entity }) {
        entity = known
      } else {
        entities.append(.init(name: dead.entity, properties: []))
        entity = entities.count - 1
      }
      runs.append(
        NumberedRun(
          first: dead.first,
          objects: .init(
            entity: entity, identities: .range(first: dead.identity, count: dead.count),
            isGiven: dead.isGiven), isAlive: false,
          deletedBy: index.transactions.indices.contains(dead.transaction)
            ? index.transactions[dead.transaction] : nil))
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
        throw Self.unknown(entities[run.objects.entity].name)
      }
      frame.table = ObjectTable(capacity: run.objects.count)
      try addNewObjects(run.objects, firstNumber: run.first, to: &frame)
      if let deletion = run.deletedBy {
        try times.note(
          HybridTime(rawValue: deletion.hybridTime),
          by: EditOrigin(author: deletion.author, contextName: deletion.contextName))
      }
      for (offset, entry) in frame.table.entries.enumerated() {
        guard let entry else { throw Self.unknown(entities[run.objects.entity].name) }
        let key = entry.key.key
        objects.append(
          run.first + UInt64(offset), ObjectKey(entity: entity.rootNumber, key: key),
          living: run.isAlive ? ObjectKey(entity: entity.number, key: key) : nil,
          existed: entry.existed)
        // Who offers what it has tells its deletes as well.
        if !run.isAlive {
          try transaction.recordDelete(ObjectKey(entity: entity.number, key: key))
        }
      }
    }
  }

  private func checkNames(_ entity: ChangeSetIndex.Entity) throws {
    guard let own = schema.entity(namedNowOrBefore: entity.name) else {
      throw Self.unknown(entity.name)
    }
    // Values under two names of one property are two in a snapshot: which came later, the log tells.
    guard own.name == entity.name else { throw Self.former(entity.name) }
    for name in entity.properties {
      guard let property = own.property(namedNowOrBefore: name) else {
        throw Self.unknown("\(entity.name).\(name)")
      }
      guard property.name == name else { throw Self.former("\(entity.name).\(name)") }
    }
  }

  private static func former(_ name: String) -> UnfitSnapshot {
    UnfitSnapshot(reason: "\(name) has another name in the model here")
  }

  private static func unknown(_ name: String) -> UnfitSnapshot {
    UnfitSnapshot(reason: "the model here does not have \(name), or has it as something else")
  }

  /// Objects whose numbers follow each other.
  private struct NumberedRun {
    var first: UInt64
    var objects: ChangeSetIndex.NewObjects
    var isAlive: Bool
    /// Of dead ones.
    var deletedBy: ChangeSetIndex.Transaction?
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

  private func write(
    _ part: SnapshotReader.Part, _ objects: SnapshotObjects, at place: LogMark
  ) throws {
    for number in 0..<part.count {
      let changeSet = try part.changeSet(number)
      var frame = FrameContext(
        changeSet, sequence: place.sequence, firstNumber: 0, schema: schema)
      frame.isOfSnapshot = true
      if number == 0 {
        for own in part.numbers { frame.table.append(try objects.entry(of: own, isOwn: true)) }
      }
      for known in changeSet.index.knownNumbers {
        frame.table.append(try objects.entry(of: known))
      }
      var columns = changeSet.columns[...]
      for group in changeSet.index.groups {
        guard group.kind == .insert || group.kind == .update else {
          throw UnfitSnapshot(reason: "it says more of an object than what it has")
        }
        let own = columns.prefix(group.properties.count)
        columns = columns.dropFirst(group.properties.count)
        try apply(group, columns: own, in: &frame)
      }
      if let unknown = frame.unknown.first { throw Self.unknown("\(unknown)") }
      guard !frame.needsParked else { throw UnfitSnapshot(reason: "it does not fit together") }
    }
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
