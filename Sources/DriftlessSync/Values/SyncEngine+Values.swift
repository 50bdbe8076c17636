import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// The server, or the disk of the store, has no room for the large values of a push.
struct NoRoomForValues: Error {
  var error: any Error
}

/// A piece of a large value that the zone lacks did not go in the time that it had: the line may be slow, and be there.
struct SlowPiece: Error {}

/// Large values: they go to the zone before the change set that names them is taken, and come before it is applied.
extension SyncEngine {
  /// How often a person asked for the values that are missing again, since that was done; not there when nobody did.
  static let retrySetting = "sync.values.retry"
  /// There when values are set aside whose bytes were not to be had.
  static let missingSetting = "sync.values.missing"

  // MARK: - To the zone

  /// What the server takes of large values; asks it.
  func learnValueBounds() async throws {
    do {
      let info = try await transport.zoneInfo()
      valueBounds = ValueBounds(bytesMax: info.valueBytesMax.flatMap { $0 > 0 ? $0 : nil })
    } catch let error as ProtocolError
      where [.forbidden, .noZone, .unsupported].contains(error.code)
    {
      // A proxy may let pushes through and this not: then they go as they ever went.
      log.debug("The server does not say whether it takes large values: \(error.message)")
      valueBounds = ValueBounds(bytesMax: nil)
    }
  }

  /// Takes the large values out of a push.
  func valueCutting(pushBytesMax: Int) -> ValueCutting {
    ValueCutting(
      bytesMin: options.largeValueBytesMin, valueBounds, pushBytesMax: pushBytesMax,
      beside: store.url
    ) { try self.requireRoom(for: $0, "A large value on its way out") }
  }

  /// What is pending and has a value that would go by itself.
  func withLargeValues(
    _ pending: PendingSet, _ transaction: ReadTransaction
  ) throws -> Set<ObjectKey> {
    var found: Set<ObjectKey> = []
    for (key, object) in pending.objects where object.whole != .delete {
      guard let properties = schema.entity(numbered: key.entity)?.properties.filter(\.mayGoLarge),
        !properties.isEmpty, let values = try transaction.knownRow(key)?.values
      else { continue }
      let isLarge = properties.contains { property in
        (object.whole != .none || object.transaction(of: property.slot) != nil)
          && values[property.slot].wireBytes + SyncTuning.sealedCellBytes
            >= options.largeValueBytesMin
      }
      if isLarge { found.insert(key) }
    }
    return found
  }

  /// Sends what the zone lacks of the values that a push names. Each goes on where it was.
  ///
  /// - Throws: `ValuesLeft` where the turn of the sync is over before all are there.
  func uploadValues(of outbox: Outbox) async throws {
    let values = try store.read {
      try ValuePieces.named(byOutbox: outbox, on: $0.connection)
    }
    guard !values.isEmpty else { return }
    let state = try replicaState()
    var told = ToldValues()
    var nowhere: Set<LargeValue> = []
    for value in values {
      let isHere = try store.read { try ValuePieces.size(of: value, on: $0.connection) > 0 }
      if try !isHere && isTold(value, &told) {
        if try await !isThere(value, state.generation) { nowhere.insert(value) }
        continue
      }
      do {
        let isWhole = try await upload(
          value, replica: state.replica, generation: state.generation, pace: .turn
        ) { first in
          try self.store.read {
            try ValuePieces.piece(of: value, first: first, on: $0.connection)
          }
        }.isWhole
        guard isWhole else { throw ValuesLeft() }
      } catch let error as ValuesLeft {
        throw error
      } catch let error as ProtocolError where [.diskFull, .zoneFull].contains(error.code) {
        throw NoRoomForValues(error: error)
      } catch {
        try checkOwn(value, after: error)
      }
    }
    if !nowhere.isEmpty { throw ValuesAreNowhere(values: nowhere) }
  }

  /// When an upload ends: with the turn of the sync in any case, where that has an end.
  enum UploadPace {
    /// Each piece goes to its end.
    case turn
    /// A piece has a time of its own.
    case pieceSeconds
  }

