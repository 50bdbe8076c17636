import Foundation

/// Says on standard error what a command waits for, once it takes longer than a person expects.
///
/// Interrupted (Ctrl-C), a command ends at once: what it had not finished is finished by the next
/// one.
struct WaitNotice {
  /// Seconds until the first word, and between that and later ones.
  private static let firstSeconds = 2
  private static let nextSeconds = 15

  let output: OutputOptions

  /// - Parameter object: what is waited for, asked each time that it is said.
  func during<Answer>(
    _ object: @escaping @Sendable () -> String, _ work: () async throws -> Answer
  ) async rethrows -> Answer {
    let isJSON = output.json
    let notice = Task.detached {
      let start = ContinuousClock.now
      var pause = Self.firstSeconds
      while true {
        try await Task.sleep(for: .seconds(pause))
        let elapsed = (ContinuousClock.now - start).components.seconds
        let since = pause == Self.firstSeconds ? "" : ", for \(elapsed) s now"
        OutputOptions.note("waiting for \(object())\(since)", json: isJSON)
        pause = Self.nextSeconds
      }
    }
    defer { notice.cancel() }
    return try await work()
  }
}
