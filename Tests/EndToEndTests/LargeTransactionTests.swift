import DriftlessSync
import Foundation
import TestSupport
import Testing

/// Transactions in several parts, while the server, the client or the line between them fails.
@Suite(.serialized) struct LargeTransactionTests {
  /// An engine on a replica's store that sends small parts.
  private func engine(_ replica: EmbeddedReplica) async -> SyncEngine {
    await replica.engine.close()
    var options = SyncOptions()
    options.partObjectsMax = 3
    options.pullBytesMax = 600
    return SyncEngine(store: replica.store, transport: replica.transport, options: options)
  }

  private func lines(_ replica: EmbeddedReplica) throws -> Int {
    try replica.export.split(separator: "\n").count
  }

  @Test("Killed at any write between its parts, the server has all of it or nothing, and once")
  func killedServer() async throws {
    let world = try FaultWorld()
    let (writer, reader) = (try await world.embedded("writer"), try await world.embedded("reader"))
    let (sender, receiver) = (await engine(writer), await engine(reader))
    world.server.kill()
    var (number, count) = (1, 0)
    var isOver = false
    while !isOver {
      count += 1
      try writer.addItems((0..<10).map { "\(count) \($0)" })
      var isSynced = false
      if try world.server.start((.kill, number)) { isSynced = (try? await sender.sync()) != nil }
      isOver = isSynced && world.server.isRunning
      world.server.kill()
      try world.server.start()
      _ = try await receiver.pull()
      #expect(try lines(reader) % 10 == 0, "a part of it at write \(number)")
      if isOver || count % 3 == 0 {
        _ = try await sender.sync()
        _ = try await receiver.sync()
        #expect(try reader.export == writer.export, "write \(number)")
        #expect(try lines(reader) == count * 10, "write \(number)")
      }
      world.server.kill()
      number = FileFault.next(after: number)
    }
    #expect(count > 3)
    await sender.close()
    await receiver.close()
  }

  @Test("A client that is killed again and again sends it all, and once")
  func killedClient() throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    // More than two parts of values that do not compress.
    var generator = SystemRandomNumberGenerator()
    let text = (0..<80_000).map { _ in
      String(UInt64.random(in: 0 ... .max, using: &generator), radix: 36)
    }.joined()
    try replica.importLines(
      (0..<9).map { number in
        #"{"op":"insert","entity":"Item","id":"item\#(number)","set":{"payload":"\#(text)\#(number)"}}"#
      })
    var (number, kills) = (1, 0)
    while try replica.attempt(["push"], .kill, at: number).wasKilled {
      kills += 1
      try #require(kills < 40, "it does not go on")
      number *= 2
    }
    #expect(kills > 5)
    try replica.expectSound("at the end")
    (number, kills) = (1, 0)
    while try other.attempt(["pull"], .kill, at: number).wasKilled {
      kills += 1
      try #require(kills < 40, "it does not go on")
      let items = try other.export().split(separator: "\n").count
      #expect(items == 0 || items == 9, "a part of it")
      number *= 2
    }
    #expect(kills > 3)
    for one in [replica, other] { try one.sync() }
    #expect(try other.export() == replica.export())
    #expect(try other.export().split(separator: "\n").count == 9)
    try other.expectSound("at the end")
  }

  @Test("Over a slow line that is cut again and again it goes on from where it was")
  func slowLine() async throws {
    let world = try FaultWorld()
    let relay = try FaultyRelay(to: world.server.address)
    let writer = try await world.embedded("writer", route: relay.address)
    let reader = try await world.embedded("reader")
    await writer.engine.close()
    var options = SyncOptions()
    options.partBytesMax = 20_000
    let sender = SyncEngine(store: writer.store, transport: writer.transport, options: options)
    var generator = SystemRandomNumberGenerator()
    let words = (0..<20).map { _ in
      (0..<800).map { _ in String(UInt64.random(in: 0 ... .max, using: &generator), radix: 36) }
        .joined()
    }
    try writer.addItems(words)
    // The first connections carry a part or two each.
    relay.set {
      $0 < 4 ? .cutRequest(after: 20_000) : .slow(bytesPerSecond: 80_000, piece: 4_000)
    }
    var attempts = 1
    while (try? await sender.push()) == nil {
      attempts += 1
      try #require(attempts < 20, "it does not go on")
    }
    let sent = relay.passed.reduce(0) { $0 + $1.requestBytes }
    #expect(relay.passed.count > 4)
    // Nothing but what a cut had on its way goes twice.
    #expect(sent < 20 * 800 * 13 + 4 * 20_000, "\(sent) bytes in \(attempts) attempts")
    await sender.close()
    _ = try await reader.engine.sync()
    #expect(try reader.export == writer.export)
    #expect(try lines(reader) == 20)
  }
}
