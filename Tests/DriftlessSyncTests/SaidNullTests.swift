import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// A required attribute without a default of which somebody said null, as an import does of what is `"unfit"`: nobody shows a value there
/// that nobody set.
struct SaidNullTests {
  private static let values: [String: PropertyValue] = [
    "name": .string("x"), "count": .integer(1), "made": .date(Date(timeIntervalSince1970: 9)),
    "bytes": .data(Data([1])),
  ]
  private static var nulls: [String: PropertyValue] { values.mapValues { _ in .null } }

  private func model(isNewer: Bool = true) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [AttributeDescription("note", .string)]
    if isNewer {
      thing.properties += [
        AttributeDescription("name", .string, isOptional: false),
        AttributeDescription("count", .integer64, isOptional: false),
        AttributeDescription("made", .date, isOptional: false),
        AttributeDescription("bytes", .binaryData, isOptional: false),
      ]
    }
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "It is null on every replica, and each names it until it has a value", arguments: [false, true])
  func named(isUpdate: Bool) async throws {
    let world = try await World(2) { model() }
    let id = try world[0].insert("Thing", isUpdate ? Self.values : Self.nulls)
    if isUpdate {
      try await world.settle()
      try world.expectFilled()
      try world[0].set(id, Self.nulls)
    }
    try await world.settle()
    for replica in world.replicas {
      for name in Self.values.keys {
        #expect(try replica.value(id, name) == .null, "\(replica.name): \(name)")
      }
    }
    try world.expectLacking(Self.values.keys.map { "\(id.uuidString).\($0)" })
    try world[1].set(id, Self.values)
    try await world.settle()
    try world.expectFilled()
  }

  /// A model that requires a colour, and has a default for it.
  private func coloured() -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [
      AttributeDescription("note", .string),
      AttributeDescription("colour", .string, isOptional: false, defaultValue: .string("red")),
    ]
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "Where the model has a default, all show that, also who said null, and any host sets another value",
    arguments: ["red", "blue"], [false, true])
  func defaulted(colour: String, isSave: Bool) async throws {
    let world = try await World(3) { coloured() }
    let id = try world[0].insert("Thing", ["note": .string("n"), "colour": .null])
    #expect(try world[0].value(id, "colour") == .null, "nobody else has heard of it")
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.value(id, "colour") == .string("red"), "\(replica.name)")
      #expect(try replica.status.pending.isEmpty)
      #expect(try await replica.engine.verify().isEqual)
    }
    if isSave {
      try world[1].save { context in
        let object = try #require(try context.object(withIdentity: id))
        try object.setValue(colour, forKey: "colour")
      }
    } else {
      try world[1].set(id, ["colour": .string(colour)])
    }
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.value(id, "colour") == .string(colour), "\(replica.name)")
    }
  }

  /// A model that requires a colour, and has no default for it.
  private func plain() -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [
      AttributeDescription("note", .string),
      AttributeDescription("colour", .string, isOptional: false),
    ]
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "What hosts without the default list ends with a value from any host, and with the default in the model",
    arguments: [(1, "blue"), (1, "red"), (2, "blue"), (2, "red"), (-1, "red")])
  func endedElsewhere(host: Int, colour: String) async throws {
    var fleet = try await Fleet(2, plain())
    try await fleet.join(coloured(), "with default")
    let id = try fleet[0].insert("Thing", ["note": .string("n"), "colour": .null])
    for _ in 0..<2 { try await fleet.sync(0, 1, 2) }
    #expect(try fleet[0].lacking == ["\(id.uuidString).colour"])
    #expect(try fleet[1].lacking == ["\(id.uuidString).colour"])
    #expect(try fleet[2].value(id, "colour") == .string("red"))
    if host < 0 {
      for number in 0..<2 { try await fleet.migrate(number, to: coloured()) }
    } else {
      try fleet[host].set(id, ["colour": .string(colour)])
    }
    for _ in 0..<2 { try await fleet.sync(0, 1, 2) }
    try fleet.expect(.string(colour), "colour", of: id)
    try fleet.world.expectFilled()
  }

  @Test("What is sent is looked through for what it leaves empty, and no rows beside it")
  func looked() async throws {
    func work(between count: Int) async throws -> Int {
      let world = try await World(1) { model() }
      var ids: [UUID] = []
      let thing = try #require(world[0].store.model.entitiesByName["Thing"])
      let row = thing.layout.slots.map { Self.values[$0.name] ?? .null }
      try world[0].write { transaction in
        for key in try transaction.allocateKeys(thing, count: count + 2) {
          try transaction.insert(thing, key, values: row)
          let entity = world[0].store.schema.entityNumber(of: thing)
          ids.append(try transaction.identity(of: ObjectKey(entity: entity, key: key)))
        }
      }
      try await world[0].sync()
      for id in [ids[0], ids[count + 1]] { try world[0].set(id, ["name": .string("edited")]) }
      return try await world[0].statementWork { try await world[0].push() }
    }
    let (few, many) = (try await work(between: 10), try await work(between: 900))
    #expect(many < few + 500, "\(few) where 10 rows lie between, \(many) where 900 do")
  }

  @Test("Verification tells a zero that nobody set from null, and mends it")
  func verified() async throws {
    let world = try await World(2) { model() }
    let id = try world[0].insert("Thing", ["note": .string("n")])
    try await world.settle()
    try world[1].alter("UPDATE ZTHING SET ZNAME = '', ZCOUNT = 0")
    let report = try await world[1].engine.verify()
    #expect(!report.isEqual)
    #expect(
      report.differences.compactMap(\.property).sorted() == ["count", "name"],
      "\(report.differences)")
    _ = try await world[1].engine.repair()
    #expect(try world[1].value(id, "name") == .null)
    #expect(try world[1].value(id, "count") == .null)
    try await world.settle()
  }

  @Test("What a program without the attribute did not say shows a zero, and is equal to the zone")
  func unsaid() async throws {
    var fleet = try await Fleet(1, model(isNewer: false))
    let id = try fleet[0].insert("Thing", ["note": .string("n")])
    try await fleet.sync(0)
    try await fleet.join(model(), "newer")
    try await fleet.sync(1)
    #expect(try fleet[1].value(id, "name") == .string(""))
    #expect(try fleet[1].value(id, "count") == .integer(0))
    #expect(try await fleet[1].engine.verify().isEqual)
    #expect(try fleet[1].status.parked == 0)
  }
}
