import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

@testable import DriftlessSync

/// The server without what its log comes to: who joins by it reads all of the log.
struct LogAlone: SyncTransport {
  private let server: any SyncTransport

  init(_ server: any SyncTransport) { self.server = server }

  func zoneInfo() async throws -> ZoneInfo { try await server.zoneInfo() }
  func push(_ frame: Data) async throws -> PushReply { try await server.push(frame) }
  func pull(_ request: PullRequest) async throws -> PullPage { try await server.pull(request) }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await server.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await server.commonPlace(of: marks, generation: generation)
  }
}

extension Simulation {
  /// Who joins by what the log comes to shows what one that read the log shows, and reads nothing of the log.
  func checkFold(like newcomer: Image) async throws {
    try await server.fold()
    let head = try await server.zoneInfo().head
    guard head > 0 else { return }
    let joining = try await addHost(
      version: traits.count - 1, name: "joining\(hosts.count)-\(trace.count)")
    hosts.removeLast()
    let report = try await joining.engine.sync()
    try joining.look()
    if joining.image != newcomer {
      fail(
        "snapshot", "of \(head) entries: \(joining.image.difference(from: newcomer, names: name))")
    }
    let isKept = try joining.store.read { transaction in
      try transaction.connection.number("SELECT count(*) FROM ZDL_FRAME")
    }
    // What an order, a key or a partner was in the log is not in what it comes to: then the log is read.
    let mayBeUnfit =
      hasRogue || scenario.hasRenames || scenario.hasOrderedManyToMany || scenario.hasUniqueKeys
      || scenario.hasOneToOne
    if isKept != 0, !mayBeUnfit { fail("snapshot", "the log was read all the same: \(report)") }
    try checkStore(joining)
    await joining.close()
  }
}
