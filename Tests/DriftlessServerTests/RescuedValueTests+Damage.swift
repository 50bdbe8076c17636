import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What a file has damaged, and what others do while values are taken from it.
extension RescuedValueTests {
  private static func damage(
    _ file: URL, _ body: (SQLiteConnection) throws -> Void
  ) throws {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    try body(connection)
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private static func row(_ seed: UInt8, _ connection: SQLiteConnection) throws -> Int64 {
    let id = try connection.scalar(
      "SELECT id FROM value WHERE digest = ?", .blob(try PhotoReplica.value(seed).digest))
    guard case .integer(let id)? = id else { return 0 }
    return id
  }

  private static func taken(_ count: Int64, damaged: Int) -> TakenValues {
    TakenValues(
      zone: "shop", values: NamedValues(count: count, bytes: count * 2_000), damaged: damaged)
  }

  @Test("A piece of another size than servers write is damage, whatever all of them come to")
  func pieces() async throws {
    let world = try await World()
    defer { world.storage.close() }
    try Self.damage(#require(world.restored.before)) { file in
      let (long, cut) = (try Self.row(2, file), try Self.row(3, file))
      try file.execute("UPDATE value_piece SET bytes = zeroblob(2001) WHERE value = \(long)")
      try file.execute(
        """
        INSERT INTO value_piece
          SELECT value, 1000, substr(bytes, 1001) FROM value_piece WHERE value = \(cut);
        UPDATE value_piece SET bytes = substr(bytes, 1, 1000) WHERE value = \(cut) AND first = 0
        """)
    }
    #expect(try world.take() == [Self.taken(0, damaged: 2)])
    // Nothing of them is left here.
    try world.administering { administration throws in
      #expect(
        try administration.connection.integer(
          "SELECT count(*) FROM value WHERE zone > 0 AND replica <> x''") == 0)
    }
  }

