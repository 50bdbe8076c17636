import ArgumentParser
import Foundation
import ProgramStart
import SyncDaemon

struct WatchCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print a line whenever what status says of a store changes.",
    discussion: """
      A line has the time, the state, and how much is pending, parked, quarantined and settled in \
      conflicts. The first ones say how it is now. It goes on, whatever befalls the store, until \
      Ctrl-C (exit code 130), until nobody reads its lines, or:

      --until STATE  until the store is in that state, with exit code 0
      --for SECONDS  no longer than so: with exit code 0, or \(ExitStatus.tryAgain.rawValue) \
      where --until was not reached

      Without --store it watches each store of the daemon that is found first, and --until waits for \
      all of them.

      Example: syncctl watch --store shop.sqlite --until in-step
      """)

  @OptionGroup var target: LookedAtArguments
  @Option(name: .long, help: "End when the store is in this state.")
  var until: StatusVerdict?
  @Option(name: .customLong("for"), help: "End after so many seconds.")
  var seconds: Double?
  @Option(name: .long, help: "Look every so many seconds.")
  var every = 1.0
  @OptionGroup var output: OutputOptions

  private static let everyRange = 0.1...86_400.0
  private static let secondsMax = 1e9

  func validate() throws {
    guard Self.everyRange.contains(every) else {
      throw ValidationError("--every is 0.1 to 86400 seconds.")
    }
    guard seconds.map({ $0 >= 0 && $0 <= Self.secondsMax }) != false else {
      throw ValidationError("--for is a number of seconds, at least 0.")
    }
  }

  func perform() async throws {
    Interrupt.noteFirst()
    let end = seconds.map { ContinuousClock.now + .seconds($0) }
    var watch = StoreWatch(
      target.store.map { .store(StoreArguments.url(of: $0)) } ?? .daemon(target.places))
    while true {
      let round = try await watch.look()
      for note in round.notes { output.note(note) }
      for line in round.lines { try output.put(line, line: line.text) }
      if let until, watch.isEverywhere(until) { return }
      let next = ContinuousClock.now + .seconds(every)
      try await pause(until: end.map { min($0, next) } ?? next)
      if let end, ContinuousClock.now >= end { return try giveUp(watch) }
    }
  }

  /// Waits, and ends the command meanwhile when somebody wants that.
  private func pause(until time: ContinuousClock.Instant) async throws {
    while true {
      if Interrupt.wasAsked { throw ExitCode(128 + SIGINT) }
      try ProgramOutput.checkReader()
      let left = time - .now
      guard left > .zero else { return }
      try await Task.sleep(for: min(left, .milliseconds(100)))
    }
  }

  private func giveUp(_ watch: StoreWatch) throws {
    guard let until, let seconds else { return }
    let time = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    throw Failure(
      .tryAgain, code: "not-reached", "After \(time) s \(watch.others(than: until)).",
      suggestion: "wait longer, or see why: syncctl status")
  }
}

extension StatusVerdict: ExpressibleByArgument {}
