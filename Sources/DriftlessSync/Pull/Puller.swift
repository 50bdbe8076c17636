package import DriftlessProtocol
package import Foundation

/// Decides what a pull does next. No I/O: an event goes in, one action comes out.
package struct Puller: Sendable {
  package enum Event: Sendable {
    case begin(cursor: Cursor)
    /// A page came: the places of its entries, in order, and the zone's state.
    case page(places: [LogMark], generation: UUID, head: UInt64)
    /// The page and the cursor are saved.
    case applied
    case failed(any Error)
  }

  package enum Action: Sendable {
    case request(Cursor)
    /// Apply the page's entries and move the cursor, in one transaction.
    case apply(cursor: Cursor, head: UInt64)
    case finish(head: UInt64)
    case fail(any Error)
  }

  private enum State { case idle, requesting(Cursor), applying(Cursor, head: UInt64), done }
  private var state = State.idle

  package init() {}

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.idle, .begin(let cursor)):
      state = .requesting(cursor)
      return .request(cursor)
    case (.requesting(let cursor), .page(let places, let generation, let head)):
      return take(places, generation: generation, head: head, after: cursor)
    case (.applying(let cursor, let head), .applied):
      guard cursor.sequence < head else {
        state = .done
        return .finish(head: head)
      }
      state = .requesting(cursor)
      return .request(cursor)
    case (_, .failed(let error)):
      return fail(error)
    default:
      return fail(SyncError.brokenLog("The puller got an event out of turn."))
    }
  }

  private mutating func take(
    _ places: [LogMark], generation: UUID, head: UInt64, after cursor: Cursor
  ) -> Action {
    guard generation == cursor.generation else {
      return fail(
        ProtocolError(
          .generationChanged, "The zone began a new generation",
          suggestion: "Sync again: the store comes back to it by itself when it may."))
    }
    guard head >= cursor.sequence else {
      return fail(
        SyncError.brokenLog(
          "The zone's log ends at \(head), before this replica's cursor \(cursor.sequence)."))
    }
    var next = cursor
    for place in places {
      guard place.sequence == next.sequence &+ 1 else {
        return fail(
          SyncError.brokenLog(
            "The zone's log goes from \(next.sequence) to \(place.sequence): a change set is missing."
          ))
      }
      next.sequence = place.sequence
      next.chain = place.chain
    }
    guard !places.isEmpty else {
      state = .done
      return .finish(head: head)
    }
    let reached = max(head, next.sequence)
    state = .applying(next, head: reached)
    return .apply(cursor: next, head: reached)
  }

  private mutating func fail(_ error: any Error) -> Action {
    state = .done
    return .fail(error)
  }
}
