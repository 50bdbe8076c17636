import Foundation

extension SyncEngine {
  /// Keeps the store in step with its zone for as long as somebody listens, and tells how it does.
  ///
  /// It syncs when any process saves to the store and when the zone has news; bursts of saves are one
  /// sync, failures back off with jitter. Other operations of the engine may be asked for meanwhile.
  /// It ends when the caller stops to iterate, or its task is cancelled; what was under way then has
  /// one effect when it is sent again.
  ///
  /// ```swift
  /// for await state in engine.run() {
  ///   if case .offline(let pause) = state { show("offline since \(pause.since)") }
  /// }
  /// ```
  ///
  /// - Parameter delays: how long it waits for what.
  /// - Returns: the states as they come; a reader that is slow misses the older ones.
  public nonisolated func run(
    delays: SyncSchedule.Delays = SyncSchedule.Delays()
  ) -> AsyncStream<SyncState> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SyncState.self, bufferingPolicy: .bufferingNewest(64))
    let loop = SyncLoop(self, delays: delays) { continuation.yield($0) }
    let start = Task { await loop.start() }
    continuation.onTermination = { _ in
      start.cancel()
      Task { await loop.stop() }
    }
    return stream
  }

  /// Waits until the zone has something that this replica has not, for who syncs by a schedule of their own (`SyncSchedule`).
  ///
  /// It asks from where the last pull stood, and answers at once where there was none. Other operations of the engine go on
  /// meanwhile, and the next pull fetches nothing twice.
  ///
  /// ```swift
  /// var pause = 1
  /// while !Task.isCancelled {
  ///   do {
  ///     if try await engine.waitForNews() { try await engine.sync() }
  ///     pause = 1
  ///   } catch {
  ///     // The network, or a server that was put back: a sync comes back to that by itself.
  ///     try await Task.sleep(for: .seconds(pause))
  ///     pause = min(2 * pause, 900)
  ///     _ = try? await engine.sync()
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter seconds: how long the server holds the request; it may answer sooner.
  /// - Returns: whether there is something to pull; false when the time ran out.
  /// - Throws: `ProtocolError`, or what the way to the server says.
  public nonisolated func waitForNews(seconds: Int = 50) async throws -> Bool {
    try await transport.waitForNews(seconds: max(1, seconds))
  }

  /// What the loops of an engine hear of its operations.
  enum Notice: Sendable {
    case progress(SyncState)
    /// An operation that the loop did not start has succeeded.
    case didSucceed
    /// Which large values somebody waits for has changed.
    case valuesWanted
  }

  /// Hands over how far the engine's operations have come, as they go on.
  package func tellProgress(_ body: @escaping @Sendable (SyncState) -> Void) {
    addListener(UUID()) { if case .progress(let state) = $0 { body(state) } }
  }

  func addListener(_ id: UUID, _ listener: @escaping @Sendable (Notice) -> Void) {
    listeners[id] = listener
  }

  func removeListener(_ id: UUID) { listeners[id] = nil }

  func tell(_ notice: Notice) {
    for listener in listeners.values { listener(notice) }
  }
}
