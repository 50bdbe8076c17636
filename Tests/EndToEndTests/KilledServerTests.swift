import DriftlessSync
import Foundation
import TestSupport
import Testing

/// `driftless-server` ends, loses its power or finds its disk full at one change of its files after the other.
@Suite(.serialized) struct KilledServerTests {
  private struct World {
    let shared: FaultWorld
    let writer: EmbeddedReplica
    let reader: EmbeddedReplica
    var server: ServerProcess { shared.server }

    init() async throws {
      shared = try FaultWorld()
      writer = try await shared.embedded("writer")
      reader = try await shared.embedded("reader")
      shared.server.kill()
    }

    func database() throws -> String {
      let names = try FileManager.default.contentsOfDirectory(atPath: server.data.path)
      let name = names.first { $0.hasSuffix(".sqlite") || $0.hasSuffix(".db") } ?? ""
      return try SQLiteFile.integrity(of: server.data.appendingPathComponent(name))
    }
  }

  @Test(
    "F3 F4 F6 F16 Killed at any write, the server has all that it acknowledged, and nothing twice",
    arguments: [FileFault.Kind.kill, .torn, .cut, .mangled])
  func killed(kind: FileFault.Kind) async throws {
    let world = try await World()
    var (number, count) = (1, 0)
    var isOver = false
    while !isOver {
      count += 1
      try world.writer.count("item\(count)")
      var isSynced = false
      if try world.server.start((kind, number)) {
        isSynced = (try? await world.writer.engine.sync()) != nil
      }
      // A server that runs on may have been too slow for the writer: it is over when it did all of its writes.
      isOver = isSynced && world.server.isRunning
      let isAcknowledged = try world.writer.pendingObjects == 0
      world.server.kill()
      // Its recovery ends as well.
      if !isOver, count % 3 == 0 { try world.server.start((kind, 1 + count / 3)) }
      world.server.kill()
      if count % 4 == 0 || isOver || isAcknowledged {
        #expect(try world.database() == "ok", "\(kind) \(number)")
        try world.server.start()
        if isAcknowledged {
          _ = try await world.reader.engine.pull()
          #expect(try world.reader.shared == Int64(count), "acknowledged, and not there")
        }
        _ = try await world.writer.engine.sync()
        _ = try await world.reader.engine.sync()
        #expect(try world.reader.export == world.writer.export, "\(kind) \(number)")
        #expect(try world.reader.shared == Int64(count), "\(kind) \(number)")
        world.server.kill()
      }
      number = FileFault.next(after: number)
    }
    #expect(count > 3, "there were writes to be killed at")
    #expect(try world.reader.export.split(separator: "\n").count == count + 1)
  }

  @Test(
    "F10 F12 A server whose disk is full, broken or loses what it was given acknowledges nothing that it has not",
    arguments: [FileFault.Kind.full, .broken, .unsynced])
  func failingDisk(kind: FileFault.Kind) async throws {
    let world = try await World()
    var (number, count, refused) = (1, 0, 0)
    var isOver = false
    while !isOver {
      count += 1
      try world.writer.count("item\(count)")
      let isServing = try world.server.start((kind, number))
      var isAcknowledged = false
      if isServing {
        isAcknowledged = (try? await world.writer.engine.sync()) != nil
        // Its log is there to be read while nothing can be written.
        #expect(world.server.isRunning, "\(kind) \(number): it ended")
      }
      if !isAcknowledged { refused += 1 }
      world.server.kill()
      isOver = isAcknowledged
      try world.server.start()
      if isAcknowledged {
        _ = try await world.reader.engine.pull()
        #expect(try world.reader.shared == Int64(count), "\(kind) \(number)")
      }
      _ = try await world.writer.engine.sync()
      world.server.kill()
      number = FileFault.next(after: number)
    }
    #expect(refused > 2)
    try world.server.start()
    _ = try await world.reader.engine.sync()
    #expect(try world.reader.export == world.writer.export)
    #expect(try world.reader.shared == Int64(count))
    world.server.kill()
    #expect(try world.database() == "ok")
  }
}
