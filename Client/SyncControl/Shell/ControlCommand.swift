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
  /// The store that the command line names, as it was typed.
  private var namedStore: String? {
    for child in Mirror(reflecting: self).children {
      switch child.value {
      case let group as OptionGroup<StoreArguments>: return group.wrappedValue.store
      case let group as OptionGroup<LookedAtArguments>: return group.wrappedValue.store
      case let group as OptionGroup<StoreFileArguments>: return group.wrappedValue.file
      default: continue
      }
    }
    return nil
  }

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
      output.put(namedStore.map { failure.naming(store: $0) } ?? failure)
      throw ExitCode(failure.status.rawValue)
    }
  }
}
