import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation

@testable import DriftlessSync

/// The server without what its log comes to: who joins by it reads all of the log.
struct LogAlone: ForwardingTransport {
  let next: any SyncTransport

  init(_ server: any SyncTransport) { next = server }

  func snapshot(of generation: UUID) async throws -> Snapshot? { nil }
}

/// What the zone's log comes to, in digests.
extension SimulatedServer {
  func digests(at cursor: Cursor) async throws -> ZoneDigests {
    var begun: DigestedLog.Begun?
    if try await floor() > 0 {
      // The server adds up its log for who asks.
      if try await snapshot(of: cursor.generation)?.place.sequence ?? 0 < cursor.sequence {
        try await fold()
      }
    }
    if try await floor() > 0, let snapshot = try await snapshot(of: cursor.generation) {
      var files: [String: Data] = [:]
      for file in snapshot.files {
        files[file.name] = try await segment(
          file.name, of: cursor.generation, range: 0..<file.bytes)
      }
      begun = DigestedLog.Begun(snapshot: snapshot, files: files)
    }
    return try await digested.digests(of: zoneInfo().zoneID, at: cursor, from: begun) { place in
      try await pull(
        PullRequest(
          cursor: place, maxBytes: 1 << 20, waitSeconds: 0, replica: UUID(), ownThrough: 0))
    }
  }

  func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    try digested.answer(part, at: cursor)
  }
}

extension Simulation {
  /// A store has what the log comes to, value by value, in digests and in what they are of.
  func checkZoneValues(_ host: Host) async throws {
    // What a rogue says of an object under another entity's name is in what the log comes to, and set aside by who reads it.
    guard !hasRogue else { return }
    let engine = SyncEngine(store: host.store, transport: server)
    let report = try await engine.compareAsItIs()
    for difference in report.differences { fail("verify", "\(host.name): \(difference)") }
  }

  /// Who joins by what the log comes to shows what one that read the log shows, and reads nothing of the log.
  func checkFold(like newcomer: Image) async throws {
    try await server.fold()
    let head = try await server.zoneInfo().head
    guard head > 0 else { return }
    let joining = try await addHost(
      version: newest, name: "joining\(hosts.count)-\(trace.count)")
    hosts.removeLast()
    let report = try await joining.engine.sync()
    // A snapshot has the names of large values: what waits in the zone is fetched as by everybody else.
    if scenario.hasFirstUse { await fetchAll(joining) }
    try joining.look()
    if joining.image != newcomer {
      fail(
        "snapshot", "of \(head) entries: \(joining.image.difference(from: newcomer, names: name))")
    }
    let isKept = try joining.store.read { transaction in
      try transaction.connection.number("SELECT count(*) FROM ZDL_FRAME")
    }
    // What a key or a partner was in the log is not in what it comes to, and a model may not have all that it names:
    // then the log is read.
    let mayBeUnfit =
      hasRogue || scenario.hasPurges || scenario.hasRenames || scenario.hasUniqueKeys
      || scenario.hasOneToOne || scenario.hasMigrations
    if isKept != 0, !mayBeUnfit { fail("snapshot", "the log was read all the same: \(report)") }
    try checkStore(joining)
    await joining.close()
  }
}
