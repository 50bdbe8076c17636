import Dispatch
import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A zone that begins anew does so in one short transaction, and the rows of its former log go some at a time.
@Suite("Zones that begin anew", .serialized) struct RenewedZoneTests {
  private struct Killed: Error {}

  private static let count = 5_000

  /// What a zone has before, of which all but its log goes on.
  private struct Before {
    let zone: ZoneRecord
    let token: String
    let code: String
    var boxes: PhotoReplica
  }

  private static func fill(
    _ storage: any ZoneStorage, _ administration: any ZoneAdministration
  ) async throws -> Before {
    var boxes = PhotoReplica()
    let made = try #require(try await storage.zone(named: "shop"))
    try await boxes.show(1, to: storage, made)
    let shown = try #require(try await storage.zone(named: "shop"))
    var replica = TestReplica()
    replica.cursor = LogMark(sequence: shown.head, chain: shown.chain)
    _ = try await storage.append(
      replica.push(
        made.generation, inserts: (0..<count).map { _ in .init(first: UUID(), count: 1) }),
      to: shown)
    try administration.changeLimits(of: "shop", ["replicasMax": 77])
    let token = try administration.createToken(
      zone: "shop", verbs: [.read, .write], label: "till", expiresMilliseconds: nil, binds: true,
      handOut: { _ in })
    let code = try administration.createCode(
      CodeRequest(zone: "shop", verbs: .read, expiresMilliseconds: .max / 2)
    ) { _, _ in }
    let zone = try #require(try await storage.zone(named: "shop"))
    return Before(zone: zone, token: token.id, code: code.id, boxes: boxes)
  }

