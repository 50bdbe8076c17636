import DriftlessSQLite
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@Suite("Storage in trouble")
struct StorageFaultTests {
  @Test("F10 A full database refuses a push with nothing applied, and takes one that fits")
  func full() async throws {
    var limits = ServerLimits()
    limits.databaseBytesMax = 1 << 20
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    var replica = TestReplica()
    _ = try await test.storage.append(replica.push(zone.generation, size: 1000), to: zone)
    let large = replica.push(2, zone.generation, size: 2 << 20)
    #expect(try await code { _ = try await test.storage.append(large, to: zone) } == .diskFull)
    #expect(try await test.zone().head == 1)
    let small = replica.push(2, zone.generation, size: 1000)
    #expect(try await test.storage.append(small, to: zone).sequence == 2)
  }

  @Test("F10 One push too large for the disk takes none of its group with it")
  func fullGroup() async throws {
    var limits = ServerLimits()
    limits.databaseBytesMax = 1 << 20
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    let codes = try await withThrowingTaskGroup(of: ServerError.Code?.self) { group in
      for number in 0..<20 {
        let replica = TestReplica()
        let push = replica.push(1, zone.generation, size: number == 7 ? 2 << 20 : 500)
        group.addTask { try await code { _ = try await test.storage.append(push, to: zone) } }
      }
      return try await group.reduce(into: [ServerError.Code?]()) { $0.append($1) }
    }
    #expect(codes.filter { $0 == .diskFull }.count == 1)
    #expect(codes.filter { $0 == nil }.count == 19)
    #expect(try await test.zone().head == 19)
  }

  @Test("F28 When too many pushes wait, the next is told to come back")
  func busy() async throws {
    var limits = ServerLimits()
    limits.queuedPushesMax = 1
    limits.groupPushesMax = 1
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    let codes = try await withThrowingTaskGroup(of: ServerError.Code?.self) { group in
      for _ in 0..<50 {
        let push = TestReplica().push(1, zone.generation, size: 100_000)
        group.addTask { try await code { _ = try await test.storage.append(push, to: zone) } }
      }
      return try await group.reduce(into: [ServerError.Code?]()) { $0.append($1) }
    }
    let refused = codes.filter { $0 == .busy }.count
    #expect(codes.allSatisfy { $0 == nil || $0 == .busy })
    #expect(refused > 0)
    #expect(try await test.zone().head == UInt64(50 - refused))
  }

  @Test("The write-ahead log is copied into the database when it has grown")
  func checkpoint() async throws {
    var limits = ServerLimits()
    limits.checkpointPages = 10
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    var replica = TestReplica()
    for _ in 0..<20 {
      let push = replica.push(zone.generation, size: 50_000)
      _ = try await test.storage.append(push, to: zone)
    }
    let size = try FileManager.default.attributesOfItem(atPath: test.folder.database.path)[.size]
    #expect(try #require(size as? Int) > 900_000)
  }

  @Test("While another process may write, the server does not checkpoint")
  func checkpointLock() async throws {
    var limits = ServerLimits()
    limits.checkpointPages = 10
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    let lock = try #require(try FileLock(test.folder.writeLock, .shared, waits: false))
    defer { lock.release() }
    var replica = TestReplica()
    for _ in 0..<5 {
      let push = replica.push(zone.generation, size: 100_000)
      _ = try await test.storage.append(push, to: zone)
    }
    let size = try FileManager.default.attributesOfItem(atPath: test.folder.database.path)[.size]
    #expect(try #require(size as? Int) < 400_000, "its tables alone")
  }

  @Test("A database that is damaged is refused at the start, with the name of its file")
  func damagedAtStart() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    try Administration(folder: folder).close()
    let whole = try Data(contentsOf: folder.database)
    // No database at all; then a file whose tables begin with nonsense.
    var damaged = whole
    damaged.replaceSubrange(4096..., with: Data(repeating: 0xA5, count: whole.count - 4096))
    for (bytes, what) in [
      (Data(repeating: 0x41, count: 8192), "is no database"),
      (damaged, "is damaged: its pages do not fit together"),
    ] {
      try bytes.write(to: folder.database)
      #expect(
        performing: { try SQLiteZoneStorage(folder: folder) },
        throws: { error in
          guard let error = error as? ServerError else { return false }
          return error.code == .damagedDatabase && error.message.contains(folder.database.path)
            && error.message.contains(what)
        })
    }
    try whole.write(to: folder.database)
    try SQLiteZoneStorage(folder: folder).close()
  }

  @Test("The log names SQLite's code and the file where reading fails; the client is told neither")
  func damagedWhileServing() async throws {
    try await withServer { server in
      let token = try server.token()
      let path = try DataFolder(server.data).database.path
      let connection = try SQLiteConnection(path: path, mode: .readWrite)
      try connection.execute("DROP TABLE token")
      connection.close()
      let response = try await server.request(
        "GET", "/v1/zones/shop", token: token.text)
      #expect(response.status == 500, "\(response.status)")
      #expect(server.log.text.contains("SQLite 1: no such table"), "\(server.log.text)")
      #expect(server.log.text.contains(path), "\(server.log.text)")
      #expect(!String(decoding: response.body, as: UTF8.self).contains(path))
    }
  }

  @Test("F74 A folder that a newer program wrote is refused, not damaged")
  func newer() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    try Administration(folder: folder).close()
    var bytes = try Data(contentsOf: folder.database)
    bytes[63] = 99  // The last byte of the user version in SQLite's header.
    try bytes.write(to: folder.database)
    #expect(throws: ServerError.self) { try SQLiteZoneStorage(folder: folder) }
    #expect(try Data(contentsOf: folder.database)[63] == 99)
  }
}
