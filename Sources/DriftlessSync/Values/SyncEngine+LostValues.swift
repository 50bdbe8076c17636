import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Large values that are not where they belong: that the server lost, that this replica could not fetch, that a comparison needs.
extension SyncEngine {
  /// Hears which large values the zone lacks.
  ///
  /// - Parameter mark: what the zone's last page said of them.
  func learnLacking(_ mark: String?) async throws {
    guard let mark else {
      // Also what an engine before this one heard of.
      valueMemory.forgetLacking()
      return try noteLacking([])
    }
    guard valueMemory.mark != mark else { return }
    try await goingOn(asking: true) {
      valueMemory.lacking = try await lostValues(of: try replicaState().generation)
      try noteLacking(valueMemory.lacking)
      valueMemory.mark = mark
    }
  }

  /// What is not here either is not to be had while the zone lacks it, and is to be had again afterwards.
  private func noteLacking(_ lacking: Set<LargeValue>) throws {
    let digests = Set(lacking.map(\.digest))
    var (lost, back) = try store.read { transaction -> ([Data], Set<Data>) in
      let connection = transaction.connection
      let missed = try MissedValues.digests(on: connection)
      let back = missed.filter { $1 == .lost && !digests.contains($0) }.map(\.key)
      let lost = try ParkedValues.nameRows(of: lacking, on: connection).compactMap {
        LargeCell.value(in: $0.value)?.digest
      }.filter { missed[$0] == nil }
      return (lost, Set(back))
    }
    // What waits to be told the zone's log does not name: it cannot say that it lacks it.
    if !back.isEmpty { back.subtract(try pendingNames().map(\.digest)) }
    guard !lost.isEmpty || !back.isEmpty else { return }
    for digest in back { valueMemory.noteBack(digest) }
    try bookkeep { transaction in
      for digest in lost {
        try MissedValues.note(digest, .lost, at: store.now, on: transaction.connection)
      }
      for digest in back { try MissedValues.forget(digest, on: transaction.connection) }
      // A person may have it asked for again.
      if !lost.isEmpty { try transaction.setSetting(Self.missingSetting, .integer(1)) }
    }
  }

  /// Sends what this store has of the large values that the zone lacks, and takes in those that it had to do without and that are
  /// there by now: after all else, which it never holds up.
  ///
  /// - Throws: `StoreError` (`diskFull`) where something was to be let go of and there is no room for that: whoever waits for it hears why.
  func mendValues() async throws {
    valueTurn.beginMending()
    try await goingOn(asking: true) { try await offerValues(valueMemory.lacking) }
    // What goes makes room for what comes.
    var full: StoreError?
    try await goingOn(asking: true) {
      do { try await letGoAsked() } catch let error as StoreError where error.code == .diskFull {
        full = error
      }
    }
    var missing = MissingValues()
    try await goingOn { missing = try await takeInMissing() }
    try await goingOn(noting: true) { try await fetchWanted(beside: missing) }
    if let full { throw full }
  }

  /// Lets go of what somebody wants to be let go of, since there is no room for what comes before that.
  ///
  /// - Returns: whether something went.
  func letGoForRoom() async throws -> Bool {
    guard try !store.read({ try LetGoRequest.waiting($0).isEmpty }) else { return false }
    try lock()
    valueTurn.beginMending()
    let before = try store.read { try LetGoRequest.gone($0) }
    try await goingOn(asking: true) { try await letGoAsked() }
    return try store.read { try LetGoRequest.gone($0) } > before
  }

  /// What fails here is tried again with the next sync, and nothing waits for it.
  ///
  /// - Parameters:
  ///   - notes: whether it is kept for who waits for what was asked for.
  ///   - asks: whether it asks the zone about values, and does nothing where the way to them is not there.
  private func goingOn(
    noting notes: Bool = false, asking asks: Bool = false, _ body: () async throws -> Void
  ) async throws {
    if asks, valueLine.stop() != nil { return }
    do {
      try await body()
    } catch let error as ProtocolError
      where [.generationChanged, .diverged, .unauthorized].contains(error.code)
    {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      try Task.checkCancellation()
      if asks, error is any TransportFailure { valueLine.noteFailure(error, of: nil) }
      log.warnOfLasting("Large values that are not where they belong have to wait: \(error)")
      if notes { try? noteWantedFailure(error) }
    }
  }

  /// What is missing, though nobody had to ask for it.
  struct MissingValues {
    var values: [LargeValue] = []
    /// Why some do not come that the zone has.
    var noRoom: StoreError?
  }

