import Dispatch
import Foundation

/// How the programs of this package begin.
package enum ProgramStart {
  /// Runs a program, unless it could not open the files that it needs.
  ///
  /// This is no `async` main: Dispatch, below Swift's tasks, ends a process by a trap when there is no file left for its
  /// events, so the files are looked at before the first task.
  ///
  /// - Parameters:
  ///   - name: the program's name, as its messages begin.
  ///   - mayBlock: whether the program's task, and those that it waits for, open stores and read and write files as they
  ///     go: then they run on threads of their own, and not on those that all tasks share, which are as many as there are cores.
  ///   - files: how many files it opens at most in ordinary work, or to begin with.
  ///   - program: ends the process itself when it does not end with 0.
  package static func run(
    _ name: String, mayBlock: Bool = false, files: Int,
    _ program: @escaping @Sendable () async -> Void
  ) -> Never {
    do {
      try OpenFiles.require(files)
    } catch {
      FileHandle.standardError.write(
        CommandLine.arguments.dropFirst().contains("--json")
          ? json(error) : TerminalText.failure(of: name, error.message, try: error.suggestion))
      exit(TooFewFiles.exitStatus)
    }
    ProgramOutput.checkAtExit()
    Task(executorPreference: mayBlock ? BlockingExecutor.shared : nil) {
      await program()
      exit(0)
    }
    // As an async main does; it also takes signals, which whoever started this program may have blocked.
    dispatchMain()
  }

  /// As the programs print other errors.
  private static func json(_ error: TooFewFiles) -> Data {
    struct Complaint: Encodable {
      var code = "too-few-files"
      var message: String
      var status = TooFewFiles.exitStatus
      var suggestion: String
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let complaint = Complaint(message: error.message, suggestion: error.suggestion)
    return ((try? encoder.encode(["error": complaint])) ?? Data()) + [0x0A]
  }
}
