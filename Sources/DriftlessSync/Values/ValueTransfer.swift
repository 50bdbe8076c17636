import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// The time that a sync has for large values is over.
struct TurnIsOver: Error {}

/// Nothing of a large value, or of what the zone says of values, came in all the time that a sync has for that.
struct StalledTransfer: TransportFailure {
  var name: String { "timed-out" }
  var message: String { "The zone answers to all else, and of large values nothing came in time." }
  var suggestion: String {
    "Look for what holds up large answers on the way, or at the server; it is tried again."
  }
  var isTransient: Bool { true }
  var retryAfterSeconds: Double? { nil }
}

/// Large values on their way, as far as the turn of a sync goes (`ValueTurn`).
extension SyncEngine {
  /// Does something that waits for the zone, until a time.
  ///
  /// - Throws: `TurnIsOver` where that came first, or `PartOfValue` with that as its reason; else what it throws.
  func ending<Answer: Sendable>(
    at end: ContinuousClock.Instant?, _ body: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    guard let end else { return try await body() }
    return try await withThrowingTaskGroup(of: Answer?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(until: end, clock: .continuous)
        return nil
      }
      defer { group.cancelAll() }
      switch await group.nextResult() {
      case .success(let answer?)?: return answer
      case .failure(let error)? where !(error is CancellationError): throw error
      default: break
      }
      group.cancelAll()
      switch await group.nextResult() {
      // It came at the last moment.
      case .success(let answer?)?: return answer
      case .failure(let part as PartOfValue)?:
        throw PartOfValue(bytes: part.bytes, reason: TurnIsOver())
      default:
        try Task.checkCancellation()
        throw TurnIsOver()
      }
    }
  }

  /// Asks the zone for what is no value's bytes, within the turn.
  ///
  /// - Returns: nil where the turn is over.
  /// - Throws: `StalledTransfer` where nothing came in all the time that there is for it.
  func askInTurn<Answer: Sendable>(
    _ body: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer? {
    guard !valueTurn.isOver() else { return nil }
    let isFirst = valueTurn.noteTried()
    do {
      let answer = try await ending(at: valueTurn.patience(), body)
      valueTurn.noteCame()
      return answer
    } catch is TurnIsOver {
      guard !isFirst else { throw StalledTransfer() }
      return nil
    }
  }

  /// How an attempt at a piece of a large value ended.
  enum PieceEnd {
    case came
    /// It is not as long as it has to be.
    case odd
    /// The zone does not have the value, or does not give it, or there is no room for it here.
    case not(Fetched)
    /// The line broke, or no more came, while the zone answers to all else.
    case broken(any Error)
    case turnIsOver
  }

  /// Asks for a piece of a value, and keeps what comes of it.
  ///
  /// - Returns: how many bytes came, and how that ended.
  func fetchPiece(
    _ range: Range<Int>, of value: LargeValue, _ generation: UUID
  ) async throws -> (count: Int, end: PieceEnd) {
    let isFirst = valueTurn.noteTried()
    let transport = transport
    do {
      let piece = try await ending(at: valueTurn.patience()) {
        try await transport.value(value.digest, of: generation, range: range)
      }
      noteAnswer(of: value)
      valueTurn.noteCame()
      guard Self.isProgress(piece, range) else { return (0, .odd) }
      return try keep(piece, at: range.lowerBound, of: value, .came)
    } catch let error as ProtocolError where error.code == .noValue {
      noteAnswer(of: value)
      log.warnOfLasting("\(error.message): what names it shows no value until it is there")
      try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
      return (0, .not(.not(.lost)))
    } catch let error as ProtocolError where !Self.ofAllValues.contains(error.code) {
      try Task.checkCancellation()
      noteAnswer(of: value)
      log.warnOfLasting("The server does not give the value \(value.name): \(error)")
      return (0, .not(.refused(error)))
    } catch let part as PartOfValue {
      return try await keep(part, range, of: value, isFirst)
    } catch is TurnIsOver {
      return try await keep(
        PartOfValue(bytes: Data(), reason: TurnIsOver()), range, of: value, isFirst)
    } catch {
      return (0, try await broken(error, value))
    }
  }

  /// Whether so much of a piece is worth to go on with.
  private static func isProgress(_ piece: Data, _ range: Range<Int>) -> Bool {
    piece.count >= min(range.count, SyncTuning.valuePieceBytesMin) && piece.count <= range.count
  }

  private func keep(
    _ part: PartOfValue, _ range: Range<Int>, of value: LargeValue, _ isFirst: Bool
  ) async throws -> (count: Int, end: PieceEnd) {
    let isOver = part.reason is TurnIsOver
    guard Self.isProgress(part.bytes, range) else {
      guard isOver else { return (0, try await broken(part.reason, value)) }
      return isFirst ? (0, try await broken(StalledTransfer(), value)) : (0, .turnIsOver)
    }
    let kept = try keep(part.bytes, at: range.lowerBound, of: value, .turnIsOver)
    try Task.checkCancellation()
    guard isOver, case .turnIsOver = kept.end else {
      guard case .turnIsOver = kept.end else { return kept }
      return (kept.count, try await broken(part.reason, value))
    }
    noteAnswer(of: value)
    valueTurn.noteCame()
    if part.bytes.count < SyncTuning.valueStallBytes { valueMemory.noteSlow(value) }
    return kept
  }

  private func keep(
    _ piece: Data, at first: Int, of value: LargeValue, _ end: PieceEnd
  ) throws -> (count: Int, end: PieceEnd) {
    do {
      try bookkeep { try ValuePieces.add(piece, at: first, of: value, on: $0.connection) }
    } catch let error as StoreError where error.code == .diskFull {
      log.warnOfLasting("There is no room for the value \(value.name), of \(value.length) bytes")
      // Its disk may have another bound than it tells.
      valueMemory.noteInVain(value)
      try? bookkeep { try ValuePieces.drop(value, on: $0.connection) }
      return (0, .not(.noRoom(Int(clamping: value.length))))
    }
    valueBytes = valueBytes.addingClamped(piece.count)
    tellValueBytes(isSending: false)
    return (piece.count, end)
  }

  /// - Throws: the error, where it is not of values alone.
  private func broken(_ error: any Error, _ value: LargeValue) async throws -> PieceEnd {
    guard try await isOfValues(error) else { throw error }
    valueLine.noteFailure(error, of: value)
    return .broken(error)
  }

  /// The way to values is there: what just broke it is by itself what does not come.
  private func noteAnswer(of value: LargeValue) {
    guard let (others, why, mayBeWay) = valueLine.noteAnswer(of: value) else { return }
    for other in others { valueMemory.noteBrokenAlone(other, why, mayBeWay: mayBeWay) }
  }

  /// Whether what breaks the way to a value leaves the way to all else.
  private func isOfValues(_ error: any Error) async throws -> Bool {
    try Task.checkCancellation()
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
}
