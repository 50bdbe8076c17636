import Driftless
import Foundation
import SyncDaemon

/// Looks at where a store stands: in its file, and by the daemon that keeps it.
struct StatusLook {
  /// How long a daemon may take to answer.
  var answerSeconds = 15
  /// What a store's disk has room for.
  var diskRoom: @Sendable (URL) -> DiskRoom? = { DiskRoom.beside($0) }

  /// Where the store stands, by its file and the daemon that its mark names.
  func report(of url: URL) async throws -> StatusReport {
    try await report(of: url) { await daemon(of: url) }
  }

  /// Where the store stands, by its file and what is known of the daemon.
  func report(
    of url: URL, asking daemon: () async -> StatusReport.Daemon?
  ) async throws -> StatusReport {
    let (store, obstacle) = try StoreAccess.look(at: url)
    defer { store.close() }
    var report = try StatusReport(of: store, at: url, daemon: await daemon())
    report.obstacle = obstacle ?? fullDisk(of: url)
    return report
  }

  /// A sync that fails for want of room finds none to keep that: the disk itself is looked at.
  private func fullDisk(of url: URL) -> StoreError? {
    guard let room = diskRoom(url), room.isFull else { return nil }
    return StoreError(
      .diskFull,
      "The file system of \(url.path) has \(room.free) bytes free, fewer than a sync writes at least: one that "
        + "failed could not say so here",
      suggestion: "Make room there: what waits goes on from where it stands with the next sync.")
  }

  /// The daemon that says beside the store that it keeps it, if there is one.
  private func daemon(of store: URL) async -> StatusReport.Daemon? {
    guard let client = DaemonClient(store: store, answerSeconds: answerSeconds) else { return nil }
    return await Self.state(of: store, by: client)
  }

  /// What a daemon says of a store; nil where it does not say anything.
  ///
  /// - Parameter isListed: whether it is one of those that the daemon named: it may not have begun with it so far.
  static func state(
    of store: URL, by client: DaemonClient, isListed: Bool = false
  ) async -> StatusReport.Daemon? {
    do throws(Failure) {
      let request = DaemonRequest(.status, store: store.path)
      guard let reply = try await client.ask(request) else { return nil }
      return StatusReport.Daemon(pid: reply.pid, socket: client.socket, state: reply.stores.first)
    } catch {
      guard let pid = client.pid else { return nil }
      let isSilent = error.code == "daemon-silent"
      guard isSilent || isListed && error.code == DaemonClient.unknownStoreCode else { return nil }
      return StatusReport.Daemon(pid: pid, socket: client.socket, isSilent: isSilent)
    }
  }
}