  @Test(
    "What is here of a value and could never become whole is begun anew", arguments: [3_000, 700])
  func misfit(held: Int) async throws {
    let world = try await World()
    defer { world.storage.close() }
    struct Killed: Error {}
    try world.administering { administration throws in
      var transactions = 0
      let rescue = world.rescue(administration) { body in
        transactions += 1
        if transactions == 2 { throw Killed() }
        try body()
      }
      #expect(throws: Killed.self) {
        try rescue.take(PhotoReplica.value(3)) { _ in PhotoReplica.photo(3) }
      }
      try administration.connection.execute(
        "UPDATE value SET held = \(held) WHERE replica <> x'' AND zone > 0")
    }
    #expect(try world.take() == [Self.taken(2, damaged: 0)])
  }

  @Test("Pages that cannot be read cost the values that lie there")
  func pages() async throws {
    let world = try await World()
    defer { world.storage.close() }
    let file = try #require(world.restored.before)
    var offset: Int64 = 0
    try Self.damage(file) { connection in
      let page = try #require(
        try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'value_piece'"))
      offset = (page - 1) * (try connection.integer("PRAGMA page_size") ?? 0)
    }
    let handle = try FileHandle(forWritingTo: file)
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data(repeating: 0xff, count: 100))
    try handle.close()
    #expect(try world.take() == [Self.taken(0, damaged: 2)])
  }

  @Test("A value that the zone has in another length stops no other")
  func length() async throws {
    let world = try await World()
    defer { world.storage.close() }
    try Self.damage(#require(world.restored.before)) { file in
      try file.execute("UPDATE value SET length = 1999 WHERE id = \(Self.row(1, file))")
      // And a row that names none is passed over.
      try file.execute("UPDATE value SET length = 1 WHERE id = \(Self.row(2, file))")
    }
    #expect(try world.take(isDryRun: true) == [Self.taken(1, damaged: 2)])
    #expect(try world.take() == [Self.taken(1, damaged: 2)])
  }

  @Test("What is taken goes into no other zone that has the number by then")
  func deleted() async throws {
    let world = try await World()
    defer { world.storage.close() }
    try world.administering { administration throws in
      let rescue = world.rescue(administration) { try $0() }
      var new: ZoneRecord?
      let refused = #expect(throws: ServerError.self) {
        try rescue.take(PhotoReplica.value(3)) { _ in
          try administration.deleteZone("shop")
          new = try administration.createZone("shop")
          // As a program of before gave numbers.
          try administration.connection.execute("UPDATE zone SET id = \(world.zone.id)")
          return PhotoReplica.photo(3)
        }
      }
      #expect(refused?.code == .noZone)
      #expect(new != nil && new?.id != world.zone.id)
      #expect(try administration.connection.integer("SELECT count(*) FROM value") == 0)
    }
  }

  @Test("Others have their turn behind each transaction; bytes are read before it begins")
  func turns() async throws {
    let world = try await World()
    defer { world.storage.close() }
    try world.administering { administration throws in
      var (isWriting, turns) = (false, [Int]())
      var rescue = world.rescue(administration) { body in
        isWriting = true
        defer { isWriting = false }
        try body()
      }
      rescue.giveWay = {
        #expect(!isWriting)
        turns.append($0)
      }
      let isTaken = try rescue.take(PhotoReplica.value(3)) { _ in
        #expect(!isWriting)
        return PhotoReplica.photo(3)
      }
      #expect(isTaken)
      #expect(turns == [2_000, 0])
    }
  }

  @Test("Where there is no room for all that is lacked, nothing is begun")
  func room() async throws {
    let world = try await World()
    defer { world.storage.close() }
    let file = try #require(world.restored.before)
    try world.administering { administration throws in
      func take(_ free: Int) throws -> Int64 {
        try administration.takeValues(from: file, zone: nil, isDryRun: false, freeBytes: free)
          .reduce(0) { $0 + $1.values.count }
      }
      let refused = #expect(throws: ServerError.self) { try take(3_999) }
      #expect(refused?.code == .diskFull)
      #expect(try administration.connection.integer("SELECT count(*) FROM value") == 1)
      #expect(try take(1 << 20) == 2)
      #expect(try take(0) == 0, "there is nothing to take")
    }
  }

  @Test(
    "The served database is refused by whatever name; what restore put aside is taken by a link")
  func names() async throws {
    let world = try await World()
    defer { world.storage.close() }
    let database = world.test.folder.database.path
    let (soft, hard) = (world.test.directory.file("soft"), world.test.directory.file("hard"))
    try #require(symlink(database, soft.path) == 0 && link(database, hard.path) == 0)
    for file in [world.test.folder.database, soft, hard] {
      let refused = #expect(throws: ServerError.self) { try world.take(file) }
      #expect(refused?.message.contains("itself") == true, "\(String(describing: refused))")
    }
    let aside = world.test.directory.file("aside")
    try #require(symlink(#require(world.restored.before).path, aside.path) == 0)
    #expect(try world.take(aside) == [Self.taken(2, damaged: 0)])
  }

  @Test("Values that the zone has and nothing names stay 30 days from the last command on")
  func leases() async throws {
    let world = try await World()
    defer { world.storage.close() }
    _ = try world.take()
    func lease() throws -> Int64 {
      try world.administering {
        try $0.connection.integer("SELECT min(lease_ms) FROM value WHERE lease_ms < \(Int64.max)")
      } ?? 0
    }
    try world.administering {
      try $0.connection.execute("UPDATE value SET lease_ms = min(lease_ms, 5)")
    }
    #expect(try lease() == 5)
    try world.administering {
      try $0.connection.execute(
        "UPDATE value SET lease_ms = \(Int64.max) WHERE EXISTS "
          + "(SELECT 1 FROM value_use WHERE value_use.digest = value.digest)")
    }
    #expect(try world.take().map(\.values.count) == [0])
    #expect(try lease() > Administration.hostMilliseconds + 29 * 86_400_000)
  }

  #if PostgreSQL
    @Test("What is taken goes into no other zone of a database that has the number by then")
    func deletedInPostgres() throws {
      let world = try PostgresWorld()
      let former = try world.zone
      try world.administration.deleteZone("shop")
      #expect(try world.administration.createZone("shop").id != former.id)
      // As a program of before gave numbers.
      try world.administration.connection.run("UPDATE zone SET id = $1", .integer(former.id))
      let rescue = ValueRescue(
        tables: PostgresValueTables(world.administration.connection, former), milliseconds: 1
      ) { try $0() }
      let refused = #expect(throws: ServerError.self) {
        try rescue.take(PhotoReplica.value(3)) { _ in PhotoReplica.photo(3) }
      }
      #expect(refused?.code == .noZone)
      #expect(try world.count("value") == 0)
    }
  #endif
}
