import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Synchronization
import Testing

@testable import DriftlessServer

/// Large values of a zone whose log is shortened: what its snapshot names stays, and what only purged entries named goes.
@Suite("Large values of a purged log")
struct PurgedValueTests {
  /// A zone whose boxes have photos, one entry each time that one gets another.
  private final class Boxes {
    private static let day: Int64 = 86_400_000
    let zone: TestZone
    private let clock: Clock
    private var replica = PhotoReplica()

    /// The server's clock.
    private final class Clock: Sendable {
      let milliseconds = Mutex(Int64(Date().timeIntervalSince1970 * 1000))
    }

    init() throws {
      let clock = Clock()
      self.clock = clock
      var limits = ServerLimits()
      limits.valueBytesMax = 1 << 20
      zone = try TestZone(limits: limits, now: { clock.milliseconds.withLock { $0 } })
    }

    func pass(days: Int64) { clock.milliseconds.withLock { $0 += days * Self.day } }

    static func value(_ seed: UInt8) throws -> LargeValue { try PhotoReplica.value(seed) }

    func send(_ seed: UInt8) async throws {
      try await replica.send(seed, to: zone.storage, zone.zone())
    }

    /// A new box with a photo, or one that there is with another photo.
    func show(_ seed: UInt8, in box: UInt64? = nil) async throws {
      try await replica.show(seed, in: box, to: zone.storage, zone.zone())
    }

    func administering<Value>(_ body: (Administration) throws -> Value) throws -> Value {
      let administration = try Administration(folder: zone.folder)
      defer { administration.close() }
      return try body(administration)
    }

    @discardableResult
    func purge(byHostBehind days: Int64 = 0) throws -> UInt64 {
      let options = PurgeOptions(keepDays: 0, replicaDays: 0, isTried: true)
      let now = clock.milliseconds.withLock { $0 } + 10_000 - days * Self.day
      return try administering { try $0.purgeZone("shop", options, at: now).floor }
    }

    func damage() throws -> [String] {
      try administering { try $0.verify().damage.map(\.message) }
    }

    func there(_ seeds: ClosedRange<UInt8>) async throws -> [UInt8] {
      let now = try await zone.zone()
      var found: [UInt8] = []
      for seed in seeds
      where try await zone.storage.missing([Self.value(seed)], in: now).isEmpty {
        found.append(seed)
      }
      return found
    }

    func sql(_ text: String) throws {
      let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
      defer { connection.close() }
      try connection.execute(text)
    }

    func uses() throws -> [Int64] {
      let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
      defer { connection.close() }
      return try connection.rows("SELECT sequence FROM value_use ORDER BY sequence").compactMap {
        if case .integer(let sequence) = $0[0] { sequence } else { nil }
      }
    }
  }

  @Test(
    "A host whose clock is behind gives leases by the server's time: of a purge, and of a renewal")
  func behind() async throws {
    let boxes = try Boxes()
    try await boxes.show(1)
    boxes.pass(days: 30)
    try await boxes.show(2, in: 1)
    try await boxes.show(3)
    try await boxes.zone.storage.checkReady(bytes: 1)
    #expect(try boxes.purge(byHostBehind: 20) > 0)
    boxes.pass(days: 6)
    await boxes.zone.storage.letGoOfForgotten()
    #expect(try await boxes.there(1...3) == [1, 2, 3])
    boxes.pass(days: 2)
    await boxes.zone.storage.letGoOfForgotten()
    #expect(try await boxes.there(1...3) == [2, 3])
    try await boxes.zone.storage.checkReady(bytes: 1)
    _ = try boxes.administering { try $0.renewZone("shop", intent: .offer) }
    boxes.pass(days: 6)
    await boxes.zone.storage.letGoOfForgotten()
    #expect(try await boxes.there(2...3) == [2, 3])
  }

