import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// One comparison of a store with its zone, at one place of the log.
struct ZoneVerification: Sendable {
  /// The store is at another place of the log by now.
  struct Moved: Error {}

  let engine: SyncEngine
  let digests: ZoneDigests
  let place: Cursor
  let repairs: Bool
  let allowsMassDelete: Bool
  /// Whether what the zone has deleted may go, as far as the brake lets it. A pull lets go of the brake, and each round of a
  /// repair begins with one.
  let takesOut: Bool
  let progress: (@Sendable (VerifyProgress) -> Void)?

  init(
    engine: SyncEngine, digests: ZoneDigests, at place: Cursor, repairs: Bool,
    allowsMassDelete: Bool, takesOut: Bool = true,
    progress: (@Sendable (VerifyProgress) -> Void)?
  ) {
    self.engine = engine
    self.digests = digests
    self.place = place
    self.repairs = repairs
    self.allowsMassDelete = allowsMassDelete
    self.takesOut = takesOut || allowsMassDelete
    self.progress = progress
  }

  func run() async throws -> VerifyReport {
    try await engine.run(self)
  }
}

extension SyncEngine {
  fileprivate func run(_ verification: ZoneVerification) async throws -> VerifyReport {
    let damaged = try damagedCells(verification)
    var gathered = try read(verification)
    for difference in damaged {
      gathered.add(.damaged, isRepaired: difference.isRepaired) { difference }
    }
    let differing = gathered.columns.columns.filter { column, place in
      !gathered.matches(place.map { verification.digests.columns[$0].digest } ?? .empty, column)
    }
    var ranges: [Int: AskedColumns] = [:]
    for batch in differing.batches(of: SyncTuning.digestColumnsMax) {
      try await compareRanges(batch, verification, &gathered, &ranges)
    }
    for (done, range) in ranges.keys.sorted().enumerated() {
      verification.progress?(.comparing(ranges: done, of: ranges.count))
      try await compareBlocks(of: range, ranges[range] ?? [], verification, &gathered)
    }
    return gathered.report
  }

  /// Reads the whole store once.
  private func read(_ verification: ZoneVerification) throws -> ZoneVerification.Gathered {
    try store.read { transaction in
      let state = try checkPlace(verification, transaction)
      let next = verification.digests.nextObject
      var cells = try ReplicaCells(transaction, schema: schema)
      defer { cells.finish() }
      var number: UInt64 = 1
      while number < next {
        if number % StateDigest.rangeObjects == 1 {
          if Task.isCancelled { throw CancellationError() }
          verification.progress?(.reading(objects: number - 1, of: next - 1))
        }
        try cells.append(number)
        number += 1
      }
      let trees = try cells.trees(upTo: next)
      let columns = ComparedColumns(
        verification.digests, own: trees.shown.columns,
        otherEnds: try OtherEnd.heard(transaction), schema)
      var gathered = ZoneVerification.Gathered(
        shown: trees.shown, said: trees.said, columns: columns)
      gathered.report.sequence = verification.place.sequence
      gathered.report.objects = cells.counts.values.reduce(0, +)
      gathered.report.properties = columns.columns.count {
        !$0.column.property.isEmpty && $0.column.orderedProperty == nil
      }
      gathered.report.leftOut.properties = columns.leftOut
      gathered.report.leftOut.encrypted = columns.encrypted.sorted()
      try lookForUnknown(transaction, state, counts: cells.counts, &gathered)
      try lookForLost(transaction, state, &gathered)
      return gathered
    }
  }

  @discardableResult
  func checkPlace(
    _ verification: ZoneVerification, _ transaction: ReadTransaction
  ) throws -> ReplicaState {
    let state = try Self.state(on: transaction.connection, of: store)
    guard state.position == verification.place else { throw ZoneVerification.Moved() }
    return state
  }

  /// Objects that the zone never had, and that do not wait to be pushed either.
  private func lookForUnknown(
    _ transaction: ReadTransaction, _ state: ReplicaState, counts: [Int32: Int],
    _ gathered: inout ZoneVerification.Gathered
  ) throws {
    let pending = try pendingSet(transaction, state: state)
    var directory = ObjectDirectory(transaction.connection, readsAhead: true)
    for entity in schema.entities {
      guard
        try transaction.objectCount(of: entity.description) != counts[entity.number] ?? 0
      else { continue }
      try transaction.forEachKey(of: entity.description) { key in
        guard try directory.number(root: entity.rootNumber, key: key.key) == nil,
          pending[key].map({ $0.whole == .none }) ?? true
        else { return }
        try gathered.add(.unknown, isRepaired: false) {
          .init(
            kind: .unknown, entity: entity.name, object: try transaction.identity(of: key),
            isRepaired: false)
        }
      }
    }
  }

  // MARK: The way down

