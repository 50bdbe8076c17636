import Driftless
import DriftlessProtocol
import Foundation
import Synchronization

/// The one run of a store that all share who ask this process to keep it in step: one engine, one long poll, and each
/// reader hears every state.
///
/// It begins with the first reader and ends with the last. Who comes with another way to the zone, say another token,
/// begins it anew for all: the newest word counts.
final class SharedRun: Sendable {
  private struct Run {
    let number: UInt64
    let engine: SyncEngine
    let transport: any ZoneTransport
    let delays: SyncSchedule.Delays
    let loop: SyncLoop
    var latest: SyncState?

    func isAlike(
      _ engine: SyncEngine, _ transport: any ZoneTransport, _ delays: SyncSchedule.Delays
    )
      -> Bool
    {
      self.engine.store === engine.store && self.transport.isInterchangeable(with: transport)
        && self.engine.options.isAlike(engine.options) && self.delays == delays
    }

    /// Cancels what is under way, and lets go of the store's sync lock.
    func end() async {
      await loop.stop()
      await engine.close()
    }
  }

  private struct State {
    var run: Run?
    var runs: UInt64 = 0
    var readers: [UUID: AsyncStream<SyncState>.Continuation] = [:]
  }

  private let state = Mutex(State())

  /// - Parameters:
  ///   - engine: What keeps the store in step where no run like it goes on.
  ///   - transport: The engine's way to the zone.
  ///   - delays: How long it waits for what.
  /// - Returns: The states from now on, the newest one first.
  func join(
    _ engine: SyncEngine, _ transport: any ZoneTransport, delays: SyncSchedule.Delays
  ) -> AsyncStream<SyncState> {
    let (stream, reader) = AsyncStream.makeStream(
      of: SyncState.self, bufferingPolicy: .bufferingNewest(64))
    let name = UUID()
    reader.onTermination = { [weak self] _ in self?.leave(name) }
    let (former, loop, isNew) = state.withLock { state -> (Run?, SyncLoop, Bool) in
      state.readers[name] = reader
      if let run = state.run, run.isAlike(engine, transport, delays) {
        if let latest = run.latest { reader.yield(latest) }
        return (nil, run.loop, false)
      }
      let former = state.run
      state.runs += 1
      let number = state.runs
      let loop = SyncLoop(engine, delays: delays) { [weak self] in self?.tell($0, by: number) }
      state.run = Run(
        number: number, engine: engine, transport: transport, delays: delays, loop: loop)
      return (former, loop, true)
    }
    Task {
      // Operations of the two would be done one after the other; the former need not go on.
      await former?.end()
      if isNew { await loop.start() } else { await loop.ask() }
    }
    return stream
  }

  private func tell(_ news: SyncState, by number: UInt64) {
    state.withLock { state in
      guard state.run?.number == number else { return }
      state.run?.latest = news
      for reader in state.readers.values { reader.yield(news) }
    }
  }

  private func leave(_ name: UUID) {
    let (reader, ended) = state.withLock { state in
      let reader = state.readers.removeValue(forKey: name)
      defer { if state.readers.isEmpty { state.run = nil } }
      return (reader, state.readers.isEmpty ? state.run : nil)
    }
    withExtendedLifetime(reader) {}
    if let ended { Task { await ended.end() } }
  }
}
