import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas whose models differ in what an attribute can hold.
struct OtherTypeTests {
  private func model(
    _ type: AttributeType, _ change: (AttributeDescription) -> Void = { _ in }
  ) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let size = AttributeDescription("size", type)
    change(size)
    thing.properties = [size, AttributeDescription("note", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "A value of another type is set aside until something newer is set, whatever else is edited")
  func otherType() async throws {
    let (texts, numbers) = try await TestReplica.pair(model(.string), model(.integer32))
    let one = try texts.insert("Thing", ["note": .string("1")])
    let two = try texts.insert("Thing", ["note": .string("2")])
    try await texts.sync()
    try await numbers.sync()
    try texts.write { transaction in
      for (id, text) in [(one, "seven"), (two, "eight")] {
        let key = try #require(try transaction.key(of: id))
        var row = try #require(try transaction.row(key)).values
        let slot = try #require(
          texts.store.model.entitiesByName["Thing"]?.layout.index(named: "size"))
        row[slot] = .string(text)
        try transaction.update(key, PropertyMask([slot]), values: row, expectedVersion: nil)
      }
    }
    try await texts.sync()
    try await numbers.sync()
    func parked() throws -> Set<UUID> {
      let parked = try SyncEngine.parked(of: numbers.store)
      #expect(parked.allSatisfy { $0.code == "invalid-value" && $0.property == "size" })
      #expect(parked.allSatisfy { $0.reason.contains("not of type") })
      return Set(parked.compactMap(\.object))
    }
    #expect(try parked() == [one, two])
    #expect(try numbers.value(one, "size") == .null)
    #expect(try SyncEngine.retryParked(of: numbers.store) == 2)
    try await numbers.sync()
    #expect(try parked() == [one, two])
    // They came in one entry, and each has a number of its own all the same.
    let listed = try SyncEngine.parked(of: numbers.store)
    let parts = try listed.map { try #require($0.part) }
    #expect(Set(listed.map(\.sequence)).count == 1 && Set(parts).count == 2)
    #expect(listed.map(\.number) == listed.map { "\($0.sequence).\($0.part ?? 0)" })
    let sequence = try #require(listed.first?.sequence)
    func accepted() throws -> [Bool] {
      try SyncEngine.parked(of: numbers.store).map(\.isAccepted)
    }
    #expect(try SyncEngine.acceptParked(of: numbers.store, sequence: sequence, part: parts[1]) == 1)
    #expect(try accepted() == [false, true])
    #expect(try SyncEngine.acceptParked(of: numbers.store, sequence: sequence) == 2)
    #expect(try accepted() == [true, true])
    #expect(try SyncEngine.retryParked(of: numbers.store, sequence: sequence) == 2)
    #expect(try accepted() == [false, false])
    try SyncEngine.acceptParked(of: numbers.store, sequence: sequence, part: parts[0])
    #expect(try SyncEngine.retryParked(of: numbers.store, sequence: sequence, part: parts[0]) == 1)
    #expect(try accepted() == [false, false])
    #expect(throws: SyncError.self) {
      try SyncEngine.retryParked(of: numbers.store, sequence: sequence, part: 3)
    }
    // A newer value of one leaves the other's.
    try texts.set(one, ["size": .string("nine")])
    try await texts.sync()
    try await numbers.sync()
    #expect(try parked() == [one, two])
    try numbers.set(one, ["size": .integer(10)])
    try await numbers.sync()
    #expect(try parked() == [two])
    try await texts.sync()
    #expect(try texts.value(two, "size") == .string("eight"))
    #expect(try texts.value(one, "size") == .null)
    #expect(try SyncEngine.parked(of: texts.store).compactMap(\.object) == [one])
  }

  @Test("A new object with a value of another type comes without it")
  func insertOfOtherType() async throws {
    let (texts, numbers) = try await TestReplica.pair(
      model(.string), model(.integer32) { $0.defaultValue = .integer(3) })
    let id = try texts.insert("Thing", ["size": .string("seven"), "note": .string("n")])
    try await texts.sync()
    try await numbers.sync()
    #expect(try numbers.value(id, "size") == .integer(3))
    #expect(try numbers.value(id, "note") == .string("n"))
    #expect(try SyncEngine.parked(of: numbers.store).compactMap(\.object) == [id])
  }

  @Test("A relationship where the model has an attribute stays parked over every sync and edit")
  func otherKind() async throws {
    let thing = EntityDescription("Thing")
    thing.properties = [
      RelationshipDescription("size", to: "Thing", inverse: nil),
      AttributeDescription("note", .string),
    ]
    let (links, numbers) = try await TestReplica.pair(
      ManagedObjectModel(entities: [thing]), model(.integer32))
    let one = try links.insert("Thing", ["note": .string("1")])
    let two = try links.insert("Thing", ["note": .string("2")])
    try await links.sync()
    try await numbers.sync()
    try links.save { context in
      try #require(try context.object(withIdentity: one)).setValue(
        try context.object(withIdentity: two), forKey: "size")
    }
    try await links.sync()
    for note in ["a", "b"] {
      try await numbers.sync()
      let parked = try SyncEngine.parked(of: numbers.store)
      #expect(parked.map(\.names) == [["Thing.size"]])
      #expect(parked.first?.reason.contains("another kind") == true)
      #expect(try SyncEngine.retryParked(of: numbers.store) == 1)
      try links.set(two, ["note": .string(note)])
      try await links.sync()
    }
  }

  @Test("A text in a column of decimals that is no number is set aside, not read by its start")
  func noNumber() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let texts = try await TestReplica("texts", zone: zone, clock: clock, model: model(.string))
    let decimals = try await TestReplica(
      "decimals", zone: zone, clock: clock, model: model(.decimal))
    let wanted = ["7.50", "12x", "NaN"]
    let things = try wanted.map { try texts.insert("Thing", ["size": .string($0)]) }
    // A sender that takes its texts for decimals.
    let liar = HookedTransport(zone)
    liar.rewritten = { frame in
      var changeSet = try ChangeSetDecoder().decode(frame)
      for place in changeSet.columns.indices {
        if case .strings(let rows) = changeSet.columns[place].values {
          changeSet.columns[place].values = .decimals(rows)
        }
      }
      return try ChangeSetEncoder().encode(changeSet)
    }
    let engine = try await texts.engine(through: liar)
    _ = try? await engine.sync()
    try await decimals.sync()
    #expect(try decimals.value(things[0], "size") == .decimal(7.5))
    #expect(try decimals.value(things[1], "size") == .null)
    #expect(try decimals.value(things[2], "size") == .decimal(.nan))
    let parked = try SyncEngine.parked(of: decimals.store)
    #expect(parked.map(\.object) == [things[1]])
    #expect(parked.allSatisfy { $0.code == "invalid-value" && $0.property == "size" })
    // A store keeps what is no number, and sends it on.
    try decimals.set(things[0], ["size": .decimal(.nan)])
    try await decimals.sync()
    let third = try await TestReplica("third", zone: zone, clock: clock, model: model(.decimal))
    try await third.sync()
    #expect(try third.value(things[0], "size") == .decimal(.nan))
    #expect(try third.export == decimals.export)
  }
}
