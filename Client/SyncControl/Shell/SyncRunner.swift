import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

/// Syncs a store: through the daemon that keeps it, or else in this process.
struct SyncRunner {
  let url: URL

  /// Runs a sync, push or pull.
  ///
  /// - Parameter allowsMassDelete: deletes of a large part of the store are meant.
  func run(
    _ verb: DaemonRequest.Verb, allowsMassDelete: Bool = false
  ) async throws -> SyncSummary {
    // A daemon that keeps the store holds its sync lock: it does the work, and says how it went.
    if let daemon = DaemonClient(store: url),
      let report = try await daemon.ask(
        DaemonRequest(verb, store: url.path, allowsMassDelete: allowsMassDelete))?.report
    {
      return report
    }
    let store = try StoreAccess.open(url)
    let transport = try StoreAccess.transport(for: store, at: url)
    let engine = SyncEngine(store: store, transport: transport)
    let summary: SyncSummary =
      switch verb {
      case .push: SyncSummary(try await engine.push(allowingMassDelete: allowsMassDelete))
      case .pull: SyncSummary(try await engine.pull(allowingMassDelete: allowsMassDelete))
      case .sync, .status:
        SyncSummary(try await engine.sync(allowingMassDelete: allowsMassDelete))
      }
    await engine.close()
    return summary
  }
}
