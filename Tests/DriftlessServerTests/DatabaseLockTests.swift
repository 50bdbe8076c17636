import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// SQLite's locks are the process's, and go when it closes any descriptor of a file of the database. Then two write at once.
@Suite("A server's locks on its database")
struct DatabaseLockTests {
  @Test("They are the same after a push, a value, a copy of the log, a backup, a look")
  func kept() async throws {
    var limits = ServerLimits()
    limits.reserveBytes = 1 << 20
    limits.valueBytesMax = 1 << 20
    limits.checkpointPages = 10
    let test = try TestZone(limits: limits)
    test.storage.keepReserve()
    var photos = PhotoReplica()
    try await photos.show(1, to: test.storage, test.zone())
    let held = HeldLocks(on: test.folder.database)
    // The file's, which each connection shares, and that of the index: whoever finds none makes the index anew.
    try #require(held.locks.count >= 2)
    func expectHeld(_ after: Comment, at location: SourceLocation = #_sourceLocation) {
      #expect(held.lost == [], after, sourceLocation: location)
    }
    try await photos.show(2, to: test.storage, test.zone())
    expectHeld("a value, and a push that names it")
    for seed in 3...8 as ClosedRange<UInt8> {
      try await photos.show(seed, to: test.storage, test.zone())
    }
    expectHeld("a copy of the log")
    try await test.storage.checkReady(bytes: 1)
    expectHeld("the question whether it is ready")
    _ = try Backup(test.directory.file("copy.sqlite")).make(of: test.folder)
    expectHeld("a backup")
    _ = try DataFolder.look(at: test.folder.url)
    expectHeld("a look at the folder")
    let administration = try Administration(folder: test.folder)
    _ = try administration.verify()
    _ = try administration.createToken(zone: "shop", verbs: .read)
    administration.close()
    expectHeld("commands")
  }

  @Test(
    "A descriptor of the index that is closed would take them along, which is why none is opened")
  func taken() throws {
    let test = try TestZone()
    let held = HeldLocks(on: test.folder.database)
    close(open(test.folder.database.path + "-shm", O_RDONLY | O_CLOEXEC))
    #expect(held.lost.contains { $0.contains("-shm") })
  }

  @Test("The head of a file is read without one")
  func head() throws {
    let test = try TestZone()
    let held = HeldLocks(on: test.folder.database)
    let head = SQLiteConnection.head(ofFileAt: test.folder.database.path, bytesMax: 16)
    #expect(head == Array("SQLite format 3\0".utf8))
    #expect(held.lost == [])
    let other = test.directory.file("other")
    try Data([1, 2, 3]).write(to: other)
    #expect(SQLiteConnection.head(ofFileAt: other.path, bytesMax: 16) == [1, 2, 3])
    try Data().write(to: other)
    #expect(SQLiteConnection.head(ofFileAt: other.path, bytesMax: 16) == [])
    #expect(SQLiteConnection.head(ofFileAt: test.directory.url.path, bytesMax: 16) == nil)
    #expect(SQLiteConnection.head(ofFileAt: "/dev/null", bytesMax: 16) == nil)
    #expect(SQLiteConnection.head(ofFileAt: other.path + "-none", bytesMax: 16) == nil)
  }

  @Test("Of two that write at once none loses what it has committed")
  func writers() async throws {
    var limits = ServerLimits()
    limits.reserveBytes = 1 << 20
    let test = try TestZone(limits: limits)
    test.storage.keepReserve()
    let zone = try await test.zone()
    let path = test.folder.database.path
    // As a command's process: it has its own descriptors, and shares the index.
    async let written = blocking {
      let connection = try SQLiteConnection(path: path, mode: .readWrite)
      defer { connection.close() }
      for number in 0..<100 {
        try connection.transaction(.immediate) {
          try connection.run(
            "INSERT INTO sighting(zone, replica, cursor, token, seen_ms) VALUES(1, ?, 0, 't', ?)",
            .blob(UUID().bytes), .integer(Int64(number)))
        }
      }
    }
    var replica = TestReplica()
    for _ in 0..<100 {
      _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    }
    try await written
    #expect(try await test.zone().head == 100)
    let count = try test.storage.writer.run { try $0.integer("SELECT count(*) FROM sighting") }
    #expect(count == 100)
  }
}
