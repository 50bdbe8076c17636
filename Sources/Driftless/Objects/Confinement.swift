/// Where a context and its objects are used. They are not Sendable, so the compiler sees to it; code that hides them from it
/// (`nonisolated(unsafe)`, `@unchecked Sendable`) meets an assertion of a debug build in place of damaged memory.
enum Confinement {
  /// In one task, actor or thread at a time, which is not known here: an actor's thread is now this one, now that. That objects
  /// end elsewhere, see ``Departures``.
  case caller
  case queue(ContextQueue)

  private var isHere: Bool {
    switch self {
    case .caller: true
    case .queue(let queue): queue.isHeld
    }
  }

  private var place: String {
    if case .queue(let queue) = self, queue === ContextQueue.main { "main actor" } else { "queue" }
  }

  /// - Parameter user: What is used, for who reads the message.
  @inline(__always)
  func assertHere(_ user: @autoclosure () -> String) {
    assert(
      isHere,
      """
      \(user()) is used off its context's \(place). \
      Pass IDs and values between contexts, not objects.
      """)
  }
}
