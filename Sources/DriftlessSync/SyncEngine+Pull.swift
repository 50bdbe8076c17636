import Driftless
import DriftlessProtocol
import Foundation

extension SyncEngine {
  /// Pulls what other replicas pushed and merges it, page by page, until the zone has nothing
  /// newer.
  ///
  /// - Parameters:
  ///   - waitSeconds: how long the server may wait for news before it answers that there are none.
  ///   - allowsMassDelete: deletes of a large part of the replica are meant
  ///     (`SyncOptions.massDelete`).
  /// - Throws: `SyncError` (`massDelete` when so many deletes must be allowed first),
  ///   `ProtocolError` or `StoreError`. Pages that were applied stay applied.
  public func pull(
    waitSeconds: Int = 0, allowingMassDelete allowsMassDelete: Bool = false
  ) async throws -> PullReport {
    let report = try await operation {
      var report = SyncReport()
      try await self.runPull(waitSeconds: waitSeconds, allowsMassDelete, &report)
      return report.pull
    }
    tell(.didSucceed)
    return report
  }

  func runPull(
    waitSeconds: Int, _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws {
    try lock()
    // A change set without an answer may be in the log already: what it holds is settled first.
    if try hasOutbox() { try await settleOutbox(&report) }
    try replayParked()
    let first = try replicaState().cursor
    var puller = Puller()
    var page: PullPage?
    var action = puller.handle(.begin(cursor: try replicaState().position))
    while true {
      switch action {
      case .request(let cursor):
        let state = try replicaState()
        let answer = try await transport.pull(
          PullRequest(
            cursor: cursor, mark: state.mark, maxBytes: options.pullBytesMax,
            waitSeconds: page == nil ? waitSeconds : 0, replica: state.replica,
            ownThrough: state.pushNumber))
        page = answer
        action = puller.handle(
          .page(
            places: answer.entries.map(\.mark), generation: answer.generation,
            head: answer.head))
      case .apply(let cursor, let head):
        report.pull.add(
          try apply(
            page?.entries ?? [], cursor: cursor, head: head, allowsMassDelete: allowsMassDelete))
        tell(
          .progress(
            .receiving(
              SyncState.Progress(
                done: Int(clamping: cursor.sequence - first), total: Int(clamping: head - first),
                bytes: report.pull.bytes))))
        action = puller.handle(.applied)
      case .finish(let head):
        report.pull.add(try finishPull(head: head, allowsMassDelete: allowsMassDelete))
        return
      case .fail(let error):
        throw error
      }
    }
  }

  /// Sends the change set in flight again and takes the answer; a *stale* one empties the outbox.
  private func settleOutbox(_ report: inout SyncReport) async throws {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else { return }
    do {
      try acknowledge(try await transport.push(outbox.frame), for: outbox)
      report.push.add(outbox)
    } catch let error as ProtocolError
      where error.code == .stale || Self.isRefusal(error) || error.code == .unsupported
    {
      // The next push builds it anew, and finds what is refused in it.
      try discardOutbox()
    } catch let error as ProtocolError where error.code == .forked {
      try discardOutbox()
      try renewReplica()
    }
  }
}