  /// - Returns: those that are missing still.
  private func takeInMissing() async throws -> MissingValues {
    guard try store.read({ try $0.setting(Self.missingSetting) }) != nil else {
      return MissingValues()
    }
    let (isNone, missing) = try store.read { transaction in
      let missing = try self.missing(transaction)
      return (missing.isEmpty, try missing.isEmpty ? [] : wanted(missing, transaction))
    }
    guard !isNone else {
      try bookkeep { try $0.setSetting(Self.missingSetting, nil) }
      return MissingValues()
    }
    // Each object has its bytes for itself.
    let counts = missing.reduce(into: [LargeValue: Int]()) { $0[$1, default: 0] += 1 }
    valueTurn.restart(ofParts: 2)
    var bytes = 0
    var asked: [LargeValue: Int] = [:]
    for (value, count) in counts.sorted(by: { valueMemory.isBefore($0.key, $1.key) })
    where !valueMemory.lacking.contains(value) && valueMemory.mayAsk(for: value) {
      guard bytes < mendedValueBytesMax else {
        valueTurn.noteLeft()
        break
      }
      asked[value] = count
      bytes = bytes.addingClamped(Int(clamping: value.length))
    }
    guard !asked.isEmpty else { return MissingValues(values: Array(counts.keys)) }
    let fetched = try await fetch(asked, generation: replicaState().generation)
    try replayParked()
    let left = Set(
      try store.read { try self.missing($0).compactMap { LargeCell.value(in: $0.value) } })
    for value in left {
      // It is here, and does not get where it belongs.
      if case .here? = fetched[value] { valueMemory.noteInVain(value) }
    }
    try bookkeep { try trimPieces($0) }
    var rest = MissingValues(values: counts.keys.filter(left.contains))
    for value in rest.values {
      guard case .noRoom(let bytes)? = fetched[value] else { continue }
      rest.noRoom = noRoom(for: value, bytes, isAsked: false)
    }
    return rest
  }

  /// Why some of what is missing does not come, where the way to it breaks.
  func brokenWay(to missing: MissingValues) -> (any Error)? {
    if let noRoom = missing.noRoom { return noRoom }
    let missing = missing.values
    for value in missing {
      if let error = valueMemory.broken(value) { return error }
    }
    let isDue = missing.contains {
      !valueMemory.lacking.contains($0) && valueMemory.mayAsk(for: $0)
    }
    return isDue ? valueLine.stop() : nil
  }

  /// Those of the values that are missing which would be taken in: what is edited here waits for the zone's word on that, and what the
  /// model does not know for a model that does.
  private func wanted(
    _ missing: [ParkedValues.Row], _ transaction: ReadTransaction
  ) throws -> [LargeValue] {
    let pending = try pendingSet(
      transaction, state: Self.state(on: transaction.connection, of: store))
    return missing.compactMap { row in
      guard let value = LargeCell.value(in: row.value),
        let slot = schema.entity(numbered: row.key.entity)?.property(named: row.property)?.slot,
        pending[row.key]?.transaction(of: slot) == nil
      else { return nil }
      return value
    }
  }

  func lostValues(of generation: UUID) async throws -> Set<LargeValue> {
    var values: Set<LargeValue> = []
    var last: Data?
    while values.count < SyncTuning.lostValuesMax {
      let listed = try await transport.lostValues(of: generation, after: last).sorted
      values.formUnion(listed)
      guard listed.count == LostValues.countMax, let end = listed.last?.digest, end != last
      else { break }
      last = end
    }
    return values
  }

  /// Sends those values that rows have here. Sealed ones are none of those: what was sealed is kept nowhere.
  private func offerValues(_ lacking: Set<LargeValue>) async throws {
    let wanted = lacking.filter { valueMemory.mayLook(for: $0) }
    guard !wanted.isEmpty else { return }
    // Where they are is looked up once: that reads all rows that may have one.
    var places = valueMemory.places.filter { wanted.contains($0.key) }
    let unknown = wanted.subtracting(places.keys)
    if !unknown.isEmpty {
      let found = try store.read { try Self.places(of: unknown, in: schema, $0) }
      places.merge(found) { _, new in new }
    }
    valueMemory.places = places
    for value in wanted where places[value] == nil { valueMemory.noteNotHere(value) }
    let state = try replicaState()
    valueTurn.restart(ofParts: 4)
    var left = mendedValueBytesMax
    for (value, place) in places.sorted(by: { $0.key < $1.key }) where left > 0 {
      guard let bytes = try store.read({ try place.bytes($0) }), LargeValue(of: bytes) == value
      else {
        // It was edited meanwhile, and may be elsewhere.
        valueMemory.places[value] = nil
        continue
      }
      do {
        left -= try await upload(
          value, replica: state.replica, generation: state.generation, bytesMax: left,
          pace: .pieceSeconds
        ) { first in
          Data(bytes.dropFirst(first).prefix(LargeValue.pieceBytesMax))
        }.bytes
        // The rest goes with the next sync.
        guard left > 0, !valueTurn.isOver() else { return valueTurn.noteLeft() }
        log.notice("The server had lost the large value \(value.name), and has it back from here")
      } catch let error as ProtocolError where Self.unwanted.contains(error.code) {
        log.warnOfLasting("The server takes no large value back from here: \(error.message)")
        // It takes none, or this one.
        let isAll = error.code != .tooLarge && error.code != .damaged
        for value in isAll ? Set(places.keys) : [value] { valueMemory.noteNotHere(value) }
        if isAll { return }
      } catch is SlowPiece {
        // The way is there: all else goes on, also other values that are asked for or let go of.
        valueMemory.noteSlowToSend(value)
        log.warnOfLasting(
          "A piece of the large value \(value.name), which the server lost, did not go in time: it goes again in an hour, with more time"
        )
        return
      }
    }
  }

