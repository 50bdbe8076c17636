import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// Large values on their way from the zone.
extension SyncEngine {
  /// What became of a value that was asked for.
  enum Fetched {
    case here
    case not(MissedValues.Reason)
    /// The zone says no to this one, or it does not get where it belongs, and others do.
    case refused(any Error)
    /// The line broke, or nothing came, while the zone answers to all else.
    case broken(any Error)
    /// It was not asked for, since that has happened too often just now, or since its turn comes with the next sync (nil).
    case unasked((any Error)?)
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
  /// - Returns: what became of each.
  @discardableResult
  func fetch(
    _ values: [LargeValue: Int], generation: UUID, areNamed: Bool = false
  ) async throws -> [LargeValue: Fetched] {
    if areNamed { try noteInLog(values.keys) }
    var fetched: [LargeValue: Fetched] = [:]
    // What is here and not yet where it belongs takes the room of those that come after it.
    var waiting = 0
    for (value, count) in values.sorted(by: { valueMemory.isBefore($0.key, $1.key) }) {
      let outcome = try await fetch(value, generation: generation, beside: waiting, for: count)
      fetched[value] = outcome
      switch outcome {
      case .here:
        try forgetMissed(value)
        waiting = waiting.addingClamped(try bytesToCopy([value: count]))
      case .noRoom:
        noteNoRoom(for: value)
        // It is looked at each time, and nothing is written of it again.
        if try !waitsForRoom(value) { try noteMissed(value, .room) }
      case .not, .refused, .broken, .unasked, .unneeded: break
      }
    }
    return fetched
  }

  /// What a store left in another zone, or was not to be had of a zone that was not told of it, is in this one.
  private func noteInLog(_ values: some Sequence<LargeValue>) throws {
    let apart = try store.read { transaction in
      try values.filter {
        let reason = try MissedValues.reason($0.digest, on: transaction.connection)
        return reason == .left || reason == .absent
      }
    }
    guard !apart.isEmpty else { return }
    try bookkeep { transaction in
      for value in apart {
        try MissedValues.noteInLog(value.digest, on: transaction.connection)
      }
    }
  }

  /// It comes last from now on, and what is left waits for room with it.
  func noteNoRoom(for value: LargeValue) {
    valueMemory.noteNoRoom(value)
    valueTurn.noteNoRoom()
  }

  private func forgetMissed(_ value: LargeValue) throws {
    guard try store.read({ try MissedValues.reason(value.digest, on: $0.connection) }) != nil
    else { return }
    try bookkeep { try MissedValues.forget(value.digest, on: $0.connection) }
  }

  /// Whether there was no room for a value when it was looked at last.
  private func waitsForRoom(_ value: LargeValue) throws -> Bool {
    try store.read { try MissedValues.reason(value.digest, on: $0.connection) } == .room
  }

  /// Lets go of what is here of a value that there is no room for, unless it is under way.
  func dropPieces(of value: LargeValue) throws {
    try bookkeep { try dropPieces(of: [value], $0) }
  }

  func noteMissed(_ value: LargeValue, _ reason: MissedValues.Reason) throws {
    if reason != .room { valueMemory.noteInVain(value) }
    try bookkeep {
      try MissedValues.note(value.digest, reason, at: store.now, on: $0.connection)
    }
  }

  /// What its not coming says of a value, whoever asked for it. That there was no room is for who asked to note.
  private func note(_ outcome: Fetched, of value: LargeValue) throws {
    switch outcome {
    case .not(let reason): try noteMissed(value, reason)
    case .refused: try noteMissed(value, .refused)
    // That a line broke says nothing of the value.
    case .broken(let error): valueMemory.noteBroken(value, error)
    case .here: valueMemory.noteCame(value)
    case .unasked, .unneeded, .noRoom: break
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
    let outcome = try await bring(value, generation, beside: waiting, for: count)
    try note(outcome, of: value)
    return outcome
  }

  private func bring(
    _ value: LargeValue, _ generation: UUID, beside waiting: Int, for count: Int
  ) async throws -> Fetched {
    let length = Int(clamping: value.length)
    let placed = Self.bytesToPlace(length).multipliedClamped(by: max(1, count))
    var failed = 0
    for _ in 0..<SyncTuning.damagedAttemptsMax {
      var have = try store.read { try ValuePieces.size(of: value, on: $0.connection) }
      let needed = waiting.addingClamped(placed).addingClamped(length - have)
      guard have >= length && count == 1 || hasRoom(for: needed) else {
        log.log(
          level: try waitsForRoom(value) ? .debug : .warning,
          "There is no room for the value \(value.name): it needs \(needed) bytes, beside what is kept for saves"
        )
        if have > 0 { try dropPieces(of: value) }
        return .noRoom(needed)
      }
      pieces: while have < length {
        try Task.checkCancellation()
        if let error = valueLine.stop() { return failed > 0 ? .broken(error) : .unasked(error) }
        guard !valueTurn.isOver() else {
          valueTurn.noteLeft()
          return .unasked(nil)
        }
        // A server gives bytes up to the next multiple of a piece: what came of one may end anywhere.
        let next = (have / LargeValue.pieceBytesMax + 1) * LargeValue.pieceBytesMax
        let range = have..<min(length, next)
        let (came, end) = try await fetchPiece(range, of: value, generation)
        have += came
        switch end {
        case .came: failed = 0
        case .odd: break pieces
        case .not(let outcome): return outcome
        case .turnIsOver:
          valueTurn.noteLeft()
          return .unasked(nil)
        case .broken(let error):
          // A line that broke is there again, and what came before that is kept.
          if came == 0 { failed += 1 }
          guard failed >= SyncTuning.valueAttemptsMax || error is StalledTransfer else { continue }
          log.warnOfLasting("The value \(value.name) does not come, and all else goes on: \(error)")
          return .broken(error)
        }
      }
      if try store.read({ try ValuePieces.isGood(value, on: $0.connection) }) { return .here }
      try bookkeep { try ValuePieces.drop(value, on: $0.connection) }
    }
    log.warnOfLasting("The zone's bytes of the value \(value.name) are not what its digest says")
    return .not(.damaged)
  }
}
