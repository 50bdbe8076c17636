import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Logging
import TestSupport
import Testing

@testable import DriftlessServer

/// What others do at the folder while the server serves, and what it keeps of who comes.
@Suite("A server beside its operator", .serialized)
struct OperatorSafetyTests {
  @Test("A reader that stopped holds up no push: the log grows, and the operator hears of it once")
  func stoppedReader() async throws {
    var limits = ServerLimits()
    limits.checkpointPages = 4
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(1), token: token)
      let reader = try SQLiteConnection(
        path: DataFolder(server.data).database.path, mode: .readWrite)
      try reader.execute("BEGIN")
      _ = try reader.scalar("SELECT count(*) FROM log")
      let start = ContinuousClock.now
      for _ in 0..<12 {
        maker.cursor = try await server.cursor(at: maker.number)
        _ = try await server.accepted(try maker.insert(200), token: token)
      }
      #expect(ContinuousClock.now - start < .seconds(60), "no checkpoint waits ten seconds for it")
      let lines = server.log.text.split(separator: "\n").filter { $0.contains("log grows") }
      #expect(lines.count == 1, "\(lines)")
      let metrics = try await server.request("GET", "/metrics")
      let held = try #require(
        String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
          .first { $0.hasPrefix("driftless_held_checkpoints_total ") })
      #expect(Int(held.split(separator: " ")[1]) ?? 0 > 1)
      reader.close()
      // A push is answered before the log is looked at: the next one comes after that.
      for _ in 0..<2 {
        maker.cursor = try await server.cursor(at: maker.number)
        _ = try await server.accepted(try maker.insert(200), token: token)
      }
      #expect(server.log.text.contains("copied again"))
    }
  }

  @Test("A server whose database was removed or moved acknowledges nothing, and is not healthy")
  func lostDatabase() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(1), token: token)
      let database = try DataFolder(server.data).database
      let away = database.appendingPathExtension("away")
      maker.cursor = try await server.cursor(at: maker.number)
      let frame = try maker.insert(1)
      try FileManager.default.moveItem(at: database, to: away)
      let refused = try await server.push(frame, token: token)
      #expect(refused.status == 500)
      #expect(String(decoding: refused.body, as: UTF8.self).contains("moved away or removed"))
      #expect(try await server.request("GET", "/healthz").status == 500)
      await #expect(throws: (any Error).self) { try await server.pull(after: 0, token: token) }
      // Nobody begins a second one beside what the server still has.
      let locked = #expect(throws: ServerError.self) { _ = try DataFolder(server.data) }
      #expect(locked?.code == .locked)
      try FileManager.default.moveItem(at: away, to: database)
      #expect(try await server.push(frame, token: token).status == 200)
      #expect(try await server.request("GET", "/healthz").status == 200)
    }
  }

  @Test(
    "A server whose database was emptied or cut off acknowledges nothing, and is not healthy",
    arguments: [0, 4096])
  func cutDatabase(bytes: UInt64) async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(1), token: token)
      let database = try DataFolder(server.data).database
      // What a checkpoint would have done: the file has more than its first page.
      let writer = try #require(server.server.storage as? SQLiteZoneStorage).writer
      try writer.run { try $0.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
      #expect(try await server.request("GET", "/healthz").status == 200)
      try writer.run { _ in }
      let whole = try Data(contentsOf: database)
      maker.cursor = try await server.cursor(at: maker.number)
      let frame = try maker.insert(1)
      let file = try FileHandle(forWritingTo: database)
      try file.truncate(atOffset: bytes)
      let refused = try await server.push(frame, token: token)
      #expect(refused.status == 500)
      #expect(String(decoding: refused.body, as: UTF8.self).contains("emptied, cut off"))
      #expect(try await server.request("GET", "/healthz").status == 500)
      await #expect(throws: (any Error).self) { try await server.pull(after: 0, token: token) }
      try file.seek(toOffset: 0)
      try file.write(contentsOf: whole)
      try file.close()
      #expect(try await server.push(frame, token: token).status == 200)
      #expect(try await server.request("GET", "/healthz").status == 200)
    }
  }

  @Test("Where another has the database, all pushes that wait are told so at once")
  func busyGroup() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    try test.storage.writer.run { $0.busyTimeoutMilliseconds = 1000 }
    let other = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    let start = ContinuousClock.now
    let codes = try await withThrowingTaskGroup(of: ServerError.Code?.self) { group in
      for _ in 0..<90 {
        let push = TestReplica().push(1, zone.generation)
        group.addTask { try await code { _ = try await test.storage.append(push, to: zone) } }
      }
      return try await group.reduce(into: [ServerError.Code?]()) { $0.append($1) }
    }
    #expect(codes.allSatisfy { $0 == .busy })
    #expect(ContinuousClock.now - start < .seconds(45), "not a second for each of them")
    try other.execute("ROLLBACK")
    other.close()
  }

  @Test("Who says many replica IDs drives out nobody but its own token's")
  func manyIDs() async throws {
    var limits = ServerLimits()
    limits.replicasPerZoneMax = 6
    try await withServer(limits: limits) { server in
      let (token, flood) = (try server.token(), try server.token(verbs: .read))
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(1), token: token)
      let quiet = UUID()
      for round in 0..<3 {
        if round == 0 { _ = try await server.pull(after: 1, "&replica=\(quiet)", token: token) }
        for _ in 0..<5 {
          _ = try await server.pull(after: 1, "&replica=\(UUID())", token: flood)
        }
        (server.server.storage as? SQLiteZoneStorage)?.writeSightings()
        let administration = try Administration(folder: DataFolder(server.data))
        defer { administration.close() }
        let seen = try administration.replicas().filter { $0.lastSeenMilliseconds != nil }
        #expect(seen.count <= 6, "round \(round)")
        #expect(seen.contains { $0.replica == quiet }, "round \(round)")
        #expect(seen.contains { $0.replica == maker.replica }, "round \(round)")
      }
    }
  }

  @Test("What is refused says nothing of how far a replica is")
  func refusedIsNotSeen() async throws {
    try await withServer { server in
      let token = try server.token()
      let zone = try await server.zone()
      let (ahead, former) = (UUID(), UUID())
      let chain = LogChain.start(generation: UUID())
      for (replica, place) in [
        (ahead, "generation=\(zone.generation)&after=7&chain=\(chain)"),
        (former, "generation=\(UUID())&after=0&chain=\(chain)"),
      ] {
        let path = "/v1/zones/shop/changes?\(place)&replica=\(replica)"
        #expect(try await server.request("GET", path, token: token.text).status == 409)
      }
      (server.server.storage as? SQLiteZoneStorage)?.writeSightings()
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      #expect(try administration.replicas().isEmpty)
    }
  }

  @Test("A zone's snapshot goes with its log, and one that was left goes at the next start")
  func snapshotsGo() async throws {
    let server = try await LiveServer(zones: ["shop", "other"])
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    _ = try await server.accepted(try maker.insert(3), token: token)
    let folder = try DataFolder(server.data)
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    let own = folder.snapshots.appendingPathComponent(
      try await server.zone().zoneID.uuidString.lowercased())
    func isThere() -> Bool { FileManager.default.fileExists(atPath: own.path) }
    for remove in [
      { _ = try administration.renewZone("shop", intent: .offer) },
      { try administration.deleteZone("shop") },
    ] {
      _ = try administration.foldZone("shop")
      #expect(isThere())
      try remove()
      #expect(!isThere())
    }
    try await server.stop()
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    try Data("content".utf8).write(to: own.appendingPathComponent("x.segment"))
    let again = try await LiveServer(directory: server.directory)
    #expect(!isThere())
    try await again.stop()
  }

  @Test("A zone that is deleted while it is folded leaves nothing of it")
  func deletedWhileFolded() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let snapshots = ZoneSnapshots(test.folder)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    _ = try snapshots.fold(zone) {
      try administration.zones().contains { $0.zoneID == zone.zoneID }
    } isOwn: { _ in
      true
    } page: { _ in
      // The delete finds the fold at it, and leaves the folder.
      try administration.deleteZone("shop")
      return []
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: test.folder.snapshots.path)
    #expect(left == [])
  }

  @Test("A fold that nobody asked for is not begun where there is no room for it")
  func noRoom() async throws {
    var limits = ServerLimits()
    limits.foldLogBytesMin = 1
    let server = try await LiveServer()
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    _ = try await server.accepted(try maker.insert(3), token: token)
    try await server.stop()
    for (free, said) in [(10, "failed_folds_total 1"), (1 << 30, "\ndriftless_folds_total 1")] {
      let metrics = ServerMetrics()
      let folding = ZoneFolding(
        try FolderLogs(DataFolder(server.data)), limits: LiveLimits(limits), metrics: metrics,
        logger: Logger(label: "test"), freeBytes: { free })
      folding.begin()
      defer { folding.stop() }
      try await until("\(free)") { MetricsPage(values: metrics.current).text.contains(said) }
    }
  }

  @Test("Who read a zone's record before it was deleted is told so; a new name is no other zone")
  func staleRecord() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let request = PageRequest(after: zone.beginning, bytesMax: 1000, entriesMax: 10)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    _ = try administration.renameZone("shop", to: "store")
    #expect(try await test.storage.page(of: zone, request).entries.isEmpty)
    try administration.deleteZone("store")
    _ = try administration.createZone("shop")
    #expect(
      try await code { _ = try await test.storage.page(of: zone, request) } == .noZone)
  }

  @Test("Tokens begin and end by the server's time where that is ahead of the host's clock")
  func ends() async throws {
    let test = try TestZone()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let ahead = Administration.hostMilliseconds + 7_200_000
    let connection = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    try connection.execute("INSERT OR REPLACE INTO clock VALUES(1, \(ahead))")
    connection.close()
    #expect(try administration.serverMilliseconds() == ahead)
    let old = try administration.createToken(zone: "shop", verbs: .read)
    try administration.rotateToken(id: old.id, grace: 60_000, expiresMilliseconds: nil)
    let tokens = try administration.tokens()
    #expect(tokens.allSatisfy { $0.createdMilliseconds == ahead })
    #expect(tokens.first { $0.id == old.id }?.expiresMilliseconds == ahead + 60_000)
  }

  @Test(
    "A token is called by text on one line",
    arguments: ["", " ", "a\u{1B}[2J", "a\nb", "a\tb", "a\u{2028}b", "\u{202E}a"])
  func badName(_ name: String) async throws {
    let test = try TestZone()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let error = #expect(throws: ServerError.self) {
      try administration.createToken(zone: "shop", verbs: .read, label: name)
    }
    #expect(error?.code == .badName)
    #expect(try administration.tokens().isEmpty)
    try administration.createToken(zone: "shop", verbs: .read, label: "Kasse 3, Süd")
  }

  @Test(
    "Numbers that nobody wrote stop neither the server nor a command",
    arguments: [
      "INSERT OR REPLACE INTO clock VALUES(1, 9223372036854775807)",
      "INSERT OR REPLACE INTO clock VALUES(1, -9223372036854775808)",
      "UPDATE log SET received_ms = 9223372036854775807",
      "UPDATE log SET size = 9223372036854775807", "UPDATE log SET first_object = -5",
      "UPDATE zone SET next_object = -1", "UPDATE zone SET newest_ms = 9223372036854775807",
      "UPDATE zone SET head = -1", "UPDATE zone SET id = 9223372036854775807",
      "UPDATE token_note SET expires_ms = 9223372036854775807",
    ])
  func wildNumbers(sql: String) async throws {
    let server = try await LiveServer()
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    _ = try await server.accepted(try maker.insert(3), token: token)
    try await server.stop()
    let folder = try DataFolder(server.data)
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try connection.execute("PRAGMA ignore_check_constraints = ON; \(sql)")
    connection.close()
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    _ = try administration.verify()
    _ = try administration.clock()
    _ = try administration.inspectZone("shop")
    _ = try administration.replicas()
    let again = try await LiveServer(directory: server.directory)
    #expect(await again.server.storage.time() > 0)
    for path in ["/v1/zones/shop", "/healthz", "/metrics"] {
      _ = try await again.request("GET", path, token: token.text)
    }
    let zone = try await again.zone()
    let request = PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 10)
    _ = try? await again.server.storage.page(of: zone, request)
    try await again.stop()
  }
}