  private static let unwanted: [ProtocolError.Code] = [
    .diskFull, .zoneFull, .unsupported, .tooLarge, .forbidden, .damaged,
  ]

  private static func places(
    of wanted: Set<LargeValue>, in schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> [LargeValue: ValuePlace] {
    let lengths = Set(wanted.map { Int(clamping: $0.length) })
    var places: [LargeValue: ValuePlace] = [:]
    for entity in schema.entities {
      let slots = entity.properties.filter { $0.mayBeLarge }.map(\.slot)
      guard !slots.isEmpty else { continue }
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { keys.append($0) }
      for key in keys {
        guard let values = try transaction.knownRow(key)?.values else { continue }
        for slot in slots {
          guard case .data(let data) = values[slot], lengths.contains(data.count),
            let value = LargeValue(of: data), wanted.contains(value)
          else { continue }
          places[value] = ValuePlace(key: key, slot: slot)
        }
        if places.count == wanted.count { return places }
      }
    }
    return places
  }

  /// Brings the values here that a repair writes: of what differs, and of objects that are missing.
  func fetchDiffering(
    _ part: SnapshotReader.Part, _ verification: ZoneVerification, _ columns: ComparedColumns
  ) async throws {
    let values = try store.read { transaction -> Set<LargeValue> in
      var values: Set<LargeValue> = []
      let state = try checkPlace(verification, transaction)
      let timing = try ValueTiming(options, transaction)
      var comparison = try ZoneComparison(
        transaction, schema: schema, pending: try pendingSet(transaction, state: state),
        columns: columns)
      var frames = try PageApplier.frames(
        of: part, at: verification.place.sequence, schema,
        ObjectDirectory(transaction.connection))
      guard frames.contains(where: { !$0.changeSet.index.values.isEmpty }) else { return values }
      try comparison.compare(part, &frames)
      for found in comparison.found {
        switch found {
        case .missing(_, let rows):
          for row in rows {
            values.formUnion(
              frames[row.layer].changeSet.values(at: row) { entity, property in
                schema.entity(namedNowOrBefore: entity)?.property(namedNowOrBefore: property)
                  .map { !timing.waits($0) } ?? true
              })
          }
        case .value(_, _, let reader, _, .value(let value)):
          if let large = LargeCell.value(in: value), !timing.waits(reader.property) {
            values.insert(large)
          }
        case .value, .deleted, .otherEntity, .unsaid: continue
        }
      }
      return values
    }
    try await fetch(values.sorted(), generation: verification.place.generation)
  }
}

extension SyncSchema.Property {
  /// Whether its values go by themselves when they are large, and are here as they went.
  fileprivate var mayBeLarge: Bool {
    guard case .attribute(let type) = kind, !isSealed else { return false }
    return type.isOfBytes
  }
}

extension AttributeType {
  /// Whether its values stand in a column of bytes.
  var isOfBytes: Bool {
    switch self {
    case .binaryData, .transformable, .objectID, .composite, .undefined: true
    case .integer16, .integer32, .integer64, .double, .float, .decimal, .boolean, .string, .date,
      .uuid, .uri:
      false
    }
  }
}

extension ChangeSet {
  /// The large values of a row of a group, of some properties.
  fileprivate func values(
    at place: ZoneComparison.Place, of isMeant: (_ entity: String, _ property: String) -> Bool
  ) -> [LargeValue] {
    let before = index.groups.prefix(place.group).reduce(0) { $0 + $1.properties.count }
    let group = index.groups[place.group]
    let own = columns.dropFirst(before).prefix(group.properties.count)
    let names = index.entities[group.entity]
    return zip(group.properties, own).compactMap { property, column in
      isMeant(names.name, names.properties[property]) ? column.largeValue(at: place.row) : nil
    }
  }
}
