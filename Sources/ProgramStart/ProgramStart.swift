import Dispatch
import Foundation

/// How the programs of this package begin.
package enum ProgramStart {
  /// Runs a program, unless it could not open the files, or begin the threads, that it needs.
  ///
  /// This is no `async` main: Dispatch, below Swift's tasks, ends a process by a trap when there is no file left for its
  /// events, so the files are looked at before the first task. Where it gets no thread it waits for one without end.
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
    OpenFiles.raiseLimit()
    do {
      try OpenFiles.require(files)
    } catch {
      refuse(
        name, code: "too-few-files", error.message, try: error.suggestion,
        status: error.exitStatus)
    }
    ServiceNotice.open()
    do {
      try Threads.require()
    } catch {
      refuse(name, code: "too-few-threads", error.message, try: error.suggestion)
    }
    ProgramOutput.checkAtExit()
    Task(executorPreference: mayBlock ? BlockingExecutor.shared : nil) {
      await program()
      exit(0)
    }
    // As an async main does; it also takes signals, which whoever started this program may have blocked.
    dispatchMain()
  }

  /// Ends a program that cannot begin, with what it would say of other errors.
  private static func refuse(
    _ name: String, code: String, _ message: String, try suggestion: String, status: Int32 = 71
  ) -> Never {
    let isJSON = CommandLine.arguments.dropFirst().contains("--json")
    FileHandle.standardError.write(
      isJSON
        ? json(code, message, suggestion, status)
        : TerminalText.failure(of: name, message, try: suggestion)
    )
    exit(status)
  }

  /// As the programs print other errors.
  private static func json(
    _ code: String, _ message: String, _ suggestion: String, _ status: Int32
  ) -> Data {
    struct Complaint: Encodable {
      var code: String
      var message: String
      var status: Int32
      var suggestion: String
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let complaint = Complaint(
      code: code, message: message, status: status, suggestion: suggestion)
    return ((try? encoder.encode(["error": complaint])) ?? Data()) + [0x0A]
  }
}
