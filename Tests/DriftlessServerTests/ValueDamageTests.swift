import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import Foundation
import TestSupport
import Testing

/// Large values that a disk, or a hand, has changed can be sent again.
@Suite("Damaged large values")
struct ValueDamageTests {
  private struct World {
    let directory: TemporaryDirectory
    let folder: DataFolder
    let bytes = Data((0..<3000).map { UInt8(truncatingIfNeeded: $0) })
    let replica = UUID()

    init() throws {
      directory = try TemporaryDirectory()
      folder = try DataFolder(directory.file("data"))
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      _ = try administration.createZone("shop")
    }

    /// One whose value was kept, and is damaged since.
    ///
    /// - Parameter isNamed: Whether an entry of the log names the value.
    static func damaged(isNamed: Bool) async throws -> World {
      let world = try World()
      try await world.serving { storage, zone in
        let state = try await world.keep(world.bytes, storage, zone)
        #expect(state.isWhole)
      }
      if isNamed { try world.name() }
      try world.damage()
      return world
    }

    var value: LargeValue { get throws { try #require(LargeValue(of: bytes)) } }

    /// As a server that was started just now.
    func serving(
      valueBytesMax: Int = 1 << 20, _ body: (SQLiteZoneStorage, ZoneRecord) async throws -> Void
    ) async throws {
      var limits = ServerLimits()
      limits.valueBytesMax = valueBytesMax
      let storage = try SQLiteZoneStorage(folder: folder, limits: limits)
      defer { storage.close() }
      try await body(storage, try #require(try await storage.zone(named: "shop")))
    }

    func keep(_ bytes: Data, _ storage: SQLiteZoneStorage, _ zone: ZoneRecord) async throws
      -> ValueState
    {
      try await storage.keep(
        ValuePiece(
          value: try value, replica: replica, generation: zone.generation, first: 0, bytes: bytes),
        of: zone, token: "t")
    }

    func damage() throws {
      try sql("UPDATE value_piece SET bytes = zeroblob(length(bytes))")
    }

    /// As an entry of the log does.
    func name() throws { try sql("INSERT INTO value_use VALUES(1, x'\(value.name)', 1)") }

    func sql(_ text: String) throws {
      let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
      defer { connection.close() }
      try connection.execute(text)
    }
  }

  @Test("verify names it, a backup is made all the same, and for who reads it it is missing")
  func read() async throws {
    let world = try await World.damaged(isNamed: false)
    let value = try world.value
    let administration = try Administration(folder: world.folder)
    defer { administration.close() }
    #expect(try administration.verify().damage.map(\.place) == ["value \(value.name)"])
    _ = try Backup(world.directory.file("copy.sqlite")).make(of: world.folder)
    try await world.serving { storage, zone in
      let error = await #expect(throws: ServerError.self) {
        _ = try await storage.value(value.digest, of: zone, first: 0, count: 10)
      }
      #expect(error?.code.name == "no-value")
      #expect(try await storage.missing([value], in: zone) == [value])
      let state = try await world.keep(world.bytes, storage, zone)
      #expect(state.isWhole)
      let read = try await storage.value(value.digest, of: zone, first: 0, count: 5000)
      #expect(read == world.bytes)
    }
    #expect(try administration.verify().damage.isEmpty)
  }

  @Test(
    "What is named and not here verify names and counts, as no damage, and zone inspect counts it")
  func lacked() async throws {
    let world = try await World.damaged(isNamed: true)
    let value = try world.value
    let administration = try Administration(folder: world.folder)
    defer { administration.close() }
    #expect(try administration.verify().lacked == [])
    try await world.serving { storage, zone in
      await #expect(throws: ServerError.self) {
        _ = try await storage.value(value.digest, of: zone, first: 0, count: 10)
      }
    }
    let outcome = try administration.verify()
    #expect(
      outcome.lacked == [
        DatabaseCheck.LackedValue(zone: "shop", digest: value.name, bytes: value.length)
      ])
    #expect(outcome.lackedCount == 1)
    #expect(!outcome.damage.contains { $0.place == "value \(value.name)" })
    #expect(try administration.inspectZone("shop").lackedValues == 1)
    try await world.serving { storage, zone in _ = try await world.keep(world.bytes, storage, zone)
    }
    #expect(try administration.verify().lacked == [])
    #expect(try administration.inspectZone("shop").lackedValues == 0)
  }

