import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// An object whose delete is undone has the members of its to-many relationships again.
struct UndoneMemberTests {
  /// Items with labels that know them, labels that do not, and steps in an order.
  private func model() -> ManagedObjectModel {
    let (item, label, step) = (
      EntityDescription("Item"), EntityDescription("Label"), EntityDescription("Step")
    )
    item.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("labels", to: "Label", inverse: "items", toMany: true),
      RelationshipDescription("seen", to: "Label", inverse: nil, toMany: true),
      RelationshipDescription("steps", to: "Step", inverse: "item", toMany: true, isOrdered: true),
    ]
    label.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "labels", toMany: true),
    ]
    step.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("item", to: "Item", inverse: "steps"),
    ]
    return ManagedObjectModel(entities: [item, label, step])
  }

  private func order(_ replica: TestReplica, _ id: UUID, _ name: String) throws -> [UUID] {
    try replica.store.read { transaction in
      let found = try #require(try transaction.key(of: id))
      let key = try #require(try transaction.concreteKey(root: found))
      let relationship = try #require(
        replica.store.schema.entity(numbered: key.entity)?.layout.slots
          .first { $0.name == name }?.relationship)
      return try transaction.toManyKeys(of: key, relationship)
        .map { try transaction.identity(of: $0) }
    }
  }

  @Test(
    "Of its members those are back that live, and the journal names the others",
    arguments: [false, true])
  func members(isDeletedHere: Bool) async throws {
    let fleet = try await Fleet(2, model())
    let (deleting, editing) = (fleet[0], fleet[1])
    let item = try deleting.make("Item", ["name": .string("n")])
    let kept = try deleting.make("Label", ["name": .string("kept")])
    let gone = try deleting.make("Label", ["name": .string("gone")])
    let last = try deleting.make("Step", ["name": .string("last")])
    let first = try deleting.make("Step", ["name": .string("first")], to: ["item": item])
    try deleting.point(last, "item", item)
    try deleting.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let labels = Set(
        [
          try #require(try context.object(withIdentity: kept)),
          try #require(try context.object(withIdentity: gone)),
        ])
      object["labels"] = labels
      object["seen"] = labels
    }
    try await fleet.world.settle()
    #expect(try order(editing, item, "steps") == [first, last])

    try editing.set(item, ["name": .string("edited")])
    if isDeletedHere { try await editing.sync() }
    try deleting.delete(item)
    try await fleet.sync(0, 1)
    try deleting.delete(gone)
    try await fleet.sync(0, 1)
    let undoing = isDeletedHere ? deleting : editing
    let entry = try #require(
      try undoing.conflicts.last { $0.object == item && $0.property == "name" })
    let undone = try SyncEngine.undo(conflict: entry.number, of: undoing.store)
    #expect(undone.explanation.contains("labels") && undone.explanation.contains("seen"))
    #expect(
      undone.explanation.contains(gone.uuidString.lowercased()), "\(undone.explanation)")
    #expect(!undone.explanation.contains(kept.uuidString.lowercased()))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.value(item, "name") == .string("edited"), "\(replica.name)")
      #expect(try replica.elements(item, "labels") == [kept], "\(replica.name)")
      #expect(try replica.elements(item, "seen") == [kept], "\(replica.name)")
      #expect(try replica.elements(item, "steps") == [first, last], "\(replica.name)")
      if !isDeletedHere {
        #expect(try order(replica, item, "steps") == [first, last], "\(replica.name)")
      }
    }
  }

  @Test("Many members come back to their places, which are read once")
  func many() async throws {
    try await expectLinear((40, 80)) { count in
      let fleet = try await Fleet(2, model())
      let item = try fleet[0].make("Item", ["name": .string("n")])
      let steps = try (0..<count).map { _ in try fleet[0].make("Step", to: ["item": item]) }
      try await fleet.world.settle()
      try fleet[1].set(item, ["name": .string("edited")])
      let inOrder = try order(fleet[1], item, "steps")
      #expect(Set(inOrder) == Set(steps))
      try fleet[0].delete(item)
      try await fleet.sync(0, 1)
      let entry = try #require(try fleet[1].conflicts.last { $0.property == "name" })
      let work = try await fleet[1].statementWork {
        try SyncEngine.undo(conflict: entry.number, of: fleet[1].store)
      }
      #expect(try order(fleet[1], item, "steps") == inOrder)
      try await fleet.world.settle()
      #expect(try order(fleet[0], item, "steps") == inOrder)
      return work
    }
  }

  @Test("A member that belongs to another object by now stays there, and is named")
  func moved() async throws {
    let fleet = try await Fleet(2, model())
    let (item, other) = (try fleet[0].make("Item"), try fleet[0].make("Item"))
    let step = try fleet[0].make("Step", to: ["item": item])
    try await fleet.world.settle()
    try fleet[1].set(item, ["name": .string("edited")])
    try fleet[0].delete(item)
    try await fleet.sync(0, 1)
    try fleet[1].point(step, "item", other)
    let entry = try #require(try fleet[1].conflicts.last { $0.property == "name" })
    let undone = try SyncEngine.undo(conflict: entry.number, of: fleet[1].store)
    #expect(undone.explanation.contains(step.uuidString.lowercased()), "\(undone.explanation)")
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.reference(step, "item") == other, "\(replica.name)")
      #expect(try replica.elements(item, "steps").isEmpty, "\(replica.name)")
    }
  }

  @Test("An entry of before, which kept no members, brings its object back without them")
  func entryOfBefore() async throws {
    let fleet = try await Fleet(2, model())
    let item = try fleet[0].make("Item")
    let step = try fleet[0].make("Step", to: ["item": item])
    try await fleet.world.settle()
    try fleet[1].set(item, ["name": .string("edited")])
    try fleet[0].delete(item)
    try await fleet.sync(0, 1)
    let entry = try #require(try fleet[1].conflicts.last { $0.property == "name" })
    _ = try fleet[1].store.write(TransactionInfo(kind: .imported)) { transaction in
      let rows = try transaction.connection.rows("SELECT row FROM ZDL_JOURNAL")
      guard case .blob(let bytes)? = rows.last?.first else { throw CancellationError() }
      let values = try RowArchive.decodeValues(bytes).map { value -> PropertyValue in
        if case .data = value { return .null }
        return value
      }
      try transaction.connection.run(
        "UPDATE ZDL_JOURNAL SET row = ?", .blob(RowArchive.encode(values)))
    }
    try SyncEngine.undo(conflict: entry.number, of: fleet[1].store)
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.value(item, "name") == .string("edited"), "\(replica.name)")
      #expect(try replica.reference(step, "item") == nil, "\(replica.name)")
    }
  }
}