  /// Sends what the zone lacks of a value.
  ///
  /// - Parameters:
  ///   - bytesMax: so much of it goes at most.
  ///   - bytes: the value's bytes from one on, up to a piece's length.
  /// - Returns: how many bytes went, and whether the zone has all of it.
  func upload(
    _ value: LargeValue, replica: UUID, generation: UUID, bytesMax: Int = .max,
    pace: UploadPace, bytes: (Int) throws -> Data
  ) async throws -> (bytes: Int, isWhole: Bool) {
    var sent = 0
    var damaged = 0
    var idle = 0
    var piece = ValuePiece(
      value: value, replica: replica, generation: generation, first: 0, bytes: Data())
    while true {
      let state: ValueState
      do {
        state = try await put(piece, pace)
      } catch let error as ProtocolError where error.code == .damaged {
        damaged += 1
        guard damaged < SyncTuning.damagedAttemptsMax else { throw error }
        (piece.first, piece.bytes) = (0, Data())
        continue
      }
      idle = state.held >= piece.first + piece.bytes.count && !piece.bytes.isEmpty ? 0 : idle + 1
      // A push goes on by one piece at least, so that turns come to an end.
      let isOver = valueTurn.isOver() && (pace == .pieceSeconds || idle == 0)
      guard !state.isWhole, sent < bytesMax, !isOver else { return (sent, state.isWhole) }
      guard (0...Int(clamping: value.length)).contains(state.held),
        idle <= SyncTuning.valueAnswersMax
      else { throw SyncError.otherAnswer }
      piece.first = state.held
      piece.bytes = try bytes(state.held)
      guard !piece.bytes.isEmpty || state.held == Int(clamping: value.length) else {
        throw SyncError.otherAnswer
      }
      sent = sent.addingClamped(piece.bytes.count)
      valueBytes = valueBytes.addingClamped(piece.bytes.count)
      tellValueBytes(isSending: true)
    }
  }

  private func put(_ piece: ValuePiece, _ pace: UploadPace) async throws -> ValueState {
    guard pace == .pieceSeconds, valueTurn.isBounded else {
      let state = try await transport.put(piece)
      // One piece goes in any case: a question brings nothing further.
      if !piece.bytes.isEmpty { valueTurn.noteCame() }
      return state
    }
    _ = valueTurn.noteTried()
    let transport = transport
    let seconds = valueMemory.pieceSeconds(for: piece.value)
    do {
      // Half of a piece is none, so it goes to its end where it can.
      let state = try await ending(at: .now + .seconds(seconds)) {
        try await transport.put(piece)
      }
      valueTurn.noteCame()
      return state
    } catch is TurnIsOver {
      // A question without bytes is never slow: nothing answers it.
      if piece.bytes.isEmpty { throw StalledTransfer() }
      throw SlowPiece()
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
    let timing = try valueTiming()
    try store.read { try staged.update($0.connection) }
    for entry in entries { namedInPage.formUnion(ValuePieces.named(by: entry)) }
    defer { namedInPage = LargeValueSet() }
    var rest = entries[...]
    while let last = rest.last {
      var values: [LargeValue: Int] = [:]
      var bytes = 0
      var count = 0
      for entry in rest {
        let named = entry.isOwnHeaderOnly ? [:] : timing.dueCounts(entry.frame, schema)
        let length = named.keys.reduce(0) { $0.addingClamped(Int(clamping: $1.length)) }
        guard count == 0 || bytes.addingClamped(length) <= SyncTuning.valueBytesAtOnce else {
          break
        }
        values.merge(named, uniquingKeysWith: +)
        bytes = bytes.addingClamped(length)
        count += 1
      }
      let run = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      try await fetch(values, generation: cursor.generation, areNamed: true)
      let end = run.last ?? last
      let applied = try applyInParts(
        run,
        cursor: Cursor(
          generation: cursor.generation, sequence: end.sequence, chain: end.chain),
        head: head, allowsMassDelete: allowsMassDelete)
      report.add(applied)
      // Those of a push whose last part has not come stay.
      if !values.isEmpty, applied.changeSets > 0 { try bookkeep { try trimPieces($0) } }
    }
    return report
  }

  /// Lets go of what is here of values that are neither under way nor waited for.
  func trimPieces(_ transaction: ReadTransaction) throws {
    guard try ValuePieces.exist(on: transaction.connection) else { return }
    try staged.update(transaction.connection)
    try ValuePieces.trim(transaction, keeping: [staged.values, namedInPage, unsentValues])
  }

  /// Lets go of what is here of some values, unless they are under way.
  func dropPieces(
    of values: some Sequence<LargeValue>, _ transaction: ReadTransaction
  ) throws {
    try staged.update(transaction.connection)
    try ValuePieces.dropUnneeded(values, keeping: staged.values, on: transaction.connection)
  }

  /// How far large values are, beside what goes on with them.
  func tellValueBytes(isSending: Bool) {
    let progress = SyncState.Progress(done: 0, total: 0, bytes: valueBytes)
    tell(.progress(isSending ? .sending(progress) : .receiving(progress)))
  }
}

extension PropertyValue {
  /// About as many as it takes by itself on the wire.
  fileprivate var wireBytes: Int {
    switch self {
    case .data(let data): data.count
    case .string(let text): text.utf8.count
    default: 0
    }
  }
}

extension SyncSchema.Property {
  /// Whether one of its values may go by itself.
  fileprivate var mayGoLarge: Bool {
    guard case .attribute(let type) = kind else { return false }
    return isSealed || type.isOfBytes
  }
}
