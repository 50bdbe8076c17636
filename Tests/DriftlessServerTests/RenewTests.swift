import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@Suite("Generations of a zone, and coming back")
struct RenewTests {
  @Test(
    "A renewed zone has an empty log, its parent's place, and the intent",
    arguments: [ZoneIntent.offer, .replace])
  func renew(intent: ZoneIntent) async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(3), token: token)
      let before = try await server.zone()
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      _ = try administration.createZone("other")
      let renewed = try administration.renewZone("shop", intent: intent)
      #expect(renewed.zoneID == before.zoneID)
      #expect(renewed.generation != before.generation)
      let response = try await server.request("GET", "/v1/zones/shop", token: token.text)
      let info = try JSONDecoder().decode(ZoneInfo.self, from: response.body)
      #expect(info.intent == intent)
      #expect(info.replacements == (intent == .replace ? [info.generation] : []))
      #expect(info.zoneID == before.zoneID)
      #expect(
        info.parent
          == ZoneParent(generation: before.generation, sequence: 1, chain: before.chain))
      #expect(info.head == 0)
      #expect(info.chain == .start(generation: info.generation))
      // The old log is gone; identities and numbers begin anew.
      let old = try await server.push(try maker.insert(1), token: token)
      #expect(old.code == "generation-changed")
      maker.cursor = .start(generation: info.generation)
      let reply = try await server.accepted(try maker.insert(2), token: token)
      #expect((reply.sequence, reply.firstObjectNumber) == (1, 1))
      #expect(reply.chain != before.chain)
    }
  }

  @Test("Who waits for a renewed zone's news gets them")
  func news() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      for _ in 0..<3 { _ = try await server.accepted(try maker.insert(1), token: token) }
      let administration = try Administration(folder: DataFolder(server.data))
      let renewed = try administration.renewZone("shop", intent: .offer)
      administration.close()
      maker.cursor = .start(generation: renewed.generation)
      let frame = try maker.insert(1)
      async let poll = server.pull(after: 0, "&wait_seconds=30", token: token)
      while server.server.news.waiting == 0 { await Task.yield() }
      _ = try await server.accepted(frame, token: token)
      #expect(try await poll.entries.map(\.frame) == [frame])
    }
  }

  @Test("S2 A zone put back to an older copy is filled again over HTTP, and says where logs part")
  func refill() async throws {
    try await withServer { server in
      let token = try server.token()
      let zone = try await server.zone()
      var log = ZoneLog(name: "shop", generation: zone.generation)
      var maker = FrameMaker(zone)
      for step in 0..<4 {
        let frame = try maker.insert(2)
        _ = try log.append(frame, nowMilliseconds: 0)
        if step < 1 { _ = try await server.accepted(frame, token: token) }
        maker.cursor.sequence = log.head
        maker.cursor.chain = log.chain
      }
      let diverged = try await server.push(try maker.insert(1), token: token)
      #expect(diverged.code == "diverged")
      let marks = (0...4).compactMap { log.place(at: $0) }
      let asked = CommonPlaceRequest(generation: zone.generation, marks: marks)
      let common = try await server.request(
        "POST", "/v1/zones/shop/common", token: token.text,
        headers: ["Content-Type: application/json"], body: try JSONEncoder().encode(asked))
      #expect(
        try JSONDecoder().decode(CommonPlaceReply.self, from: common.body).place == marks[1])
      let request = PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: 1 << 20, waitSeconds: 0,
        replica: UUID(), ownThrough: 0)
      let entries = try log.page(request, nowMilliseconds: 0).entries
      let readOnly = try server.token(verbs: .read)
      let forbidden = try await server.request(
        "POST", "/v1/zones/shop/refill", token: readOnly.text,
        headers: ["Content-Type: \(WirePath.logType)"], body: PullPage.body(of: entries))
      #expect(forbidden.status == 403)
      let filled = try await server.request(
        "POST", "/v1/zones/shop/refill", token: token.text,
        headers: ["Content-Type: \(WirePath.logType)"],
        body: PullPage.body(of: Array(entries[1...])))
      #expect(
        try JSONDecoder().decode(RefillReply.self, from: filled.body)
          == RefillReply(head: 4, chain: log.chain))
      #expect(server.log.text.contains("refilled"))
      maker.number = 4
      #expect(try await server.accepted(try maker.insert(1), token: token).sequence == 5)
    }
  }

  @Test("A zone is held for a replica that was stale three times, for a moment and no longer")
  func hold() async throws {
    // Of any speed of the machine: it is let go of by the push that it was held for.
    var limits = ServerLimits()
    limits.holdStaleSeconds = 300
    limits.holdMilliseconds = 60_000
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var many = FrameMaker(try await server.zone())
      var large = FrameMaker(try await server.zone())
      _ = try await server.accepted(try many.insert(5), token: token)
      large.cursor = try await server.cursor(at: 1)
      for step in 1...3 as ClosedRange<UInt64> {
        many.cursor = try await server.cursor(at: step)
        _ = try await server.accepted(try many.update([1]), token: token)
        let stale = try await server.push(try large.update([1, 2]), token: token)
        #expect(stale.code == "stale")
      }
      many.cursor = try await server.cursor(at: 4)
      let waiting = try many.update([1])
      let busy = try await server.push(waiting, token: token)
      #expect(busy.status == 503)
      #expect(busy.headers["retry-after"] == "1")
      large.cursor = many.cursor
      #expect(try await server.push(try large.update([1, 2]), token: token).status == 200)
      let after = try await server.push(waiting, token: token)
      #expect(after.code == "stale", "the zone is free again at once")
    }
  }

  @Test(
    "A zone is held for as long as a push needs, and is open for three times as long afterwards")
  func holdsForSlowPushes() throws {
    let holds = ZoneHolds(limits: LiveLimits(ServerLimits()))
    let (slow, quick) = (UUID(), UUID())
    let start = ContinuousClock.Instant.now
    func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
    for seconds in [0, 9, 18.0] {
      try holds.admit(quick, to: 1, at: at(seconds))
      holds.noteStale(slow, in: 1, at: at(seconds))
    }
    try holds.admit(slow, to: 1, at: at(26))
    #expect(throws: ServerError.self) { try holds.admit(quick, to: 1, at: at(35)) }
    try holds.admit(quick, to: 2, at: at(35))
    // It has not come within twice the time of its tries: everybody may for three times as long.
    try holds.admit(quick, to: 1, at: at(36.5))
    for seconds in [40, 50, 60.0] { holds.noteStale(slow, in: 1, at: at(seconds)) }
    try holds.admit(quick, to: 1, at: at(61))
    holds.noteStale(slow, in: 1, at: at(91))
    #expect(throws: ServerError.self) { try holds.admit(quick, to: 1, at: at(92)) }
    // Each try took half a minute by now, and no zone is held for longer than that.
    #expect(throws: ServerError.self) { try holds.admit(quick, to: 1, at: at(120)) }
    holds.noteTaken(slow, in: 1, at: at(120))
    try holds.admit(quick, to: 1, at: at(120))
    for seconds in [121, 122, 123.0] { holds.noteStale(slow, in: 1, at: at(seconds)) }
    try holds.admit(quick, to: 1, at: at(124))
  }

  @Test("Of replicas that somebody makes up a thousand are remembered, and those before them stay")
  func holdsAreBounded() throws {
    let holds = ZoneHolds(limits: LiveLimits(ServerLimits()))
    let (slow, quick) = (UUID(), UUID())
    let start = ContinuousClock.Instant.now
    func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
    for seconds in [0, 1.0] { holds.noteStale(slow, in: 1, at: at(seconds)) }
    for _ in 0..<5_000 { holds.noteStale(UUID(), in: 1, at: at(2)) }
    #expect(holds.remembered(of: 1) == ZoneHolds.replicasMax)
    holds.noteStale(UUID(), in: 2, at: at(2))
    #expect(holds.remembered(of: 2) == 1)
    holds.noteStale(slow, in: 1, at: at(3))
    #expect(throws: ServerError.self) { try holds.admit(quick, to: 1, at: at(3)) }
    holds.noteTaken(slow, in: 1, at: at(3))
    // What is over makes room.
    for seconds in [400, 401, 402.0] { holds.noteStale(quick, in: 1, at: at(seconds)) }
    #expect(throws: ServerError.self) { try holds.admit(slow, to: 1, at: at(402)) }
    #expect(holds.remembered(of: 1) < ZoneHolds.replicasMax)
  }

  @Test("A zone is not held for a replica whose push no pull mends, however busy the zone is")
  func noHoldForGood() async throws {
    var limits = ServerLimits()
    limits.holdStaleSeconds = 300
    limits.holdMilliseconds = 60_000
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let taken = UUID()
      var others = FrameMaker(try await server.zone())
      _ = try await server.accepted(try others.insert(1, first: taken), token: token)
      var stuck = FrameMaker(try await server.zone())
      for step in 1...6 as ClosedRange<UInt64> {
        // It knows of the object, and not of what the others did since.
        stuck.cursor = try await server.cursor(at: step)
        others.cursor = stuck.cursor
        #expect(try await server.push(try others.update([1]), token: token).status == 200)
        let stale = try await server.push(try stuck.insert(1, first: taken), token: token)
        #expect(stale.code == "stale")
      }
    }
  }

  @Test("S2 A zone says of all its replacements, and forgets the replicas of the log before")
  func replacements() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    _ = try administration.createZone("shop")
    let first = try administration.renewZone("shop", intent: .replace)
    let between = try administration.renewZone("shop", intent: .offer)
    #expect(between.replacements == [first.generation])
    let second = try administration.renewZone("shop", intent: .replace)
    #expect(second.replacements == [first.generation, second.generation])
    for _ in 0..<80 { _ = try administration.renewZone("shop", intent: .replace) }
    #expect(try administration.zones()[0].replacements.count == ZoneInfo.replacementsMax)
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try connection.execute(
      "INSERT INTO replica(zone, uuid, last_push) SELECT id, x'01', 7 FROM zone")
    _ = try administration.renewZone("shop", intent: .offer)
    let replicas = try connection.prepare("SELECT count(*) FROM replica")
    #expect(try replicas.step())
    #expect(replicas.int64(0) == 0)
    replicas.reset()
    connection.close()
    administration.close()
  }

  @Test("A data folder of before zones told their replacements is brought up to date")
  func thirdVersion() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let made = try Administration(folder: folder)
    _ = try made.createZone("offered")
    _ = try made.createZone("replaced")
    let renewed = try made.renewZone("replaced", intent: .replace)
    made.close()
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try connection.execute("ALTER TABLE zone DROP COLUMN replacements; PRAGMA user_version = 3")
    connection.close()
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    #expect(try administration.zones().map(\.replacements) == [[], [renewed.generation]])
  }

  @Test("A data folder of the first version is refused with words that say what to do")
  func firstVersion() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWriteCreate)
    try connection.execute("CREATE TABLE zone(id INTEGER PRIMARY KEY); PRAGMA user_version = 1")
    connection.close()
    let error = #expect(throws: ServerError.self) { try SQLiteZoneStorage(folder: folder) }
    #expect(error?.code == .otherVersion)
    #expect(error?.suggestion.contains("new folder") == true)
  }
}
