import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Required values of a unique key that objects of two entities of a hierarchy claim: who gets none shows none, everywhere,
/// and is named.
struct RequiredKeyTests {
  /// People with an e-mail that they must have, and employees and guests among them.
  private func model() -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("email", .string, isOptional: false),
      AttributeDescription("name", .string),
    ]
    person.uniquenessConstraints = [["email"]]
    let employee = EntityDescription("Employee")
    let guest = EntityDescription("Guest")
    person.subentities = [employee, guest]
    return ManagedObjectModel(entities: [person, employee, guest])
  }

  /// A person, and an employee and a guest who claim the same e-mail elsewhere.
  private func world() async throws -> (world: World, kept: UUID, without: [UUID]) {
    let world = try await World(3) { model() }
    let kept = try world[0].make("Person", ["email": .string("a")])
    try await world[0].sync()
    let employee = try world[1].make("Employee", ["email": .string("a"), "name": .string("e")])
    let guest = try world[2].make("Guest", ["email": .string("a"), "name": .string("g")])
    try await world.settle()
    return (world, kept, [employee, guest])
  }

  @Test("Who gets no key shows none on every replica, and is named until it has one")
  func named() async throws {
    let (world, kept, without) = try await world()
    try world.expectLacking(without.map { "\($0.uuidString).email" })
    for replica in world.replicas {
      #expect(try replica.value(kept, "email") == .string("a"))
      for id in without { #expect(try replica.value(id, "email") == .null) }
    }
    let entry = try #require(
      try SyncEngine.parked(of: world[1].store).first { $0.object == without[0] })
    #expect(entry.entity == "Employee" && entry.reason.contains("\"a\""), "\(entry.reason)")
    // An edit of something else says nothing of the key.
    try world[0].set(without[0], ["name": .string("other")])
    try await world.settle()
    try world.expectLacking(without.map { "\($0.uuidString).email" })
    for (number, id) in without.enumerated() {
      try world[number].set(id, ["email": .string("b\(number)")])
    }
    try await world.settle()
    try world.expectFilled()
    #expect(try world[2].value(without[0], "email") == .string("b0"))
  }

  @Test("What a version of before left empty is named with the next sync")
  func leftBefore() async throws {
    let (world, _, without) = try await world()
    for replica in world.replicas {
      _ = try replica.store.write(TransactionInfo(kind: .imported)) { transaction in
        try transaction.connection.execute("DELETE FROM ZDL_LACKED")
        try transaction.setSetting("sync.limits", .integer(1))
      }
      #expect(try replica.status.parked == 0)
    }
    try await world.settle()
    try world.expectLacking(without.map { "\($0.uuidString).email" })
  }

  @Test("What is named as empty costs a sync of something else nothing, however much that is")
  func many() async throws {
    func work(_ count: Int64) async throws -> Int {
      let world = try await World(2) { model() }
      let person = try world[0].make("Person", ["email": .string("a")])
      try await world.settle()
      _ = try world[1].store.write(TransactionInfo(kind: .imported)) { transaction in
        for key in 0..<count {
          try transaction.connection.execute(
            "INSERT INTO ZDL_LACKED VALUES (1, \(10_000 + key), 'email', x'', zeroblob(16), 1, 1)")
        }
      }
      return try await world[1].statementWork {
        try world[1].set(person, ["name": .string("b")])
        try await world[1].sync()
        try world[0].set(person, ["name": .string("c")])
        try await world[0].sync()
        try await world[1].sync()
      }
    }
    let (few, many) = (try await work(1000), try await work(4000))
    #expect(many * 10 < few * 11, "\(few) of a thousand, \(many) of four thousand")
  }

  @Test("A person can say that it is meant")
  func accepted() async throws {
    let (world, _, without) = try await world()
    #expect(try SyncEngine.acceptParked(of: world[0].store) == without.count)
    #expect(try world[0].status.parked == 0)
    #expect(try SyncEngine.parked(of: world[0].store).allSatisfy(\.isAccepted))
    #expect(try SyncEngine.retryParked(of: world[0].store) == without.count)
    #expect(try world[0].status.parked == without.count)
  }

  @Test("What is accepted is one property of one object, whatever else became empty with it")
  func acceptedOne() async throws {
    let world = try await World(3) { model() }
    _ = try world[0].make("Person", ["email": .string("a")])
    try await world[0].sync()
    let employee = try world[1].make("Employee", ["email": .string("a")])
    try await world[1].sync()
    try await world[0].sync()
    // As of a ring, whose last edit no entry of the log names.
    func forgetPlaces() throws {
      for replica in world.replicas {
        _ = try replica.store.write(TransactionInfo(kind: .imported)) { transaction in
          try transaction.connection.execute("UPDATE ZDL_LACKED SET sequence = 0")
        }
      }
    }
    try forgetPlaces()
    #expect(try SyncEngine.acceptParked(of: world[0].store) == 1)
    #expect(try world[0].status.parked == 0)
    let guest = try world[2].make("Guest", ["email": .string("a")])
    try await world.settle()
    try forgetPlaces()
    #expect(try world[0].status.parked == 1)
    let parked = try SyncEngine.parked(of: world[0].store)
    #expect(parked.filter(\.isAccepted).map(\.object) == [employee])
    #expect(parked.filter { !$0.isAccepted }.map(\.object) == [guest])
    #expect(try SyncEngine.check(world[0].store).findings == [])
    // What it was accepted for is over once it has a value.
    try world[0].set(employee, ["email": .string("b")])
    try await world.settle()
    #expect(try SyncEngine.acceptParked(of: world[0].store) == 1)
    #expect(try SyncEngine.retryParked(of: world[0].store, sequence: 0) == 1)
    #expect(try world[0].status.parked == 1)
  }

  @Test("Who joins by a snapshot shows what one shows that read the log")
  func joined() async throws {
    var (world, _, without) = try await world()
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let newcomer = try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, model: model(), transport: folded)
    try await newcomer.sync()
    #expect(folded.pulled == 0, "joined by the log")
    world.replicas.append(newcomer)
    try await world.settle()
    try world.expectLacking(without.map { "\($0.uuidString).email" })
  }
}
