import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import SyncDaemon
import Synchronization

/// Syncs a store: through the daemon that keeps it, or else in this process.
struct SyncRunner {
  let url: URL
  let output: OutputOptions
  /// Where the keys of encrypted properties come from; nil for beside the store.
  var keys: KeySource?

  /// Runs a sync, push or pull.
  ///
  /// - Parameter allowsMassDelete: deletes of a large part of the store are meant.
  func run(
    _ verb: DaemonRequest.Verb, allowsMassDelete: Bool = false
  ) async throws -> SyncSummary {
    try StoreAccess.requireFile(at: url)
    let notice = WaitNotice(output: output)
    let reply = try await askDaemon(verb, allowsMassDelete, notice) {
      "the daemon at \($0), which syncs the store"
    }
    if let report = reply?.report { return report }
    let store = try StoreAccess.open(url)
    let way = try way(of: store)
    let transport = try way.transport()
    let engine = SyncEngine(store: store, transport: transport, options: way.options)
    let before = try SyncEngine.parked(of: store)
    let progress = CommandProgress()
    await engine.tellProgress { progress.note($0) }
    var summary = try await WaitNotice(output: output, progress: progress).during({
      transport.awaited
    }) {
      switch verb {
      case .push: SyncSummary(try await engine.push(allowingMassDelete: allowsMassDelete))
      case .pull: SyncSummary(try await engine.pull(allowingMassDelete: allowsMassDelete))
      case .giveUpUnsent: SyncSummary(try await engine.giveUpUnsent())
      case .sync, .status, .stores, .wake, .verify, .repair:
        SyncSummary(try await engine.sync(allowingMassDelete: allowsMassDelete))
      }
    }
    try summary.noteSetAside(SyncEngine.parked(of: store), since: before)
    try summary.noteLost(in: store)
    await engine.close()
    return summary
  }

  /// Compares the store with its zone, and maybe mends it.
  ///
  /// - Parameter allowsMassDelete: deletes of a large part of the store are meant.
  func verify(repairs: Bool, allowsMassDelete: Bool) async throws -> VerifyReport {
    try StoreAccess.requireFile(at: url)
    let notice = WaitNotice(output: output)
    let reply = try await askDaemon(repairs ? .repair : .verify, allowsMassDelete, notice) {
      "the daemon at \($0), which compares the store with its zone; the server may add up its log "
        + "first"
    }
    if let report = reply?.verified { return report }
    let store = try StoreAccess.open(url)
    let way = try way(of: store)
    let transport = try way.transport()
    let engine = SyncEngine(store: store, transport: transport, options: way.options)
    let how = Mutex(VerifyProgress.pulling)
    let report = try await notice.during({ how.withLock { $0 }.text(transport) }) {
      if repairs {
        return try await engine.repair(allowingMassDelete: allowsMassDelete) { progress in
          how.withLock { $0 = progress }
        }
      }
      return try await engine.verify { progress in how.withLock { $0 = progress } }
    }
    await engine.close()
    return report
  }

  /// What the daemon that keeps the store answers: it holds the sync lock, does the work, and says how it went. Nil where none
  /// answers, or where the one that is named beside the store does not keep it: the files were moved or copied, say. The lock
  /// tells then whether another process syncs them.
  ///
  /// - Parameter awaited: What is waited for, of the daemon's socket.
  private func askDaemon(
    _ verb: DaemonRequest.Verb, _ allowsMassDelete: Bool, _ notice: WaitNotice,
    awaited: @escaping @Sendable (String) -> String
  ) async throws -> DaemonReply? {
    guard let daemon = DaemonClient(store: url) else { return nil }
    // Its engine has the keys that the daemon was given.
    let hasOwnKeys = keys != nil
    let request = DaemonRequest(
      hasOwnKeys ? .status : verb, store: url.path, allowsMassDelete: allowsMassDelete)
    let reply: DaemonReply?
    do {
      reply = try await notice.during({ awaited(daemon.socket) }) { try await daemon.ask(request) }
    } catch let failure as Failure where failure.code == DaemonClient.unknownStoreCode {
      daemon.disown(store: url)
      return nil
    }
    guard hasOwnKeys, reply != nil else { return reply }
    throw Failure(
      .usage, code: "daemon-keys",
      "The daemon at \(daemon.socket) syncs the store, with the keys that it was given.",
      suggestion:
        "name them there (keyFile or keyCommand) and have it read them (SIGHUP), or keep them beside the store: "
        + "syncctl key use --store \(url.path.shellWord) FILE")
  }

  /// The way to the zone. Where it cannot be begun, status tells why.
  private func way(of store: PersistentStore) throws -> StoreAccess.Way {
    do {
      return try StoreAccess.Way(of: store, at: url, keys: keys)
    } catch let failure as Failure where failure.code != "not-enrolled" {
      // The reason is the one to throw, whether it can be kept or not.
      try? SyncEngine.noteUnbegun(
        store, code: failure.code, message: failure.message, suggestion: failure.suggestion)
      throw failure
    }
  }
}

extension VerifyProgress {
  /// What somebody waits for who waits for a comparison.
  fileprivate func text(_ transport: CurlTransport) -> String {
    switch self {
    case .pulling: transport.awaited
    case .awaitingServer: "\(transport.server.absoluteString) (it adds up its log)"
    case .reading(let objects, let all): "the store to be read (\(objects) of \(all) objects)"
    case .comparing(let ranges, let all):
      "what differs to be compared (\(ranges) of \(all) parts)"
    }
  }
}

extension CurlTransport {
  /// What somebody waits for who waits for this transport.
  var awaited: String {
    let phase = self.phase
    // The server has answered; what takes its time is done here.
    guard phase != .idle else { return "the work on the store" }
    let doing =
      switch phase {
      case .idle, .connecting: "connecting"
      case .waiting: "connected, no answer so far"
      case .receiving: "receiving"
      case .pausing: "it failed in passing, trying again"
      }
    return "\(server.absoluteString) (\(doing))"
  }
}