  @Test(
    "A value whose row is gone is named by verify, told as lost, and whole again when it is sent",
    arguments: [true, false])
  func gone(isPurged: Bool) async throws {
    let boxes = try Boxes()
    for seed in 1...3 as ClosedRange<UInt8> { try await boxes.show(seed) }
    // The snapshot of a purge may be all that names it.
    if isPurged { #expect(try boxes.purge() == 2) }
    let value = try Boxes.value(2)
    let storage = boxes.zone.storage
    try boxes.sql("DELETE FROM value WHERE digest = x'\(value.name)'")
    #expect(try boxes.damage().count == 1)
    let zone = try await boxes.zone.zone()
    let missed = await #expect(throws: ServerError.self) {
      try await storage.value(value.digest, of: zone, first: 0, count: 9)
    }
    #expect(missed?.code.name == "no-value")
    #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [value])
    #expect(try boxes.damage() == [])
    try await boxes.send(2)
    #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [])
    #expect(try await boxes.there(2...2) == [2])
    #expect(try boxes.damage() == [])
    try boxes.sql("DELETE FROM value WHERE digest = x'\(value.name)'")
    await storage.noteGoneValues()
    #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [value])
  }

  @Test("Who reads a value that is gone hears it, whether that can be noted or not")
  func unnoted() async throws {
    let boxes = try Boxes()
    try await boxes.show(1)
    let value = try Boxes.value(1)
    let (storage, zone) = (boxes.zone.storage, try await boxes.zone.zone())
    try boxes.sql("DELETE FROM value")
    try boxes.sql(
      "CREATE TRIGGER nothing_noted BEFORE INSERT ON value_lost BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    let missed = await #expect(throws: ServerError.self) {
      try await storage.value(value.digest, of: zone, first: 0, count: 9)
    }
    #expect(missed?.code.name == "no-value")
    try boxes.sql("DROP TRIGGER nothing_noted")
    #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [])
    await storage.noteGoneValues()
    #expect(try await storage.lostValues(of: zone, after: Data(), countMax: 9) == [value])
  }

  @Test("An entry that cannot be read hides none of the values that others name")
  func unreadable() async throws {
    let boxes = try Boxes()
    for seed in 1...4 as ClosedRange<UInt8> { try await boxes.show(seed) }
    // Named by the entry that is damaged, and by another one.
    try await boxes.show(1, in: 2)
    let values = try (1...4).map { try Boxes.value($0) }
    let first = try #require(values.dropFirst().min())
    let sequence = try #require(values.firstIndex(of: first)) + 1
    try boxes.sql("DELETE FROM value")
    try boxes.sql("UPDATE log SET body = x'00' WHERE position & 1099511627775 IN (1, \(sequence))")
    await boxes.zone.storage.noteGoneValues()
    let lost = try await boxes.zone.storage.lostValues(
      of: boxes.zone.zone(), after: Data(), countMax: 9)
    #expect(lost == values.filter { $0 != first }.sorted())
  }

  @Test("While a server runs, a host whose clock is a year ahead gives no leases of a year")
  func ahead() async throws {
    let boxes = try Boxes()
    try await boxes.show(1)
    try await boxes.show(2, in: 1)
    try await boxes.show(3)
    try await boxes.zone.storage.checkReady(bytes: 1)
    let serving = try boxes.zone.folder.lockForServing()
    defer { serving.release() }
    #expect(try boxes.purge(byHostBehind: -365) > 0)
    boxes.pass(days: 7)
    await boxes.zone.storage.letGoOfForgotten()
    #expect(try await boxes.there(1...3) == [1, 2, 3])
    boxes.pass(days: 2)
    await boxes.zone.storage.letGoOfForgotten()
    #expect(try await boxes.there(1...3) == [2, 3])
  }

