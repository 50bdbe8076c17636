import ArgumentParser
import Driftless
import DriftlessSync
import SyncDaemon

struct VerifyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Compare a store with its zone, value by value.",
    discussion: """
      What others pushed is pulled first. Then the store and the server make digests of what they \
      have at one place of the zone's log, and only where two differ, values cross the network. \
      What waits to be pushed, or is set aside, is no difference; what never can be pushed, since its file is gone, is one.
      What another program wrote to the file without a history differs, and no push tells of it: \
      --repair gives the store what the zone has in its place, --take-in makes edits of it, which the \
      next sync sends. What the program deleted is missing, and comes back with --repair.
      Ends with 0 when the store has what the zone has, or was given it (--repair), and with \
      \(DiffCommand.differentCode) when something is different. A daemon that keeps the store does \
      it, when one runs.

      Example: syncctl verify --store shop.sqlite --repair
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @Flag(
    name: .long,
    help: """
      Give the store what the zone has, where nothing waits to be pushed; what was there goes to the \
      journal (syncctl conflicts).
      """)
  var repair = false
  @Flag(
    name: .long,
    help: """
      Take what is different here for edits of this store, made now, which wait to be pushed: another program wrote it \
      without a history.
      """)
  var takeIn = false
  @OptionGroup var deletes: MassDeleteArguments
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !repair || !takeIn else {
      throw ValidationError("Give one of --repair and --take-in.")
    }
  }

  func perform() async throws {
    if takeIn { return try await takeInAll() }
    let report = try await SyncRunner(url: target.url, output: output, keys: keys.source).verify(
      repairs: repair, allowsMassDelete: deletes.allowMassDelete)
    let told = VerifyText(report)
    try output.put(told, lines: told.lines(store: target.store))
    guard report.isEqual else { throw ExitCode(DiffCommand.differentCode) }
  }

  /// A report lists so many differences and no more: what is left is found by the next one.
  private func takeInAll() async throws {
    let runner = SyncRunner(url: target.url, output: output, keys: keys.source)
    var taken = 0
    var report = try await runner.verify(repairs: false, allowsMassDelete: false)
    while report.differenceCount > 0 {
      let store = try StoreAccess.open(target.url)
      let count = try SyncEngine.takeIn(report, of: store)
      store.close()
      guard count > 0 else { break }
      taken += count
      report = try await runner.verify(repairs: false, allowsMassDelete: false)
    }
    let told = VerifyText(report)
    output.note(
      taken == 0
        ? "nothing was taken in"
        : "\(taken) \(taken == 1 ? "difference is an edit" : "differences are edits") of this store now, and wait for the next sync"
    )
    try output.put(told, lines: told.lines(store: target.store))
    guard report.isEqual else { throw ExitCode(DiffCommand.differentCode) }
  }
}
