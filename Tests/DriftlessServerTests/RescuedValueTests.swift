import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Large values that a server had and its backup lacks, and that replicas may have let go of.
@Suite("Large values after a restore", .serialized) struct RescuedValueTests {
  private static var limits: ServerLimits {
    var limits = ServerLimits()
    limits.valueBytesMax = 1 << 20
    return limits
  }

  private static func refills(
    of zone: ZoneRecord, after place: LogMark, from storage: any ZoneStorage
  ) async throws -> [Refill] {
    let page = try await storage.page(
      of: zone, PageRequest(after: place, bytesMax: 1 << 20, entriesMax: 100))
    return try page.entries.map { entry in
      (
        entry: PullPage.Entry(
          sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber,
          chain: entry.chain, isOwnHeaderOnly: false, frame: entry.bytes),
        push: try PushReader(limits: .init()).read(entry.bytes)
      )
    }
  }

  private static func lost(_ zone: ZoneRecord, _ storage: any ZoneStorage) async throws
    -> [LargeValue]
  {
    try await storage.lostValues(of: zone, after: Data(), countMax: 100)
  }

  /// A zone with a photo that its backup has and two that it lacks, restored.
  struct World {
    let test: TestZone
    let restored: Backup.Restored
    let storage: SQLiteZoneStorage
    let zone: ZoneRecord
    let lost: [Refill]

    init() async throws {
      test = try TestZone(limits: RescuedValueTests.limits)
      var boxes = PhotoReplica()
      try await boxes.show(1, to: test.storage, test.zone())
      let backup = Backup(test.directory.file("copy.sqlite"))
      _ = try backup.make(of: test.folder)
      let place = try await test.place(at: 1)
      for seed in [2, 3] as [UInt8] {
        try await boxes.show(seed, to: test.storage, test.zone())
      }
      // What nothing names is nobody's loss.
      try await boxes.send(4, to: test.storage, test.zone())
      lost = try await RescuedValueTests.refills(
        of: test.zone(), after: place, from: test.storage)
      test.storage.close()
      restored = try backup.restore(to: test.folder)
      storage = try SQLiteZoneStorage(folder: test.folder, limits: RescuedValueTests.limits)
      zone = try #require(try await storage.zone(named: "shop"))
    }

    func administering<Result>(_ body: (Administration) throws -> Result) throws -> Result {
      let administration = try Administration(folder: test.folder)
      defer { administration.close() }
      return try body(administration)
    }

    func rescue(
      _ administration: Administration, _ write: @escaping (() throws -> Void) throws -> Void
    ) -> ValueRescue<SQLiteValueTables> {
      ValueRescue(
        tables: SQLiteValueTables(connection: administration.connection, zone: zone),
        milliseconds: Administration.hostMilliseconds, write: write)
    }

