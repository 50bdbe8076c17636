import Foundation
import ProgramStart

/// Says on standard error what a command waits for and how far it is, once it takes longer than a person expects: on a terminal
/// as one line that is written anew, else as a line from time to time.
///
/// Interrupted (Ctrl-C), a command ends at once: what it had not finished is finished by the next
/// one.
struct WaitNotice {
  /// Seconds until the first word, and between that and later ones.
  private static let firstSeconds = 2
  private static let nextSeconds = 15

  let output: OutputOptions
  /// How far it is, where somebody tells.
  var progress: CommandProgress?

  /// - Parameter object: what is waited for, asked each time that it is said.
  func during<Answer>(
    _ object: @escaping @Sendable () -> String, _ work: () async throws -> Answer
  ) async rethrows -> Answer {
    let (isJSON, progress) = (output.json, progress)
    let line = isJSON ? nil : TerminalLine()
    let notice = Task.detached {
      let start = ContinuousClock.now
      var pause = Self.firstSeconds
      while true {
        try await Task.sleep(for: .seconds(pause))
        let how = progress?.text()
        if let line {
          line.show(how ?? "waiting for \(object())")
          pause = 1
          continue
        }
        let elapsed = (ContinuousClock.now - start).components.seconds
        let since = pause == Self.firstSeconds ? "" : ", for \(elapsed) s now"
        OutputOptions.note(how ?? "waiting for \(object())\(since)", json: isJSON)
        pause = Self.nextSeconds
      }
    }
    defer {
      notice.cancel()
      line?.end()
    }
    return try await work()
  }
}
