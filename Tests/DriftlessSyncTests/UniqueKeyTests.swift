import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// People with a unique e-mail, and employees below them with a unique badge and a unique desk (floor and place).
func staffModel(
  emailPolicy: ConflictPolicy = .lastWriterWins, deletePolicy: DeletePolicy = .deleteWins
) -> ManagedObjectModel {
  let person = EntityDescription("Person")
  person.deletePolicy = deletePolicy
  person.properties = [
    AttributeDescription("email", .string, conflictPolicy: emailPolicy),
    AttributeDescription("name", .string),
    AttributeDescription("visits", .integer64, conflictPolicy: .counter),
    RelationshipDescription("notes", to: "Note", inverse: "person", toMany: true),
  ]
  person.uniquenessConstraints = [["email"]]
  let employee = EntityDescription("Employee")
  person.subentities = [employee]
  employee.properties = [
    AttributeDescription("badge", .integer64),
    AttributeDescription("floor", .integer64),
    AttributeDescription("place", .string),
  ]
  employee.deletePolicy = deletePolicy
  employee.uniquenessConstraints = [["badge"], ["floor", "place"]]
  let note = EntityDescription("Note")
  note.properties = [
    AttributeDescription("text", .string),
    RelationshipDescription("person", to: "Person", inverse: "notes"),
  ]
  return ManagedObjectModel(entities: [person, employee, note])
}

/// Uniqueness constraints hold across replicas, and never stop one.
struct UniqueKeyTests {
  private func world(
    _ count: Int = 3, model: @autoclosure () -> ManagedObjectModel = staffModel()
  ) async throws -> World {
    var world = try await World(0)
    for index in 0..<count {
      world.replicas.append(
        try await TestReplica("r\(index)", zone: world.zone, clock: world.clock, model: model()))
    }
    return world
  }

  private func email(_ replica: TestReplica, _ id: UUID) throws -> PropertyValue? {
    try replica.value(id, "email")
  }

  // MARK: From one writer

