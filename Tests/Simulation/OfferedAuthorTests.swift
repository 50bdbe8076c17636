import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Who made an edit is told also where another replica offers it to a zone that lost it.
struct OfferedAuthorTests {
  /// The authors of the transactions that a change set tells, by their times.
  private func authors(_ frames: some Sequence<Data>) throws -> [UInt64: String?] {
    var authors: [UInt64: String?] = [:]
    for frame in frames {
      let (_, index) = try ChangeSetDecoder().decodeIndex(frame)
      for transaction in index.transactions {
        authors[transaction.hybridTime] = .some(transaction.author)
      }
    }
    return authors
  }

  @Test("What a zone that began anew is offered has the authors of those who made it")
  func renewed() async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["email": .string("set")])
    try await stage.sync(1)
    try stage.set(0, item, ["title": .string("again")])
    try await stage.sync(0)
    try await stage.sync(1)
    let before = try authors(stage.server.frames)
    #expect(Set(before.values.compactMap { $0 }) == ["r0", "r1"])
    let count = stage.server.frames.count
    try stage.renew()
    // It made one edit of three.
    try await stage.sync(1)
    let offered = try authors(stage.server.frames.dropFirst(count))
    #expect(!offered.isEmpty)
    for (time, author) in offered { #expect(author == before[time] ?? "nobody") }
    #expect(Set(offered.values.compactMap { $0 }) == ["r0", "r1"])
    try await stage.settle()
  }

  @Test("What a server lost has its authors when the logs have parted")
  func lost() async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.server.backup()
    try stage.set(0, item, ["title": .string("lost")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["email": .string("lost too")])
    try await stage.sync(1)
    let before = try authors(stage.server.frames)
    try await stage.partLogs()
    let count = stage.server.frames.count
    try await stage.sync(1)
    let offered = try authors(stage.server.frames.dropFirst(count))
    #expect(Set(offered.values.compactMap { $0 }) == ["r0", "r1"])
    for (time, author) in offered where before[time] != nil { #expect(author == before[time]) }
    try await stage.settle()
  }

  @Test("A conflict that was settled for another's edit has that one's author when it is offered")
  func settled() async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["title": .string("loses")])
    try stage.set(0, item, ["title": .string("wins")])
    try await stage.sync(0)
    try await stage.sync(1)
    #expect(stage.value(1, item, "title") == "\"wins\"")
    let before = try authors(stage.server.frames)
    let count = stage.server.frames.count
    try stage.renew()
    try await stage.sync(1)
    let offered = try authors(stage.server.frames.dropFirst(count))
    #expect(!offered.isEmpty)
    for (time, author) in offered { #expect(author == before[time] ?? "nobody") }
    try await stage.settle()
  }

  @Test("Only the authors of what is offered are kept, not those of all of history")
  func noAuthorsOfHistory() async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    for number in 0..<20 {
      try stage.set(0, item, ["title": .string("\(number)")])
      try await stage.sync(0)
    }
    try await stage.sync(1)
    let host = stage.hosts[1]
    func count() throws -> Int64 {
      try host.store.read { try $0.connection.number("SELECT count(*) FROM ZDL_ORIGIN") }
    }
    try stage.server.backup()
    try stage.renew()
    _ = try await host.engine.pull()
    // The making, and the last edit.
    #expect(try count() == 2)
    try await stage.settle()
    #expect(try count() == 0)
    for number in 20..<40 {
      try stage.set(0, item, ["title": .string("\(number)")])
      try await stage.sync(0)
    }
    try await stage.sync(1)
    stage.clock.advance(milliseconds: 90_000_000)
    try await stage.partLogs()
    _ = try await host.engine.pull()
    #expect(try count() <= 2)
  }

  @Test("What a revival tells of others' edits has their authors")
  func revived() async throws {
    let stage = try await Stage(.sqlite, model: RenewedZoneSequenceTests.model())
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    try await stage.settle()
    try stage.set(2, item, ["email": .string("set")])
    try await stage.settle()
    try stage.set(1, item, ["done": .bool(true)])
    try stage.delete(0, item)
    try await stage.sync(0)
    let count = stage.server.frames.count
    try await stage.sync(1)
    #expect(
      Set(try authors(stage.server.frames.dropFirst(count)).values) == ["r0", "r1", "r2"])
    try await stage.settle()
  }
}