  @Test(
    "A lease begins by no clock that is behind, and by none that is far ahead of a server that runs"
  )
  func leases() {
    let day: Int64 = 86_400_000
    func begin(_ host: Int64, isServed: Bool) -> Int64 {
      LeaseTime.of(host: host * day, given: 1000 * day, isServed: isServed) / day
    }
    #expect(begin(900, isServed: true) == 1000 && begin(900, isServed: false) == 1000)
    #expect(begin(1001, isServed: true) == 1001)
    #expect(begin(1365, isServed: true) == 1001)
    #expect(begin(1365, isServed: false) == 1365, "the server was off for long")
    #expect(LeaseTime.of(host: 7, given: 0, isServed: true) == 7)
  }

  @Test("What the snapshot names stays, what only purged entries named goes when its lease ends")
  func stays() async throws {
    let boxes = try Boxes()
    try await boxes.show(1)
    try await boxes.show(2, in: 1)
    try await boxes.show(3)
    try await boxes.show(4)
    #expect(try boxes.purge() == 3)
    #expect(try boxes.uses() == [0, 0, 0, 4], "the snapshot at the head names three")
    #expect(try boxes.damage() == [])
    #expect(try await boxes.there(1...4) == [1, 2, 3, 4], "a replica may be about to fetch it")
    boxes.pass(days: 8)
    try await boxes.send(9)
    #expect(try await boxes.there(1...4) == [2, 3, 4])
    let now = try await boxes.zone.zone()
    let kept = try #require(try await boxes.zone.storage.keptSnapshot(of: now))
    var bytes: [String: Data] = [:]
    for file in kept.files {
      bytes[file.name] = try await boxes.zone.storage.segment(
        file.name, of: now, first: 0, count: file.bytes)
    }
    let named = try PurgeCheck.values(of: kept) { try #require(bytes[$0.name]) }
    #expect(try Set(named) == Set([2, 3, 4].map { try Boxes.value($0) }))
    for value in named {
      let piece = try await boxes.zone.storage.value(value.digest, of: now, first: 0, count: 9)
      #expect(piece.count == 9)
    }
  }

  @Test("The next purge lets go of what only the snapshot before it named")
  func again() async throws {
    let boxes = try Boxes()
    for seed in 1...3 as ClosedRange<UInt8> { try await boxes.show(seed) }
    #expect(try boxes.purge() == 2)
    try await boxes.show(4, in: 1)
    try await boxes.show(5, in: 2)
    #expect(try boxes.purge() == 4)
    #expect(try boxes.damage() == [])
    boxes.pass(days: 8)
    try await boxes.send(9)
    #expect(try await boxes.there(1...5) == [3, 4, 5])
  }

  @Test("A purge that was killed before it let go of values goes on")
  func killed() async throws {
    let boxes = try Boxes()
    for seed in 1...3 as ClosedRange<UInt8> { try await boxes.show(seed) }
    try boxes.purge()
    try boxes.sql("INSERT INTO value_use VALUES(1, x'\(try Boxes.value(1).name)', 1)")
    #expect(try boxes.uses().contains(1))
    try boxes.purge()
    #expect(try boxes.uses() == [0, 0, 0, 3])
  }

  @Test("verify finds a value that the snapshot names and that is not kept for it")
  func verified() async throws {
    let boxes = try Boxes()
    for seed in 1...2 as ClosedRange<UInt8> { try await boxes.show(seed) }
    try boxes.purge()
    let name = try Boxes.value(1).name
    try boxes.sql("DELETE FROM value_use WHERE sequence = 0 AND digest = x'\(name)'")
    #expect(try boxes.damage().contains { $0.contains(name) })
  }

  @Test("A zone that begins anew after a purge names nothing")
  func renewed() async throws {
    let boxes = try Boxes()
    for seed in 1...2 as ClosedRange<UInt8> { try await boxes.show(seed) }
    try boxes.purge()
    try boxes.administering { _ = try $0.renewZone("shop", intent: .offer) }
    #expect(try boxes.uses() == [])
    #expect(try await boxes.there(1...2) == [1, 2])
  }
}