  private func compareRanges(
    _ columns: AskedColumns, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered, _ ranges: inout [Int: AskedColumns]
  ) async throws {
    let count = DigestTree.rangeCount(upTo: verification.digests.nextObject)
    for first in stride(from: 0, to: count, by: DigestPart.countMax) {
      let part = first..<min(count, first + DigestPart.countMax)
      let there = try await ask(
        columns, verification, &gathered, each: part.count
      ) { .ranges(part, columns: $0) }
      for (column, digests) in zip(columns, there) {
        for (digest, range) in zip(digests, part)
        where !gathered.matches(digest, column.column, range: range) {
          ranges[range, default: []].append(column)
        }
      }
    }
  }

  private func compareBlocks(
    of range: Int, _ columns: AskedColumns,
    _ verification: ZoneVerification, _ gathered: inout ZoneVerification.Gathered
  ) async throws {
    let numbers = DigestPart.numbers(ofRange: range)
    let next = verification.digests.nextObject
    let here = try store.read { transaction in
      try checkPlace(verification, transaction)
      var cells = try ReplicaCells(transaction, schema: schema, from: range)
      defer { cells.finish() }
      for number in numbers where number < next { try cells.append(number) }
      return cells.blocks()
    }
    var differing: Set<Int> = []
    for batch in columns.batches(of: SyncTuning.digestColumnsMax) {
      let there = try await ask(
        batch, verification, &gathered, each: StateDigest.rangeBlocks
      ) { .blocks(range: range, columns: $0) }
      for (column, digests) in zip(batch, there) {
        for (block, digest) in digests.enumerated()
        where digest != here.shown[column.column]?[block] ?? .empty
          && !(column.column.maySayLess(gathered.said)
            && digest == here.said[column.column]?[block] ?? .empty)
        {
          differing.insert(block)
        }
      }
    }
    for run in differing.sorted().runs {
      let first = numbers.lowerBound + UInt64(run.lowerBound) * StateDigest.blockObjects
      let end = numbers.lowerBound + UInt64(run.upperBound) * StateDigest.blockObjects
      guard first < next else {
        throw ProtocolError(
          .malformed, "The answer has digests of objects that the zone does not have.",
          suggestion: "Try again; report it when it comes back.")
      }
      for numbers in try await differingObjects(
        of: first..<min(end, next), columns, verification, &gathered)
      {
        try await compareObjects(numbers, verification, &gathered)
      }
    }
  }

  /// The digests of some columns, those of each one; of a column that the zone does not have none are asked for.
  func ask(
    _ columns: AskedColumns, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered, each count: Int, _ part: ([Int]) -> DigestPart
  ) async throws -> [[StateDigest]] {
    let places = columns.compactMap(\.place)
    var digests: ArraySlice<StateDigest> = []
    if !places.isEmpty {
      let data = try await transport.digests(part(places), at: verification.place)
      gathered.report.requests += 1
      gathered.report.bytes += data.count
      digests = try StateDigest.all(in: data, count: places.count * count)[...]
    }
    return columns.map { column in
      guard column.place != nil else { return [StateDigest](repeating: .empty, count: count) }
      defer { digests = digests.dropFirst(count) }
      return Array(digests.prefix(count))
    }
  }

  private func compareObjects(
    _ numbers: Range<UInt64>, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered
  ) async throws {
    var rest = numbers
    while !rest.isEmpty {
      let data = try await transport.digests(.objects(rest), at: verification.place)
      gathered.report.requests += 1
      gathered.report.bytes += data.count
      let (part, end) = try SnapshotReader.part(
        data, of: verification.place.generation, numbers: rest)
      if verification.repairs {
        try await fetchDiffering(part, verification, gathered.columns)
        try repair(part, verification, &gathered)
      } else {
        try compare(part, verification, &gathered)
      }
      rest = end..<rest.upperBound
    }
  }

  private func compare(
    _ part: SnapshotReader.Part, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered
  ) throws {
    try looking(at: part, verification, gathered.columns) { comparison, births in
      gathered.report.leftOut.add(comparison.leftOut)
      for found in comparison.found {
        try gathered.add(found.kind, isRepaired: false) {
          try difference(found, births, comparison.transaction, isRepaired: false)
        }
      }
    }
  }

  /// Compares a part with the store as it is, and hands over what was found.
  private func looking(
    at part: SnapshotReader.Part, _ verification: ZoneVerification, _ columns: ComparedColumns,
    _ body: (ZoneComparison, Births) throws -> Void
  ) throws {
    try store.read { transaction in
      let state = try checkPlace(verification, transaction)
      var comparison = try ZoneComparison(
        transaction, schema: schema, pending: try pendingSet(transaction, state: state),
        columns: columns)
      var frames = try PageApplier.frames(
        of: part, at: verification.place.sequence, schema,
        ObjectDirectory(transaction.connection))
      try comparison.compare(part, &frames)
      try body(comparison, PageApplier.births(part, frames))
    }
  }

