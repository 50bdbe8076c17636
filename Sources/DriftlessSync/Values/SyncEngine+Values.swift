import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// Large values: they go to the zone before the change set that names them, and come before it is applied.
extension SyncEngine {
  // MARK: - To the zone

  /// What the server takes of large values; asks it.
  func learnValueBounds() async throws {
    let info = try await transport.zoneInfo()
    valueBounds = ValueBounds(bytesMax: info.valueBytesMax.flatMap { $0 > 0 ? $0 : nil })
  }

  /// Takes the large values out of a push of so many objects; a single object goes with all of its own.
  func valueCutting(ofObjects count: Int) -> ValueCutting {
    ValueCutting(
      bytesMin: options.largeValueBytesMin, valueBounds,
      pushBytesMax: count > 1 ? options.pushValueBytesMax : ChangeSetLimits().valueRowBytesMax)
  }

  /// Sends what the zone lacks of the values that a push names. Each goes on where it was.
  func uploadValues(of outbox: Outbox) async throws {
    let values = try store.read { transaction in
      try ValuePieces.named(byOutbox: outbox, on: transaction.connection)
    }
    guard !values.isEmpty else { return }
    let state = try replicaState()
    for value in values {
      do {
        try await upload(value, replica: state.replica, generation: state.generation) { first in
          try self.store.read {
            try ValuePieces.piece(of: value, first: first, on: $0.connection)
          }
        }
      } catch {
        try checkOwn(value, after: error)
      }
    }
  }

  /// Sends what the zone lacks of a value.
  ///
  /// - Parameter bytes: the value's bytes from one on, up to a piece's length.
  func upload(
    _ value: LargeValue, replica: UUID, generation: UUID, bytes: (Int) throws -> Data
  ) async throws {
    var damaged = 0
    var idle = 0
    var piece = ValuePiece(
      value: value, replica: replica, generation: generation, first: 0, bytes: Data())
    while true {
      let state: ValueState
      do {
        state = try await transport.put(piece)
      } catch let error as ProtocolError where error.code == .damaged {
        damaged += 1
        guard damaged < SyncTuning.damagedAttemptsMax else { throw error }
        (piece.first, piece.bytes) = (0, Data())
        continue
      }
      guard !state.isWhole else { return }
      idle = state.held >= piece.first + piece.bytes.count && !piece.bytes.isEmpty ? 0 : idle + 1
      guard (0...Int(clamping: value.length)).contains(state.held),
        idle <= SyncTuning.valueAnswersMax
      else { throw SyncError.otherAnswer }
      piece.first = state.held
      piece.bytes = try bytes(state.held)
      guard !piece.bytes.isEmpty || state.held == Int(clamping: value.length) else {
        throw SyncError.otherAnswer
      }
      valueBytes = valueBytes.addingClamped(piece.bytes.count)
      tellValueBytes(isSending: true)
    }
  }

  /// - Throws: `SyncError` when what is to be sent is not what its digest says: the change set is built anew. Else the error.
  private func checkOwn(_ value: LargeValue, after error: any Error) throws {
    guard (error as? ProtocolError)?.code == .damaged || error is SyncError else { throw error }
    let isGood = try store.read { try ValuePieces.isGood(value, on: $0.connection) }
    guard isGood else { throw SyncError.damaged("a large value of the change set in flight") }
    throw error
  }

  // MARK: - From the zone

  /// Applies the entries of a page as `applyInParts` does, some at a time, once the large values that they name are here.
  func applyWithValues(
    _ entries: [PullPage.Entry], cursor: Cursor, head: UInt64, allowsMassDelete: Bool
  ) async throws -> PullReport {
    var report = PullReport()
    var rest = entries[...]
    while let last = rest.last {
      var values: [LargeValue] = []
      var bytes = 0
      var count = 0
      for entry in rest {
        let named = ValuePieces.named(by: entry)
        let length = named.reduce(0) { $0.addingClamped(Int(clamping: $1.length)) }
        guard count == 0 || bytes.addingClamped(length) <= SyncTuning.valueBytesAtOnce else {
          break
        }
        values += named
        bytes = bytes.addingClamped(length)
        count += 1
      }
      let run = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      try await fetch(values, generation: cursor.generation)
      let end = run.last ?? last
      report.add(
        try applyInParts(
          run,
          cursor: Cursor(
            generation: cursor.generation, sequence: end.sequence, chain: end.chain),
          head: head, allowsMassDelete: allowsMassDelete))
      if !values.isEmpty { try bookkeep { try ValuePieces.trim(on: $0.connection) } }
    }
    return report
  }