  @Test("For who reads it, it is missing, whether that can be noted or not")
  func unnoted() async throws {
    let world = try await World.damaged(isNamed: true)
    let value = try world.value
    try await world.serving { storage, zone in
      try world.sql(
        "CREATE TRIGGER nothing_noted BEFORE INSERT ON value_lost BEGIN SELECT RAISE(ABORT, 'full'); END"
      )
      for _ in 0..<2 {
        let error = await #expect(throws: ServerError.self) {
          _ = try await storage.value(value.digest, of: zone, first: 0, count: 10)
        }
        #expect(error?.code.name == "no-value")
      }
    }
  }

  @Test("Who sends it is told to, and it is whole again")
  func sent() async throws {
    let world = try await World.damaged(isNamed: false)
    try await world.serving { storage, zone in
      let asked = try await world.keep(Data(), storage, zone)
      #expect(asked == ValueState(held: 0, isWhole: false))
      let sent = try await world.keep(world.bytes, storage, zone)
      #expect(sent.isWhole)
    }
  }

  @Test("A damaged value that the log names is told as lost until somebody sends it")
  func lost() async throws {
    let world = try await World.damaged(isNamed: true)
    let value = try world.value
    func mark(_ storage: SQLiteZoneStorage, _ zone: ZoneRecord) async throws -> String? {
      try await storage.page(
        of: zone,
        PageRequest(
          after: Cursor.start(generation: zone.generation).mark, bytesMax: 1, entriesMax: 1)
      ).lostValues
    }
    try await world.serving { storage, zone in
      #expect(try await mark(storage, zone) == nil, "nobody has looked at it")
      await #expect(throws: ServerError.self) {
        _ = try await storage.value(value.digest, of: zone, first: 0, count: 10)
      }
      let first = try #require(try await mark(storage, zone))
      #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [value])
      #expect(try await storage.lostValues(of: zone, after: value.digest, countMax: 9) == [])
      #expect(try await storage.look(from: "", count: 9).lostValues == 1)
      _ = try await world.keep(world.bytes, storage, zone)
      #expect(try await mark(storage, zone) == nil)
      #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [])
      try world.damage()
      try await world.serving { other, _ in
        await #expect(throws: ServerError.self) {
          _ = try await other.value(value.digest, of: zone, first: 0, count: 10)
        }
      }
      #expect(try await mark(storage, zone) != first, "it was lost once more")
    }
  }

  @Test(
    "A named value that is lost is taken back whatever the limit is by now", arguments: [0, 100])
  func takenBack(valueBytesMax: Int) async throws {
    let world = try await World.damaged(isNamed: true)
    let value = try world.value
    try await world.serving(valueBytesMax: valueBytesMax) { storage, zone in
      await #expect(throws: ServerError.self) {
        _ = try await storage.value(value.digest, of: zone, first: 0, count: 10)
      }
      let state = try await world.keep(world.bytes, storage, zone)
      #expect(state.isWhole)
      let missing = try await storage.missing([value], in: zone)
      #expect(missing.isEmpty)
    }
  }

  @Test("Limits where 0 has a meaning take it, and others do not")
  func zero() throws {
    let limits = try ServerLimits(json: Data(#"{"valueBytesMax": 0, "databaseBytesMax": 0}"#.utf8))
    #expect(limits == ServerLimits())
    #expect(throws: ServerError.self) {
      try ServerLimits(json: Data(#"{"watchSeconds": 0}"#.utf8))
    }
  }
}