  /// A push of another zone, waited for on a thread that is nobody else's.
  private static func push(to zone: ZoneRecord, of storage: any ZoneStorage) throws {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      _ = try? await storage.append(TestReplica().push(1, zone.generation), to: zone)
      done.signal()
    }
    #expect(done.wait(timeout: .now() + 60) == .success, "a push waits for the rest of a log")
  }

  /// Renews a zone, and is killed at the second transaction of its rows; others push before each.
  private static func killRenewal(
    _ other: ZoneRecord, of storage: any ZoneStorage,
    _ renew: (_ between: () throws -> Void) throws -> Void
  ) throws {
    var steps = 0
    #expect(throws: Killed.self) {
      try renew {
        steps += 1
        try push(to: other, of: storage)
        if steps == 2 { throw Killed() }
      }
    }
    #expect(steps == 2)
  }

  /// What every storage owes where the command was killed at its second transaction of rows: the zone has begun anew, as a whole.
  private static func expectRenewed(
    _ storage: any ZoneStorage, _ administration: any ZoneAdministration, _ before: Before
  ) async throws {
    let zone = try #require(try await storage.zone(named: "shop"))
    #expect(zone.zoneID == before.zone.zoneID && zone.generation != before.zone.generation)
    #expect((zone.head, zone.nextObject) == (0, 1))
    #expect(
      zone.parent
        == ZoneParent(
          generation: before.zone.generation, sequence: before.zone.head, chain: before.zone.chain))
    #expect(zone.limits["replicasMax"] == 77)
    let token = try #require(try await storage.token(id: before.token))
    #expect(token.zoneName == "shop" && token.name == "till" && token.binding == .first)
    #expect(try administration.codes().map(\.id) == [before.code])
    #expect(try administration.codes().map(\.zoneName) == ["shop"])
    #expect(try administration.zones().map(\.name) == ["other", "shop"])
    #expect(try administration.inspectZone("shop").entries == 0)
    // Who knows the log of before hears so, whatever it asks.
    var boxes = before.boxes
    let old = try boxes.push(2, of: before.zone)
    let piece = try boxes.piece(3, of: before.zone)
    #expect(
      try await code { _ = try await storage.append(old, to: before.zone) } == .generationChanged)
    #expect(
      try await code {
        _ = try await storage.page(
          of: before.zone,
          PageRequest(
            after: Cursor.start(generation: before.zone.generation).mark, bytesMax: 1 << 20,
            entriesMax: 10))
      } == .generationChanged)
    #expect(
      try await code { _ = try await storage.keep(piece, of: before.zone, token: "t") }
        == .generationChanged)
    // The replica that was there brings what it holds, and its photo need not come again.
    let appended = try await storage.append(boxes.push(1, of: zone), to: zone)
    #expect((appended.sequence, appended.firstObjectNumber) == (1, 1))
    let whole = try await storage.value(
      PhotoReplica.value(1).digest, of: zone, first: 0, count: 4_000)
    #expect(whole == PhotoReplica.photo(1))
    #expect(try administration.verify().damage.filter { $0.table != "log" } == [])
  }

  @Test(
    "In a folder others push between its transactions, and a server goes on where one was killed")
  func folder() async throws {
    var limits = ServerLimits()
    limits.valueBytesMax = 1 << 20
    let test = try TestZone(limits: limits)
    let (storage, folder) = (test.storage, test.folder)
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    let other = try administration.createZone("other")
    let before = try await Self.fill(storage, administration)
    try await blocking {
      let command = try Administration(folder: folder)
      defer { command.close() }
      try Self.killRenewal(other, of: storage) {
        _ = try command.renew("shop", intent: .offer, between: $0)
      }
    }
    func left() throws -> Int64 {
      let id = before.zone.id
      return try administration.connection.integer(
        "SELECT (SELECT count(*) FROM identity WHERE zone = \(id)) "
          + "+ (SELECT count(*) FROM log WHERE position >> 40 = \(id)) "
          + "+ (SELECT count(*) FROM value_use WHERE zone = \(id)) "
          + "+ (SELECT count(*) FROM replica WHERE zone = \(id)) "
          + "+ (SELECT count(*) FROM zone WHERE id = \(id))") ?? -1
    }
    #expect(try left() > 2_000)
    try await Self.expectRenewed(storage, administration, before)
    await storage.letGoOfForgotten()
    #expect(try left() == 0)
    #expect(try administration.connection.integer("SELECT count(*) FROM zone") == 2)
    #expect(try administration.connection.integer("SELECT count(*) FROM value") == 1)
  }

  @Test("A page that is read while a zone begins anew is of one log")
  func page() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    for _ in 0..<3 {
      let reply = try await test.storage.append(
        replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
      replica.cursor = LogMark(sequence: reply.sequence, chain: reply.chain)
    }
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    var request = PageRequest(
      after: Cursor.start(generation: zone.generation).mark, bytesMax: 1 << 20, entriesMax: 10)
    let name = zone.name
    let folder = test.folder
    request.reserve = { _ in
      let command = try Administration(folder: folder)
      defer { command.close() }
      _ = try command.renewZone(name, intent: .offer)
    }
    let page = try await test.storage.page(of: zone, request)
    #expect(page.entries.map(\.sequence) == [1, 2, 3])
    #expect(page.head == 3)
    #expect(try administration.inspectZone(name).entries == 0)
    request.reserve = nil
    #expect(
      try await code { _ = try await test.storage.page(of: zone, request) } == .generationChanged)
  }

  @Test("A server of before is started anew first")
  func older() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    let zone = try administration.createZone("shop")
    let serving = try folder.lockForServing(suggestion: "")
    defer { serving.release() }
    serving.writeProcessID(version: ServerSchema.version - 1)
    let error = #expect(throws: ServerError.self) {
      try administration.renewZone("shop", intent: .offer)
    }
    #expect(error?.code == .locked)
    #expect(try administration.zones().map(\.generation) == [zone.generation])
  }

  #if PostgreSQL
    @Test("In a database others push in between, and a node goes on where one was killed")
    func postgres() async throws {
      let world = try PostgresWorld(zones: ["shop", "other"])
      let (storage, database) = (world.storage, world.database)
      let other = try world.zone("other")
      let before = try await Self.fill(storage, world.administration)
      try await blocking {
        let command = try PostgresAdministration(database: database)
        defer { command.close() }
        try Self.killRenewal(other, of: storage) {
          _ = try command.renew("shop", intent: .offer, between: $0)
        }
      }
      func left() throws -> Int64 {
        try PostgresSchema.tablesOfLog.reduce(0) { sum, table in
          try sum
            + world.connection.run(
              "SELECT count(*) FROM \(table) WHERE zone = $1", .integer(before.zone.id)
            ).int64(0, 0)
        }
      }
      #expect(try left() > 2_000)
      try await Self.expectRenewed(storage, world.administration, before)
      await storage.letGoOfForgotten()
      #expect(try left() == 0)
      #expect(try world.count("zone") == 2)
      #expect(try world.count("value_piece") == 1)
      #expect(try world.administration.verify().damage.filter { $0.table != "log" } == [])
    }

    @Test("Who waits for the row of a zone that begins anew goes on with the zone")
    func waiting() async throws {
      let world = try PostgresWorld(zones: ["shop"])
      let zone = try world.zone
      let (storage, database) = (world.storage, world.database)
      let push = TestReplica().push(1, zone.generation)
      let former = try world.administration.createToken(zone: "shop", verbs: [.read])
      // All wait for the row that a third one has: the renewal first.
      let isOver = PostgresWorld.Flag()
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await world.holding(until: isOver) { _ in
          group.addTask {
            try await blocking {
              let command = try PostgresAdministration(database: database)
              defer { command.close() }
              _ = try command.renewZone("shop", intent: .offer)
            }
          }
        } then: { _ in
          group.addTask {
            let refusal = try await code { _ = try await storage.append(push, to: zone) }
            #expect(refusal == .generationChanged)
          }
          group.addTask {
            try await blocking {
              let command = try PostgresAdministration(database: database)
              defer { command.close() }
              let token = try command.createToken(zone: "shop", verbs: [.read])
              #expect(try command.tokens().map(\.id).contains(token.id))
            }
          }
          group.addTask {
            try await blocking {
              let command = try PostgresAdministration(database: database)
              defer { command.close() }
              let token = try command.rotateToken(
                id: former.id, grace: 0, expiresMilliseconds: nil)
              #expect(try command.tokens().map(\.id).contains(token.id))
            }
          }
          let waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database()
            """
          while try world.connection.run(waiting).int64(0, 0) < 4 { usleep(1_000) }
        }
        try await group.waitForAll()
      }
      #expect(try world.zone.generation != zone.generation)
      // Each opens the zone as it is now.
      let number = try world.zone.id
      #expect(try world.administration.tokens().map(\.zoneID) == [number, number, number])
    }

    @Test("In a database no zone begins anew while a node of before serves")
    func postgresOlder() throws {
      let world = try PostgresWorld(zones: ["shop"])
      let zone = try world.zone
      let older = try PostgresConnection(serving: world.database, limits: .init())
      defer { older.close() }
      for number in [7_301_113, 7_301_114] {
        try older.run(
          """
          SELECT pg_advisory_lock_shared(\(number), ((SELECT oid::bigint FROM pg_namespace
            WHERE nspname = current_schema()) & 2147483647)::integer)
          """)
      }
      let error = #expect(throws: ServerError.self) {
        try world.administration.renewZone("shop", intent: .offer)
      }
      #expect(error?.code == .locked)
      #expect(try world.zone.generation == zone.generation)
    }
  #endif
}