  /// Brings values here, as far as the zone has them; what is here is not fetched again.
  func fetch(_ values: [LargeValue], generation: UUID) async throws {
    for value in values { try await fetch(value, generation: generation) }
  }

  private func fetch(_ value: LargeValue, generation: UUID) async throws {
    let length = Int(clamping: value.length)
    for _ in 0..<SyncTuning.damagedAttemptsMax {
      var have = try store.read { try ValuePieces.size(of: value, on: $0.connection) }
      while have < length {
        let range = have..<min(length, have + LargeValue.pieceBytesMax)
        let piece: Data
        do {
          piece = try await transport.value(value.digest, of: generation, range: range)
        } catch let error as ProtocolError where error.code == .noValue {
          log.warning("\(error.message): what names it shows another value until it is there")
          return try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
        }
        guard !piece.isEmpty, piece.count <= range.count else { break }
        try bookkeep { try ValuePieces.add(piece, at: have, of: value, on: $0.connection) }
        have += piece.count
        valueBytes = valueBytes.addingClamped(piece.count)
        tellValueBytes(isSending: false)
      }
      if try store.read({ try ValuePieces.isGood(value, on: $0.connection) }) { return }
      try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
    }
    log.warning("The zone's bytes of the value \(value.name) are not what its digest says")
    valueMemory.noteInVain(value)
  }

  /// How far large values are, beside what goes on with them.
  private func tellValueBytes(isSending: Bool) {
    let progress = SyncState.Progress(done: 0, total: 0, bytes: valueBytes)
    tell(.progress(isSending ? .sending(progress) : .receiving(progress)))
  }

  // MARK: - What was missing

  /// There when a person asked for the values that are missing again.
  static let retrySetting = "sync.values.retry"

  /// Brings what entries name that were set aside and are tried again now, of this log and of those that are gone; and all that is
  /// missing when a person says so.
  func fetchMissingValues() async throws {
    let (rows, due, isAsked) = try store.read { transaction in
      let connection = transaction.connection
      let entries = try Parking.entries(on: connection).filter(isDue).map {
        try Parking.frame(of: $0.sequence, on: connection)
      }
      let former = try FormerParking.entries(on: connection).filter { isDue($0.parked) }.map {
        try FormerParking.frame(of: $0.id, on: connection)
      }
      return (
        try ParkedValues.rows(on: connection).compactMap { LargeCell.value(in: $0.value) },
        (entries + former).flatMap { ValuePieces.named(by: $0) },
        try transaction.setting(Self.retrySetting) != nil
      )
    }
    if isAsked { valueMemory = ValueMemory() }
    let wanted = Set(due).union(isAsked ? rows : [])
    if !wanted.isEmpty {
      try await fetch(wanted.sorted(), generation: replicaState().generation)
    }
    if isAsked { try bookkeep { try $0.setSetting(Self.retrySetting, nil) } }
  }

  // MARK: - Snapshots

  /// Brings the values here that a snapshot names and this replica has not read about.
  func fetchValues(of snapshot: Snapshot) async throws {
    let state = try replicaState()
    let values = try store.read { transaction in
      var values: Set<LargeValue> = []
      var reader = try SnapshotReader(snapshot) { file in
        try SegmentPieces.bytes(of: file.name, on: transaction.connection)
      }
      try reader.forEachPart { part in
        for number in 0..<part.count where try !part.index(number).values.isEmpty {
          let changeSet = try part.changeSet(number)
          let pushed = try part.pushed(number)
          values.formUnion(changeSet.values { pushed[$0].sequence > state.cursor })
        }
      }
      return values.sorted()
    }
    try await fetch(values, generation: snapshot.generation)
  }
}

extension ChangeSet {
  /// The large values of rows of some transactions.
  func values(where isNews: (_ transaction: Int) -> Bool) -> [LargeValue] {
    var values: [LargeValue] = []
    var rest = columns[...]
    for group in index.groups {
      let own = rest.prefix(group.properties.count)
      rest = rest.dropFirst(group.properties.count)
      guard own.contains(where: { $0.large != nil }) else { continue }
      var row = 0
      for run in group.transactionRuns {
        for row in row..<row + run.count where isNews(run.transaction) {
          values += own.compactMap { $0.largeValue(at: row) }
        }
        row += run.count
      }
    }
    return values
  }
}
