import Synchronization

/// Who follows fetched results: what it was told last, and what is there to be told.
final class ResultsListener: Sendable {
  private struct State {
    var shown: FetchedResultsSnapshot
    var latest: FetchedResultsSnapshot
    /// Those of the shown objects that changed in between in a way that their versions do not tell.
    var changed: Set<ManagedObjectID> = []
  }

  private let state: Mutex<State>
  private let bell: AsyncStream<Void>
  private let ringing: AsyncStream<Void>.Continuation

  init(shown: FetchedResultsSnapshot) {
    state = Mutex(State(shown: shown, latest: shown))
    (bell, ringing) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// What is there before the first update.
  func begin(at snapshot: FetchedResultsSnapshot) {
    state.withLock { $0 = State(shown: snapshot, latest: snapshot) }
  }

  func tell(_ latest: FetchedResultsSnapshot, _ changed: some Sequence<ManagedObjectID>) {
    state.withLock { state in
      state.latest = latest
      // Nothing else is told as an update, and who is slow must not pile up what others change.
      state.changed.formUnion(changed.lazy.filter(state.shown.contains))
    }
    ringing.yield()
  }

  /// There will be no more.
  func end() { ringing.finish() }

  /// What changed since the last one; nil when there will be no more.
  func next() async -> FetchedResultsUpdate? {
    for await _ in bell {
      let state = state.withLock { state in
        defer {
          state.shown = state.latest
          state.changed = []
        }
        return state
      }
      let update = state.latest.update(from: state.shown, changed: state.changed)
      if !update.isEmpty { return update }
    }
    return nil
  }
}

/// The stream of who listens holds the listener; the results do not.
struct WeakListener {
  weak var listener: ResultsListener?
}