    func take(_ file: URL? = nil, zone: String? = nil, isDryRun: Bool = false) throws
      -> [TakenValues]
    {
      let administration = try Administration(folder: test.folder)
      defer { administration.close() }
      #expect(try administration.verify().damage == [])
      defer { #expect((try? administration.verify().damage) == []) }
      return try administration.takeValues(
        from: try file ?? #require(restored.before), zone: zone, isDryRun: isDryRun)
    }
  }

  private static let two = TakenValues(
    zone: "shop", values: NamedValues(count: 2, bytes: 4_000), damaged: 0)

  @Test("A restore says how many the copy lacks, and they are taken from what it put aside")
  func folder() async throws {
    let world = try await World()
    defer { world.storage.close() }
    #expect(world.restored.lackedValues == NamedValues(count: 2, bytes: 4_000))
    _ = try await world.storage.refill(world.lost, of: world.zone)
    let lost = try await Self.lost(world.zone, world.storage)
    #expect(Set(lost) == [try PhotoReplica.value(2), try PhotoReplica.value(3)])
    #expect(try world.take(isDryRun: true) == [Self.two])
    #expect(try await Self.lost(world.zone, world.storage).count == 2)
    #expect(try world.take() == [Self.two])
    #expect(try await Self.lost(world.zone, world.storage) == [])
    for seed in 1...3 as ClosedRange<UInt8> {
      let bytes = try await world.storage.value(
        PhotoReplica.value(seed).digest, of: world.zone, first: 0, count: 2_000)
      #expect(bytes == PhotoReplica.photo(seed))
    }
    #expect(try world.take().map(\.values.count) == [0])
    #expect(throws: ServerError.self) { try world.take(zone: "none") }
    #expect(throws: ServerError.self) { try world.take(world.test.directory.file("no file")) }
  }

  @Test("What is taken before replicas bring back what names it waits for them")
  func before() async throws {
    let world = try await World()
    defer { world.storage.close() }
    #expect(try world.take(zone: "shop") == [Self.two])
    await world.storage.letGoOfForgotten()
    _ = try await world.storage.refill(world.lost, of: world.zone)
    #expect(try await Self.lost(world.zone, world.storage) == [])
  }

  @Test("A command that was stopped goes on; what the file has damaged is left, and told")
  func stopped() async throws {
    let world = try await World()
    defer { world.storage.close() }
    let before = try #require(world.restored.before)
    let damaging = try SQLiteConnection(path: before.path, mode: .readWrite)
    try damaging.run(
      "UPDATE value_piece SET bytes = zeroblob(2000) WHERE value = "
        + "(SELECT id FROM value WHERE digest = ?)", .blob(try PhotoReplica.value(2).digest))
    try damaging.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaging.close()
    let administration = try Administration(folder: world.test.folder)
    defer { administration.close() }
    struct Killed: Error {}
    var transactions = 0
    let rescue = ValueRescue(
      tables: SQLiteValueTables(connection: administration.connection, zone: world.zone),
      milliseconds: Administration.hostMilliseconds
    ) { body in
      transactions += 1
      if transactions == 2 { throw Killed() }
      try body()
    }
    let value = try PhotoReplica.value(3)
    #expect(throws: Killed.self) { try rescue.take(value) { _ in PhotoReplica.photo(3) } }
    var asked = 0
    #expect(
      try rescue.take(value) { _ in
        asked += 1
        return PhotoReplica.photo(3)
      })
    #expect(asked == 0, "its bytes were here")
    var taken = Self.two
    (taken.values, taken.damaged) = (NamedValues(count: 0, bytes: 0), 1)
    #expect(try world.take() == [taken])
    _ = try await world.storage.refill(world.lost, of: world.zone)
    #expect(try await Self.lost(world.zone, world.storage) == [PhotoReplica.value(2)])
  }

  #if PostgreSQL
    @Test("A database takes them from a backup of the tables that were there before")
    func postgres() async throws {
      let directory = try TemporaryDirectory()
      let world = try PostgresWorld()
      try await world.boxes.show(1, to: world.storage, world.zone)
      let backup = Backup(directory.file("older.sqlite"))
      _ = try backup.make(ofPostgres: world.database)
      let place = LogMark(sequence: try world.zone.head, chain: try world.zone.chain)
      for seed in [2, 3] as [UInt8] {
        try await world.boxes.show(seed, to: world.storage, world.zone)
      }
      let lost = try await Self.refills(of: world.zone, after: place, from: world.storage)
      let newer = directory.file("newer.sqlite")
      _ = try Backup(newer).make(ofPostgres: world.database)
      let database = try PostgresCluster.shared().place()
      _ = try backup.restore(toPostgres: database)
      let restored = try PostgresWorld(database: database)
      _ = try await restored.storage.refill(lost, of: restored.zone)
      #expect(try await Self.lost(restored.zone, restored.storage).count == 2)
      let taken = try restored.administration.takeValues(from: newer, zone: nil, isDryRun: false)
      #expect(taken == [Self.two])
      #expect(try await Self.lost(restored.zone, restored.storage) == [])
      let bytes = try await restored.storage.value(
        PhotoReplica.value(3).digest, of: restored.zone, first: 0, count: 2_000)
      #expect(bytes == PhotoReplica.photo(3))
      try restored.expectWhole()
    }
  #endif
}
