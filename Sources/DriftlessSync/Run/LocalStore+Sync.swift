public import Driftless
public import DriftlessProtocol

extension LocalStore {
  /// Keeps the store in step with a zone for as long as somebody iterates, and tells how it does.
  ///
  /// ```swift
  /// for await state in try await library.sync(through: transport) {
  ///   if case .offline(let pause) = state { show("offline since \(pause.since)") }
  /// }
  /// ```
  /// The store is enrolled with the zone when the server first answers. Until then the state is `offline`: reads and
  /// writes go on, and what was written is sent after that. One that is enrolled already is kept in step. A token that the
  /// server does not take is the state `waitingForPerson`, as is all else that somebody has to decide.
  ///
  /// Calls on one store, of this process, share one engine, however many iterate. A further call tries at once where the
  /// store waits for its next attempt; with another token, transport, options or delays it begins anew for all of them, and
  /// what was under way then has one effect when it is sent again. It ends with the last that iterates.
  ///
  /// - Parameters:
  ///   - transport: The way to the zone.
  ///   - options: Bounds, rules and what to do when a server was put back.
  ///   - delays: How long it waits for what.
  /// - Returns: The states as they come; a reader that is slow misses the older ones.
  /// - Throws: `SyncError` with the code `alreadyEnrolled` when the store is enrolled with another zone, `StoreError` when
  ///   it cannot be read.
  public func sync(
    through transport: any ZoneTransport, options: SyncOptions = SyncOptions(),
    delays: SyncSchedule.Delays = SyncSchedule.Delays()
  ) async throws -> AsyncStream<SyncState> {
    let engine = SyncEngine(store: store, enrollingThrough: transport, options: options)
    try await engine.checkHome()
    return engine.queue.sharedRun.join(engine, transport, delays: delays)
  }
}
