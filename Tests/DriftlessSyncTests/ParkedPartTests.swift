import Driftless
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// What a person is shown as a part of what is set aside is what a command is about, whatever becomes of its neighbours.
struct ParkedPartTests {
  /// A replica on which two values of one entry are set aside, and one whose model holds both.
  private struct TwoParts {
    let texts: TestReplica
    let numbers: TestReplica
    let ids: [UUID]
    /// Of each, as a list shows them, in the order of the objects.
    let parts: [Int]
    let sequence: UInt64

    init() async throws {
      func model(_ type: AttributeType) -> ManagedObjectModel {
        let thing = EntityDescription("Thing")
        thing.properties = [AttributeDescription("size", type)]
        return ManagedObjectModel(entities: [thing])
      }
      (texts, numbers) = try await TestReplica.pair(model(.string), model(.integer32))
      ids = (0..<2).map { _ in UUID() }.sorted { $0.uuidString < $1.uuidString }
      let (first, second) = (ids[0], ids[1])
      try texts.save { context in
        for id in [first, second] {
          try context.insert(entityNamed: "Thing", identity: id).setValue("many", forKey: "size")
        }
      }
      try await texts.sync()
      try await numbers.sync()
      let listed = try SyncEngine.parked(of: numbers.store)
      #expect(listed.compactMap(\.object) == ids)
      parts = try listed.map { try #require($0.part) }
      sequence = try #require(listed.first?.sequence)
    }

    func accepted() throws -> [UUID: Bool] {
      Dictionary(
        uniqueKeysWithValues: try SyncEngine.parked(of: numbers.store).map {
          (try #require($0.object), $0.isAccepted)
        })
    }
  }

  @Test("A part keeps its number while others go, and one that is gone is said to be")
  func lasting() async throws {
    let world = try await TwoParts()
    let (store, ids) = (world.numbers.store, world.ids)
    try world.texts.set(ids[0], ["size": .null])
    try await world.texts.sync()
    try await world.numbers.sync()
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.acceptParked(of: store, sequence: world.sequence, part: world.parts[0])
    }
    #expect(error?.message.contains("\(world.sequence).\(world.parts[0]) ") == true)
    #expect(try world.accepted() == [ids[1]: false])
    #expect(
      try SyncEngine.acceptParked(of: store, sequence: world.sequence, part: world.parts[1]) == 1)
    #expect(try world.accepted() == [ids[1]: true])
    #expect(
      try SyncEngine.retryParked(of: store, sequence: world.sequence, part: world.parts[1]) == 1)
    #expect(try world.accepted() == [ids[1]: false])
  }

  @Test("What another process accepts in between leaves the other part what it was")
  func otherProcess() async throws {
    let world = try await TwoParts()
    let (store, ids) = (world.numbers.store, world.ids)
    let other = try PersistentStore.open(url: store.url, model: store.model)
    defer { other.close() }
    try SyncEngine.acceptParked(of: other, sequence: world.sequence, part: world.parts[0])
    #expect(try world.accepted() == [ids[0]: true, ids[1]: false])
    try SyncEngine.acceptParked(of: store, sequence: world.sequence, part: world.parts[1])
    #expect(try world.accepted() == [ids[0]: true, ids[1]: true])
    try SyncEngine.retryParked(of: other, sequence: world.sequence, part: world.parts[0])
    #expect(try world.accepted() == [ids[0]: false, ids[1]: true])
  }

  @Test("A value that is accepted is none of another log's at the same place")
  func otherLog() async throws {
    let world = try await TwoParts()
    try SyncEngine.acceptParked(of: world.numbers.store, sequence: world.sequence)
    #expect(try world.accepted().values.allSatisfy { $0 })
    _ = try world.numbers.store.write(TransactionInfo(kind: .imported)) {
      try AcceptedParking.forgetPlaces(above: world.sequence - 1, $0)
    }
    #expect(try !world.accepted().values.contains(true))
  }

  private func entry(
    _ sequence: UInt64, object: UUID? = nil, former: Int64? = nil
  ) -> ParkedEntry {
    ParkedEntry(
      sequence: sequence, sender: nil, code: object == nil ? "not-applicable" : "invalid-value",
      reason: "", names: [], object: object, property: object.map { _ in "size" }, since: Date(),
      bytes: 1, former: former)
  }

  @Test("An entry, one of a log that is gone and a value at one place are accepted each by itself")
  func neighbours() throws {
    let all = [entry(41), entry(41, former: 1), entry(41, former: 2), entry(41, object: UUID())]
    for one in all.indices {
      var accepted = AcceptedParking()
      accepted.accept(all[one])
      #expect(all.map(accepted.covers) == all.indices.map { $0 == one })
      // Of a program of before all of the place is.
      let text = #"{"names":[],"sequences":[41]}"#
      accepted = try #require(AcceptedParking.decode(text))
      #expect(all.allSatisfy(accepted.covers))
      accepted.takeBack(all[one], beside: all)
      #expect(all.map(accepted.covers) == all.indices.map { $0 != one })
    }
    #expect(Set(all.map(\.lastingPart)).count == all.count)
  }

  @Test("Of two that have one number none is taken for the other")
  func ambiguous() async throws {
    let world = try await TwoParts()
    let one = entry(41, object: UUID())
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.named(41, one.lastingPart, among: [one, one], of: world.numbers.store)
    }
    #expect(error?.suggestion == "Name all of entry 41: 41")
    #expect(try SyncEngine.named(41, nil, among: [one, one], of: world.numbers.store).count == 2)
  }
}
