import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// A status costs the same however much is pending, and says so where it did not count all.
struct StatusBoundTests {
  @Test("Of what is pending so many changes are counted, and of more it says that there are more")
  func bound() async throws {
    let world = try await World(1)
    let replica = world[0]
    for number in 0..<30 { try replica.insert("Item", ["title": .string("item \(number)")]) }
    func pending(_ changesMax: Int) throws -> SyncStatus.Pending {
      try SyncEngine.status(of: replica.store, changesMax: changesMax).pending
    }
    let all = try pending(30)
    #expect(all.objects == 30 && all.transactions == 30 && !all.hasMore)
    let some = try pending(10)
    #expect(some.objects == 10 && some.transactions == 10 && some.hasMore && !some.isEmpty)
    #expect(try replica.status.pending == all)
    #expect(try !SyncEngine.status(of: replica.store, changesMax: 10).isCurrent)
    let none = try pending(0)
    #expect(none.objects == 0 && none.hasMore && !none.isEmpty)
    try await replica.sync()
    #expect(try pending(0) == SyncStatus.Pending())
    #expect(try SyncEngine.status(of: replica.store, changesMax: 0).isCurrent)
  }

  @Test("What an import left pending of objects counts among them")
  func states() async throws {
    let world = try await World(2)
    var items: [UUID] = []
    for number in 0..<6 {
      items.append(try world[0].insert("Item", ["title": .string("item \(number)")]))
    }
    try await world.settle()
    for item in items {
      try world[1].set(item, ["stock": .integer(1)])
      try world[0].set(item, ["title": .string("new")])
    }
    try await world[0].sync()
    try await world[1].pull()
    let some = try SyncEngine.status(of: world[1].store, changesMax: 4).pending
    #expect(some.objects == 4 && some.hasMore)
    let all = try SyncEngine.status(of: world[1].store, changesMax: 100).pending
    #expect(all.objects == 6 && !all.hasMore)
  }

  @Test("A status of a program of before, which counted all, is read")
  func before() throws {
    let text = #"{"objects":3,"properties":4,"transactions":1}"#
    let read = try JSONDecoder().decode(SyncStatus.Pending.self, from: Data(text.utf8))
    #expect(read == SyncStatus.Pending(objects: 3, properties: 4, transactions: 1))
  }

  @Test("A replica goes by the name that it was given, and else by its host's")
  func name() async throws {
    let world = try await World(1)
    let store = world[0].store
    #expect(try SyncEngine.name(of: store) == nil)
    #expect(try world[0].status.name == ReplicaName.ofHost?.text)
    try SyncEngine.setName(ReplicaName(" till 3 "), of: store)
    #expect(try world[0].status.name == "till 3")
    #expect(try world[0].status.pending.isEmpty, "it is nothing to push")
    #expect(try SyncEngine.check(store).findings == [])
    try SyncEngine.setName(nil, of: store)
    #expect(try SyncEngine.name(of: store) == nil)
  }

  @Test(
    "What is no line of text, or too long, is no name",
    arguments: ["", "  ", "a\nb", "a\u{0}b", "a\u{202e}b", String(repeating: "x", count: 101)])
  func noName(_ text: String) {
    #expect(ReplicaName(text) == nil)
  }

  @Test("A name survives the header", arguments: ["till-3", "Kasse 3 / Süd", "100 % 店"])
  func header(_ text: String) throws {
    let name = try #require(ReplicaName(text))
    #expect(ReplicaName(field: name.fieldValue) == name)
    #expect(name.fieldValue.utf8.allSatisfy { $0 > 32 && $0 < 127 })
  }
}
