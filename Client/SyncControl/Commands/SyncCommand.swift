import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct SyncCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Pull and push until nothing is left to do.",
    discussion: """
      A daemon that keeps the store does it, when one runs.

      Example: syncctl sync --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var model: GivenModelArguments
  @OptionGroup var deletes: MassDeleteArguments
  @Flag(
    name: .long,
    help:
      "Come back to a server that was put back or replaced, where the sync waits for this word.")
  var reconcile = false
  @Flag(
    name: .long,
    help: "Keep the objects whose deletes wait for a person: they were not meant to be deleted.")
  var keepMassDeleted = false
  @Option(
    name: .long,
    help: ArgumentHelp(
      "What becomes of counts, texts and lists that are older than what a purged zone remembers, where the sync waits for "
        + "this word.", valueName: "count-again|leave-out"))
  var oldCounts: OldCounts?
  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Give up what was not sent, and take the zone's state: what the store held goes into a file "
        + "beside it, and each edit that is given up into the journal."))
  var giveUpUnsent = false
  @Flag(name: .long, help: "With --give-up-unsent: it is meant.")
  var yes = false
  @OptionGroup var output: OutputOptions

  enum OldCounts: String, ExpressibleByArgument, CaseIterable {
    case countAgain = "count-again"
    case leaveOut = "leave-out"

    var decision: OldCountDecision {
      switch self {
      case .countAgain: .countAgain
      case .leaveOut: .leaveOut
      }
    }
  }

  func validate() throws {
    if keepMassDeleted, deletes.allowMassDelete {
      throw ValidationError("Either --allow-mass-delete or --keep-mass-deleted.")
    }
    if giveUpUnsent, reconcile || keepMassDeleted || deletes.allowMassDelete || oldCounts != nil {
      throw ValidationError("--give-up-unsent stands by itself: nothing is sent by it.")
    }
    if yes, !giveUpUnsent { throw ValidationError("--yes is for --give-up-unsent.") }
  }

  func perform() async throws {
    try model.adopt(target.url, output)
    if giveUpUnsent { return try await giveUp() }
    if reconcile { try SyncEngine.allowReconciliation(of: target.open()) }
    if let oldCounts {
      try SyncEngine.decideOldCounts(oldCounts.decision, of: target.open())
    }
    if keepMassDeleted { try SyncEngine.keepMassDeleted(of: target.open()) }
    let summary = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(
      .sync, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, line: AdvisedCommand.naming(store: target.store, in: summary.text))
  }

  private func giveUp() async throws {
    let store = try target.open()
    let status = try SyncEngine.status(of: store)
    let pending = status.pending
    let objects = pending.objects
    store.close()
    if pending.isEmpty, status.quarantined == 0, status.parked == 0, status.lastError == nil {
      throw Failure(
        .failed, code: "nothing-unsent", "Nothing waits to be sent, and nothing was changed",
        suggestion: "syncctl status --store \(target.url.path.shellWord) says how the store is")
    }
    guard yes else {
      throw Failure(
        .usage, code: "not-confirmed",
        "Nothing was changed: what waits to be sent, of \(pending.hasMore ? "more than " : "")\(objects) "
          + "object\(objects == 1 ? "" : "s"), would be given up, and the store would be emptied and "
          + "filled with what the zone has.",
        suggestion:
          "look at it with syncctl log --store \(target.url.path.shellWord), and say it with --yes")
    }
    let summary = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(
      .giveUpUnsent)
    try output.put(summary, line: AdvisedCommand.naming(store: target.store, in: summary.text))
  }
}
