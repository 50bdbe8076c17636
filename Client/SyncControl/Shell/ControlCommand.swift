import ArgumentParser
import Foundation
import ProgramStart
import SyncDaemon

/// A subcommand of `syncctl`: does its work in `perform`; errors become text, a `Try:` line and an
/// exit code here.
protocol ControlCommand: AsyncParsableCommand {
  var output: OutputOptions { get }

  func perform() async throws
}

extension ControlCommand {
  func run() async throws {
    do {
      try await perform()
    } catch let code as ExitCode {
      throw code
    } catch let error as UnwrittenOutput where error.isReaderGone {
      // A reader that went away (head) is no failure of the command.
      return
    } catch {
      let failure = Failure(error)
      output.put(failure)
      throw ExitCode(failure.status.rawValue)
    }
  }
}
