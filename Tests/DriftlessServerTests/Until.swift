import Testing

/// Waits, a minute at most, until other tasks or processes have made something so: what it looks at tells nobody when it changes.
func until(_ what: String = "it holds", _ holds: () async throws -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while try await !holds() {
    try #require(ContinuousClock.now < deadline, "\(what)")
    try await Task.sleep(for: .milliseconds(5))  // between two looks
  }
}