  /// What differs is looked at anew in the transaction that mends it: it may have been edited meanwhile.
  private func repair(
    _ part: SnapshotReader.Part, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered
  ) throws {
    // Without a difference, nothing is to be written.
    var hasDifferences = false
    try looking(at: part, verification, gathered.columns) { comparison, _ in
      hasDifferences = !comparison.found.isEmpty
      if !hasDifferences { gathered.report.leftOut.add(comparison.leftOut) }
    }
    guard hasDifferences else { return }
    let before = gathered
    gathered = try settling { applier, state in
      guard state.position == verification.place else { throw ZoneVerification.Moved() }
      applier.allowsMassDelete = verification.allowsMassDelete
      let transaction = applier.transaction
      var frames = try applier.frames(of: part, at: verification.place.sequence)
      var comparison = try ZoneComparison(
        transaction, schema: schema, pending: applier.pending, columns: before.columns)
      try comparison.compare(part, &frames)
      let births = PageApplier.births(part, frames)
      let last = try applier.lastChanges(of: comparison.found)
      let takesOut = try verification.takesOut && applier.takesOut(comparison.found)
      try applier.makeKeys(of: comparison.found, births, &frames)
      var told = before
      told.report.leftOut.add(comparison.leftOut)
      for found in comparison.found {
        // What the store has now is told: it is another thing once it is mended.
        var difference =
          try told.tells(found.kind)
          ? self.difference(found, births, transaction, isRepaired: true) : nil
        let isRepaired = try applier.repair(found, births, &frames, last, takesOut: takesOut)
        difference?.isRepaired = isRepaired
        told.add(found.kind, isRepaired: isRepaired, difference)
      }
      try applier.finishKeys()
      try ImportTimes.purge(transaction.connection)
      return told
    }
  }

  private func difference(
    _ found: ZoneComparison.Found, _ births: Births, _ transaction: ReadTransaction,
    isRepaired: Bool
  ) throws -> VerifyReport.Difference {
    func named(
      _ kind: VerifyReport.Difference.Kind, _ entity: SyncSchema.Entity, _ key: ObjectKey
    ) throws -> VerifyReport.Difference {
      .init(
        kind: kind, entity: entity.name, object: try transaction.identity(of: key),
        isRepaired: isRepaired)
    }
    switch found {
    case .missing(let number, _):
      let (entity, identity) = try births.birth(of: number)
      return .init(kind: .missing, entity: entity, object: identity, isRepaired: isRepaired)
    case .deleted(let key, let entity, _): return try named(.deleted, entity, key)
    case .otherEntity(let key, let entity): return try named(.entity, entity, key)
    case .value(let key, let entity, let reader, _, let zone):
      var difference = try named(.value, entity, key)
      difference.property = reader.property.name
      let row = try transaction.knownOwnRow(key)
      difference.isLost = row?.lost.contains(reader.property.slot) == true ? true : nil
      difference.local = try localText(reader.property, key, row, transaction)
      difference.zone = try text(zone, transaction)
      return difference
    case .unsaid(let key, let entity, let property):
      var difference = try named(.value, entity, key)
      difference.property = property.name
      difference.local = try localText(
        property, key, transaction.knownOwnRow(key), transaction)
      return difference
    }
  }

  private func localText(
    _ property: SyncSchema.Property, _ key: ObjectKey, _ row: ReadTransaction.Row?,
    _ transaction: ReadTransaction
  ) throws -> String? {
    guard let values = row?.values, row?.lost.contains(property.slot) == false else { return nil }
    var json = JSONText()
    try ReplicaExport.append(property, of: key, values: values, transaction, to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func text(
    _ zone: ZoneComparison.ZoneValue, _ transaction: ReadTransaction
  ) throws -> String {
    var json = JSONText()
    switch zone {
    case .value(let value) where value.isInZone:
      ReplicaExport.appendInZone(value, to: &json)
    case .value(let value):
      try json.value(value) { key, json in json.uuid(try transaction.identity(of: key)) }
    case .elements(let elements):
      json.raw("[")
      for (place, key) in elements.enumerated() {
        if place > 0 { json.raw(",") }
        json.uuid(try transaction.identity(of: key))
      }
      json.raw("]")
    }
    return String(decoding: json.bytes, as: UTF8.self)
  }
}

extension ZoneVerification.Gathered {
  /// Whether the zone's digest over all of a column is one of the store's.
  fileprivate func matches(_ digest: StateDigest, _ column: DigestColumn) -> Bool {
    digest == shown.root(of: column) || column.maySayLess(said) && digest == said.root(of: column)
  }

  fileprivate func matches(_ digest: StateDigest, _ column: DigestColumn, range: Int) -> Bool {
    digest == shown.digest(of: column, range: range)
      || column.maySayLess(said) && digest == said.digest(of: column, range: range)
  }
}

extension VerifyReport.LeftOut {
  fileprivate mutating func add(_ other: Self) {
    pending += other.pending
    setAside += other.setAside
  }
}

extension Array {
  /// Its elements, so many at a time.
  func batches(of count: Int) -> [[Element]] {
    stride(from: 0, to: self.count, by: count).map {
      Array(self[$0..<Swift.min(self.count, $0 + count)])
    }
  }
}
