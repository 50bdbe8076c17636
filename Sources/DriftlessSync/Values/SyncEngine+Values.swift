import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// The server, or the disk of the store, has no room for the large values of a push.
struct NoRoomForValues: Error {
  var error: any Error
}

/// Large values: they go to the zone before the change set that names them is taken, and come before it is applied.
extension SyncEngine {
  /// There when a person asked for the values that are missing again.
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
        try await upload(value, replica: state.replica, generation: state.generation) { first in
          try self.store.read {
            try ValuePieces.piece(of: value, first: first, on: $0.connection)
          }
        }
      } catch let error as ProtocolError where [.diskFull, .zoneFull].contains(error.code) {
        throw NoRoomForValues(error: error)
      } catch {
        try checkOwn(value, after: error)
      }
    }
    if !nowhere.isEmpty { throw ValuesAreNowhere(values: nowhere) }
  }

  /// Sends what the zone lacks of a value.
  ///
  /// - Parameters:
  ///   - bytesMax: so much of it goes at most.
  ///   - bytes: the value's bytes from one on, up to a piece's length.
  /// - Returns: how many bytes went.
  @discardableResult
  func upload(
    _ value: LargeValue, replica: UUID, generation: UUID, bytesMax: Int = .max,
    bytes: (Int) throws -> Data
  ) async throws -> Int {
    var sent = 0
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
      guard !state.isWhole, sent < bytesMax else { return sent }
      idle = state.held >= piece.first + piece.bytes.count && !piece.bytes.isEmpty ? 0 : idle + 1
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
    namedInPage = try store.read { try ValuePieces.namedByStaged($0.connection) }
      .union(entries.flatMap { ValuePieces.named(by: $0) })
    defer { namedInPage = [] }
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
      report.add(
        try applyInParts(
          run,
          cursor: Cursor(
            generation: cursor.generation, sequence: end.sequence, chain: end.chain),
          head: head, allowsMassDelete: allowsMassDelete))
      if !values.isEmpty { try bookkeep { try ValuePieces.trim($0, keeping: namedInPage) } }
    }
    return report
  }

  /// What became of a value that was asked for.
  enum Fetched {
    case here
    case not(MissedValues.Reason)
    /// This one does not come, and others do.
    case refused(any Error)
    /// No object waits for it any more.
    case unneeded
    /// The store's disk has no room for it. Bytes that are needed.
    case noRoom(Int)
  }

  /// Brings values here, as far as the zone has them; what is here is not fetched again.
  func fetch(_ values: [LargeValue], generation: UUID) async throws {
    try await fetch(
      values.reduce(into: [:]) { $0[$1, default: 0] += 1 }, generation: generation)
  }

  /// - Parameters:
  ///   - values: with how many objects get each.
  ///   - areNamed: whether the log of the zone is known to name them.
  func fetch(
    _ values: [LargeValue: Int], generation: UUID, areNamed: Bool = false
  ) async throws {
    if areNamed { try noteNamed(values.keys) }
    // What is here and not yet where it belongs takes the room of those that come after it.
    var waiting = 0
    for (value, count) in values.sorted(by: { $0.key < $1.key }) {
      switch try await fetch(value, generation: generation, beside: waiting, for: count) {
      case .here: try forgetMissed(value)
      case .noRoom: try noteMissed(value, .room)
      case .not(let reason): try noteMissed(value, reason)
      case .refused: try noteMissed(value, .refused)
      case .unneeded: break
      }
      waiting = waiting.addingClamped(try bytesToCopy([value: count]))
    }
  }

  /// What a store left in another zone, or was not to be had of a zone that was not told of it, is in this one.
  private func noteNamed(_ values: some Sequence<LargeValue>) throws {
    let apart = try store.read { transaction in
      try values.filter {
        let reason = try MissedValues.reason($0.digest, on: transaction.connection)
        return reason == .left || reason == .absent
      }
    }
    guard !apart.isEmpty else { return }
    try bookkeep { transaction in
      for value in apart {
        try MissedValues.noteNamed(value.digest, on: transaction.connection)
      }
    }
  }

  private func forgetMissed(_ value: LargeValue) throws {
    guard try store.read({ try MissedValues.reason(value.digest, on: $0.connection) }) != nil
    else { return }
    try bookkeep { try MissedValues.forget(value.digest, on: $0.connection) }
  }

  /// Lets go of what is here of a value that there is no room for, unless it is under way.
  func dropPieces(of value: LargeValue) throws {
    try bookkeep { try ValuePieces.dropUnneeded([value], on: $0.connection) }
  }

  func noteMissed(_ value: LargeValue, _ reason: MissedValues.Reason) throws {
    if reason != .room { valueMemory.noteInVain(value) }
    try bookkeep {
      try MissedValues.note(value.digest, reason, at: store.now, on: $0.connection)
    }
  }

  /// Brings one value here.
  ///
  /// - Parameters:
  ///   - waiting: bytes of those that are here and go where they belong.
  ///   - count: how many objects get it, each of which has it for itself.
  func fetch(
    _ value: LargeValue, generation: UUID, beside waiting: Int, for count: Int = 1
  ) async throws -> Fetched {
    let length = Int(clamping: value.length)
    let placed = Self.bytesToPlace(length).multipliedClamped(by: max(1, count))
    var failed = 0
    for _ in 0..<SyncTuning.damagedAttemptsMax {
      var have = try store.read { try ValuePieces.size(of: value, on: $0.connection) }
      let needed = waiting.addingClamped(placed).addingClamped(length - have)
      guard have >= length && count == 1 || hasRoom(for: needed) else {
        log.warning(
          "There is no room for the value \(value.name): it needs \(needed) bytes, beside what is kept for saves"
        )
        valueMemory.noteInVain(value)
        try dropPieces(of: value)
        return .noRoom(needed)
      }
      while have < length {
        try Task.checkCancellation()
        let range = have..<min(length, have + LargeValue.pieceBytesMax)
        let piece: Data
        do {
          piece = try await transport.value(value.digest, of: generation, range: range)
        } catch let error as ProtocolError where error.code == .noValue {
          log.warning("\(error.message): what names it shows no value until it is there")
          try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
          return .not(.lost)
        } catch {
          guard try await isOfOneValue(error) else { throw error }
          failed += 1
          // A line that broke is there again.
          guard failed >= SyncTuning.valueAttemptsMax else { continue }
          log.warning("The value \(value.name) does not come, and all else goes on: \(error)")
          return .refused(error)
        }
        failed = 0
        guard !piece.isEmpty, piece.count <= range.count else { break }
        do {
          try bookkeep { try ValuePieces.add(piece, at: have, of: value, on: $0.connection) }
        } catch let error as StoreError where error.code == .diskFull {
          log.warning("There is no room for the value \(value.name), of \(value.length) bytes")
          valueMemory.noteInVain(value)
          try? bookkeep { try ValuePieces.drop(value, on: $0.connection) }
          return .noRoom(length)
        }
        have += piece.count
        valueBytes = valueBytes.addingClamped(piece.count)
        tellValueBytes(isSending: false)
      }
      if try store.read({ try ValuePieces.isGood(value, on: $0.connection) }) { return .here }
      try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
    }
    log.warning("The zone's bytes of the value \(value.name) are not what its digest says")
    valueMemory.noteInVain(value)
    return .not(.damaged)
  }

  /// Whether what fails is one value alone: the zone says so, or answers to something else.
  private func isOfOneValue(_ error: any Error) async throws -> Bool {
    try Task.checkCancellation()
    if let error = error as? ProtocolError { return !Self.ofAllValues.contains(error.code) }
    guard let error = error as? any TransportFailure, !error.needsPerson else { return false }
    do {
      _ = try await transport.zoneInfo()
      return true
    } catch {
      try Task.checkCancellation()
      return false
    }
  }

  /// What the zone says of no value by itself.
  private static let ofAllValues: Set<ProtocolError.Code> = [
    .unauthorized, .codeUsed, .forbidden, .tokenBound, .noZone, .generationChanged, .forked,
    .diverged, .clockAhead, .busy, .purged,
  ]

  /// How far large values are, beside what goes on with them.
  private func tellValueBytes(isSending: Bool) {
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
