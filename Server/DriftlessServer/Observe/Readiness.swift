import Foundation

/// Whether the server can acknowledge pushes. However often it is asked, the storage is tried once a second.
actor Readiness {
  private let storage: any ZoneStorage
  private let metrics: ServerMetrics
  private let limits: LiveLimits
  private var last: (since: ContinuousClock.Instant, look: Task<Void, any Error>)?
  /// Whether the storage is still at what it was asked, though nobody waits for it any more.
  private var isAsked = false
  private static let span = Duration.seconds(1)
  /// A storage that takes longer is at something else.
  private static let patience = Duration.seconds(5)

  init(storage: any ZoneStorage, metrics: ServerMetrics, limits: LiveLimits) {
    self.storage = storage
    self.metrics = metrics
    self.limits = limits
  }

  /// - Throws: `ServerError` with what stands in the way.
  func check(now: ContinuousClock.Instant = .now) async throws {
    guard metrics.current.damagedReads == 0 else { throw ServerError.damagedSinceStart }
    if let last, now - last.since < Self.span { return try await last.look.value }
    guard !isAsked else { throw ServerError.busy("the storage does not answer") }
    isAsked = true
    let look = Task { [bytes = limits.bodyBytesMax] in
      try await Self.within(Self.patience) { try await self.ask(bytes) }
    }
    last = (now, look)
    try await look.value
  }

  private func ask(_ bytes: Int) async throws {
    defer { isAsked = false }
    try await storage.checkReady(bytes: bytes)
  }

  private static func within(
    _ patience: Duration, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let (answers, answer) = AsyncThrowingStream.makeStream(of: Void.self)
    Task {
      do {
        try await body()
        answer.yield()
        answer.finish()
      } catch {
        answer.finish(throwing: error)
      }
    }
    let patience = Task {
      try? await Task.sleep(for: patience)
      answer.finish(throwing: ServerError.busy("the storage does not answer"))
    }
    defer { patience.cancel() }
    for try await _ in answers { return }
  }
}

extension ServerError {
  static func noRoom(_ bytes: Int) -> ServerError {
    ServerError(
      .diskFull, "there is room for \(bytes) bytes, and not for the largest push",
      suggestion: "Make room for the server's database, or raise databaseBytesMax where that "
        + "bounds it.")
  }

  static let damagedSinceStart = ServerError(
    .storage, "the database has said that its file is damaged",
    suggestion: "Stop the server, look with driftless-server verify, and put a backup back "
      + "(driftless-server restore): replicas bring back what it lacks.")
}