  @Test("S20 Delete and insert of one value in one save arrives")
  func deleteAndInsertInOneSave() async throws {
    var world = try await world()
    let old = try world[0].insert("Person", ["email": .string("a")])
    try await world.settle()
    try world[0].save { context in
      context.delete(try #require(try context.object(withIdentity: old)))
      let person = try context.insert(entityNamed: "Person")
      try person.setValue("a", forKey: "email")
    }
    try await world.settle()
    #expect(try world[2].identities(of: "Person").count == 1)
    #expect(try email(world[2], try world[2].identities(of: "Person")[0]) == .string("a"))
    try await joinLate(&world)
  }

  @Test("S20 Delete and insert of one value in two saves arrives")
  func deleteAndInsertInTwoSaves() async throws {
    var world = try await world()
    let old = try world[0].insert("Person", ["email": .string("a")])
    try await world.settle()
    try world[0].delete(old)
    let new = try world[0].insert("Person", ["email": .string("a")])
    try await world.settle()
    #expect(try email(world[1], new) == .string("a"))
    #expect(try !world[1].exists(old))
    try await joinLate(&world)
  }

  @Test("F41 S20 Two objects swap a value, and three pass theirs on")
  func swap() async throws {
    var world = try await world()
    let ids = try ["a", "b", "c"].map { try world[0].insert("Person", ["email": .string($0)]) }
    try await world.settle()
    for values in [["b", "a", "c"], ["c", "b", "a"], ["a", "c", "b"]] {
      try world[0].save { context in
        for (id, value) in zip(ids, values) {
          try context.object(withIdentity: id)?.setValue(value, forKey: "email")
        }
      }
      try await world[0].sync()
      try await world[1].sync()
    }
    try await world.settle()
    for (id, value) in zip(ids, ["a", "c", "b"]) {
      #expect(try email(world[1], id) == .string(value))
      #expect(try email(world[2], id) == .string(value))
    }
    try await joinLate(&world)
  }

  @Test("F41 S20 A freed value is taken by another row and by a new object")
  func freedValue() async throws {
    var world = try await world()
    let first = try world[0].insert(
      "Employee", ["email": .string("a"), "badge": .integer(1), "floor": .integer(1)])
    let second = try world[0].insert("Employee", ["email": .string("b"), "badge": .integer(2)])
    try await world.settle()
    try world[0].set(first, ["email": .string("x"), "badge": .integer(9), "place": .string("p")])
    try world[0].set(second, ["badge": .integer(1)])
    let third = try world[0].insert("Person", ["email": .string("a")])
    try await world.settle()
    #expect(try world[2].value(second, "badge") == .integer(1))
    #expect(try email(world[2], third) == .string("a"))
    #expect(try email(world[2], first) == .string("x"))
    #expect(try world[1].conflicts.isEmpty)
    try await joinLate(&world)
  }

  // MARK: From two writers

  @Test(
    "F40 S20 Two replicas insert one value offline: the objects become one, and nothing is lost")
  func twoInserts() async throws {
    var world = try await world()
    let first = try world[0].insert("Person", ["email": .string("a"), "name": .string("Ann")])
    let second = try world[1].insert("Person", ["email": .string("a"), "name": .string("Anna")])
    let note = try world[1].insert("Note", ["text": .string("hello")])
    try world[1].save { context in
      try context.object(withIdentity: note)?.setValue(
        try context.object(withIdentity: second), forKey: "person")
    }
    try await world.settle()
    #expect(try world[2].identities(of: "Person") == [first])
    #expect(try world[2].value(first, "name") == .string("Anna"))
    #expect(try world[2].reference(note, "person") == first)
    // The identity that went is that of the one object, where it was known.
    #expect(try world[1].value(second, "name") == .string("Anna"))
    let journal = try world[1].conflicts
    #expect(journal.contains { $0.property == nil && $0.explanation.contains("one with it") })
    #expect(journal.contains { $0.property == "name" && $0.remote == "\"Ann\"" })
    try await joinLate(&world)
  }

  @Test("S20 A push that claims a key that another object holds is stale, and settled by a pull")
  func claims() async throws {
    var world = try await world()
    let taken = try world[0].insert("Employee", ["email": .string("a"), "badge": .integer(1)])
    let other = try world[0].insert("Employee", ["email": .string("b"), "badge": .integer(2)])
    try await world.settle()
    try world[0].set(taken, ["badge": .integer(3)])
    try world[0].insert("Person", ["email": .string("c")])
    try await world[0].push()
    // Nothing of this is seen here before the push.
    try world[1].set(other, ["badge": .integer(3)])
    try world[1].insert("Person", ["email": .string("c"), "name": .string("Bo")])
    #expect(try await world[1].push().staleAnswers > 0)
    // A key that was let go is free.
    try await world[2].pull()
    let new = try world[2].insert("Employee", ["badge": .integer(1)])
    try await world[2].push()
    try await world.settle()
    #expect(try world[2].value(other, "badge") == .integer(2))
    #expect(try world[2].value(new, "badge") == .integer(1))
    #expect(try world[2].identities(of: "Person").count == 4)
    try await joinLate(&world)
  }

  @Test("F40 S20 A rename to a value that another replica took goes back, and the journal has it")
  func rename() async throws {
    var world = try await world()
    let first = try world[0].insert("Person", ["email": .string("a")])
    let second = try world[0].insert("Person", ["email": .string("b")])
    try await world.settle()
    try world[0].set(first, ["email": .string("c")])
    try world[1].set(second, ["email": .string("c"), "name": .string("Bo")])
    try await world.settle()
    #expect(try email(world[2], first) == .string("c"))
    #expect(try email(world[2], second) == .string("b"))
    #expect(try world[2].value(second, "name") == .string("Bo"))
    let entry = try #require(try world[1].conflicts.first { $0.property == "email" })
    #expect(entry.local == "\"c\"" && entry.kept == "\"b\"" && entry.object == second)
    try await joinLate(&world)
  }

  @Test("S20 A rename under manual waits for a person")
  func manualRename() async throws {
    let world = try await world(2, model: staffModel(emailPolicy: .manual))
    let first = try world[0].insert("Person", ["email": .string("a")])
    let second = try world[0].insert("Person", ["email": .string("b")])
    try await world.settle()
    try world[0].set(first, ["email": .string("c")])
    try world[1].set(second, ["email": .string("c")])
    try await world.settle()
    #expect(try email(world[0], second) == .string("b"))
    #expect(try world[1].status.waiting == 1)
  }

  @Test("S20 A chain of renames goes back as far as it must")
  func chain() async throws {
    var world = try await world()
    let ids = try ["a", "b", "c"].map { try world[0].insert("Person", ["email": .string($0)]) }
    try await world.settle()
    // Here a moves away and b takes its value; there somebody else gets what a moved to.
    try world[1].set(ids[0], ["email": .string("z")])
    try world[1].set(ids[1], ["email": .string("a")])
    let new = try world[0].insert("Person", ["email": .string("z")])
    try await world.settle()
    #expect(try email(world[2], ids[0]) == .string("a"))
    #expect(try email(world[2], ids[1]) == .string("b"))
    #expect(try email(world[2], new) == .string("z"))
    #expect(try world[1].conflicts.filter { $0.property == "email" }.count == 2)
    try await joinLate(&world)
  }

  @Test(
    "S20 Objects of different entities never become one: the pending one goes on without the value")
  func differentEntities() async throws {
    var world = try await world()
    let first = try world[0].insert("Person", ["email": .string("a")])
    let second = try world[1].insert("Employee", ["email": .string("a"), "badge": .integer(1)])
    try await world.settle()
    #expect(try email(world[2], first) == .string("a"))
    #expect(try email(world[2], second) == .null)
    #expect(try world[2].value(second, "badge") == .integer(1))
    #expect(try world[1].conflicts.contains { $0.local == "\"a\"" && $0.object == second })
    try await joinLate(&world)
  }

  @Test("S20 A value of several properties is unique, and none with a null is")
  func severalProperties() async throws {
    var world = try await world()
    let second = try world[1].insert("Employee", ["floor": .integer(1), "name": .string("Bo")])
    let third = try world[1].insert("Employee", ["floor": .integer(1)])
    try await world.settle()
    let first = try world[0].insert("Employee", ["floor": .integer(1), "place": .string("p")])
    try world[1].set(second, ["place": .string("p")])
    try await world.settle()
    #expect(try world[2].value(second, "place") == .null)
    #expect(try world[2].value(first, "place") == .string("p"))
    #expect(try world[2].exists(third))
    try await joinLate(&world)
  }

  @Test("S20 A union that the zone has not heard of is undone when the zone's object dies")
  func undoneUnion() async throws {
    var world = try await world()
    let first = try world[0].insert("Person", ["email": .string("a")])
    try await world[0].sync()
    let second = try world[1].insert("Person", ["email": .string("a"), "name": .string("Bo")])
    let note = try world[1].insert("Note", ["text": .string("hello")])
    try world[1].save { context in
      try context.object(withIdentity: note)?.setValue(
        try context.object(withIdentity: second), forKey: "person")
    }
    try await world[1].pull()
    #expect(try world[1].identities(of: "Person") == [first])
    try world[0].delete(first)
    try await world[0].sync()
    try await world.settle()
    #expect(try world[2].identities(of: "Person") == [second])
    #expect(try email(world[2], second) == .string("a"))
    #expect(try world[2].value(second, "name") == .string("Bo"))
    #expect(try world[2].reference(note, "person") == second)
    try await joinLate(&world)
  }

  @Test("S20 A union of which nothing is pending is settled: an edit after it is one of the zone's")
  func settledUnion() async throws {
    let world = try await world()
    let values: [String: PropertyValue] = ["email": .string("a"), "name": .string("Ann")]
    let id = try world[0].insert("Person", values)
    try await world[0].sync()
    try world[1].insert("Person", values)
    try await world[1].sync()
    #expect(try world[1].status.pending.objects == 0)
    #expect(try world[1].identities(of: "Person") == [id])
    try world[1].set(id, ["name": .string("edited later")])
    try world[0].delete(id)
    try await world[0].sync()
    try await world.settle()
    #expect(try world[2].identities(of: "Person").isEmpty)
  }

  @Test("That two became one is not undone, and the error says what to do")
  func undoOfAUnion() async throws {
    let world = try await world()
    let first = try world[0].insert("Person", ["email": .string("a")])
    try await world[0].sync()
    _ = try world[1].insert("Person", ["email": .string("a"), "name": .string("Bo")])
    try await world.settle()
    let entry = try #require(
      try SyncEngine.conflicts(of: world[1].store).first {
        $0.object == first && $0.outcome == .combined && $0.property == nil
      })
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    }
    #expect(error?.code == .cannotUndo)
    #expect(error?.message.contains("became one") == true, "\(error as Any)")
  }

  @Test("S20 A revival whose value is taken becomes edits of the one that took it")
  func revival() async throws {
    let world = try await world(3, model: staffModel(deletePolicy: .editWins))
    let old = try world[0].insert("Person", ["email": .string("a"), "name": .string("Al")])
    let note = try world[0].insert("Note", ["text": .string("hello")])
    try await world.settle()
    // Whoever deletes it does not know that something refers to it.
    try world[2].save { context in
      try context.object(withIdentity: note)?.setValue(
        try context.object(withIdentity: old), forKey: "person")
    }
    try await world[2].sync()
    try world[0].delete(old)
    let new = try world[0].insert("Person", ["email": .string("a")])
    try await world[0].sync()
    try world[1].set(old, ["name": .string("Bo")])
    try await world.settle()
    #expect(try world[2].identities(of: "Person") == [new])
    #expect(try world[2].value(new, "name") == .string("Bo"))
    #expect(try email(world[1], old) == .string("a"))
    for replica in world.replicas { #expect(try replica.reference(note, "person") == nil) }
  }

  /// A replica that comes last sees what the others see.
  private func joinLate(_ world: inout World) async throws {
    let late = try await TestReplica(
      "late", zone: world.zone, clock: world.clock, model: staffModel())
    world.replicas.append(late)
    try await world.settle()
  }

  @Test("Thousands of objects made on two sides with the same keys become one each")
  func manyUnions() async throws {
    let world = try await world(2)
    let count = 1_500
    for (index, replica) in world.replicas.enumerated() {
      _ = try replica.store.write(TransactionInfo()) { transaction in
        let entity = try #require(replica.store.model.entitiesByName["Person"])
        let email = try #require(entity.layout.index(named: "email"))
        let name = try #require(entity.layout.index(named: "name"))
        var values = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
        let keys = try transaction.allocateKeys(entity, count: count)
        for (number, key) in keys.enumerated() {
          // Each second one of the other side's.
          values[email] = .string("\(number * (index + 1))")
          values[name] = .string("\(index)")
          try transaction.insert(entity, key, values: values)
        }
      }
    }
    try await world.settle()
    #expect(try world[0].export == world[1].export)
    #expect(try world[0].export.split(separator: "\n").count == 2 * count - count / 2)
  }

  @Test("Thousands of keys that two sides change to the same values are each one object's")
  func manyReverts() async throws {
    let world = try await world(2)
    let count = 600
    var people: [UUID] = []
    for number in 0..<2 * count {
      people.append(try world[0].insert("Person", ["email": .string("old\(number)")]))
    }
    try await world.settle()
    for number in 0..<count {
      try world[0].set(people[number], ["email": .string("new\(number)")])
      try world[1].set(people[count + number], ["email": .string("new\(number)")])
    }
    try await world.settle()
    #expect(try world[0].export == world[1].export)
    #expect(try world[0].export.components(separatedBy: "\"new").count == count + 1)
  }

  @Test("Of two that became one, one is deleted, the other offered to a zone that began anew twice")
  func deletedAfterTwoRenewals() async throws {
    let world = try await world()
    let b = try world[1].insert("Person", ["name": .string("B"), "email": .string("e")])
    try await world[1].sync()
    try await world[2].sync()
    let a = try world[0].insert("Person", ["name": .string("A"), "email": .string("e")])
    world.zone.renew()
    try await world[0].sync()
    try await world[1].sync()
    world.zone.renew()
    try world[0].delete(a)
    for index in [0, 2, 1] { try await world[index].sync() }
    try await world.settle()
    #expect(try !world[0].exists(a))
    #expect(try world.replicas.allSatisfy { try $0.exists(b) == world[0].exists(b) })
  }
}
