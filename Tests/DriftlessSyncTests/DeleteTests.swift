import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes against edits, both ways, and what refers to deleted objects.
struct DeleteTests {
  @Test("An object that an edit brings back has the references again that its delete cut")
  func cutLinks() async throws {
    let world = try await World(3)
    let shelf = try world[0].insert("Shelf", ["name": .string("a")])
    let other = try world[0].insert("Shelf", ["name": .string("other")])
    let items = try (0..<4).map { _ in try world[0].insert("Item") }
    try world[0].save { context in
      for id in items {
        try #require(try context.object(withIdentity: id)).setValue(
          try context.object(withIdentity: shelf), forKey: "shelf")
      }
    }
    try await world.settle()
    // One was cut by hand before, and one goes elsewhere after: those stay as they were made.
    try world[0].set(items[2], ["shelf": .null])
    try world[0].delete(shelf)
    let key = try #require(try world[0].store.read { try $0.key(of: other) })
    try world[0].set(items[3], ["shelf": .reference(key)])
    #expect(try world[0].reference(items[0], "shelf") == nil)
    try world[1].set(shelf, ["name": .string("edited")])
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(items[0], "shelf") == shelf)
      #expect(try replica.reference(items[1], "shelf") == shelf)
      #expect(try replica.reference(items[2], "shelf") == nil)
      #expect(try replica.reference(items[3], "shelf") == other)
    }
  }

  @Test("F46 Made anew under its identity, an object has the set that it was made with, everywhere")
  func remadeSet() async throws {
    let world = try await World(3)
    let id = UUID()
    try world[0].insert("Item", ["title": .string("a")], identity: id)
    let labels = try (0..<4).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try world[0].label(id, labels[..<3])
    try await world.settle()
    // A label of the set is deleted by one replica, and the set's object is made anew by another.
    try world[2].delete(labels[1])
    try await world[2].sync()
    try await world[0].sync()
    try world[0].delete(id)
    _ = try world[0].insertOrRemake("Item", ["title": .string("b")], identity: id)
    try world[0].label(id, [labels[3]])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.labels(of: id) == [labels[3]], "\(replica.name)")
      #expect(try replica.value(id, "title") == .string("b"))
    }
    // The label comes back: it is in the set no more.
    _ = try world[1].insertOrRemake("Label", ["name": .string("again")], identity: labels[1])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.labels(of: id) == [labels[3]], "\(replica.name)")
    }
  }

  @Test("An element that another replica adds to a set while its object is made anew stays")
  func remadeSetMerges() async throws {
    let world = try await World(2)
    let id = UUID()
    try world[0].insert("Item", [:], identity: id)
    let labels = try (0..<3).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try world[0].label(id, [labels[0]])
    try await world.settle()
    try world[1].label(id, [labels[0], labels[1]])
    try world[0].delete(id)
    _ = try world[0].insertOrRemake("Item", [:], identity: id)
    try world[0].label(id, [labels[2]])
    try await world[0].sync()
    try await world.settle()
    #expect(try world[0].labels(of: id).isSuperset(of: [labels[1], labels[2]]))
  }

  @Test("A delete reaches the other replicas")
  func plainDelete() async throws {
    let world = try await World(3)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[1].delete(id)
    try await world.settle()
    #expect(try !world[2].exists(id))
    #expect(try world[2].conflicts.isEmpty)
  }

  @Test("F46 What is made and deleted before a push never crosses the wire")
  func insertAndDelete() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item")
    try world[0].delete(id)
    #expect(try world[0].status.pending.objects == 0)
    try await world.settle()
    #expect(world.zone.head == 0)
  }

  @Test(
    "F46 An object that is made anew under the identity of a deleted one keeps nothing of it",
    arguments: [true, false])
  func madeAnew(deleteIsPushed: Bool) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("old")])
    try await world.settle()
    try world[0].delete(id)
    if deleteIsPushed { try await world[0].sync() }
    try world[0].save { context in
      _ = try context.insert(entityNamed: "Item", identity: id)
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.exists(id))
      #expect(try replica.value(id, "title") == .null)
    }
  }

  @Test(
    "F38 Delete wins: an edit here goes to the journal, the object goes", arguments: [true, false])
  func deleteWins(deleterFirst: Bool) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[0].delete(id)
    try world[1].set(id, ["title": .string("kept in the journal")])
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    #expect(try !world[0].exists(id))
    let journal = try world.replicas.flatMap { try $0.conflicts }
    #expect(journal.count == 1)
    let entry = try #require(journal.first)
    #expect(entry.property == "title")
    #expect([entry.local, entry.remote].contains("\"kept in the journal\""))
  }

  @Test(
    "F38 Edit wins: the object stays or comes back, whole, with what refers to it",
    arguments: [true, false])
  func editWins(deleterFirst: Bool) async throws {
    let world = try await World(3)
    let shelf = try world[0].insert("Shelf", ["name": .string("a")])
    let key = try world[0].store.read { try $0.key(of: shelf) }
    let item = try world[0].insert("Item", ["shelf": .reference(try #require(key))])
    try await world.settle()
    try world[0].delete(shelf)
    try world[1].set(shelf, ["name": .string("edited")])
    try await world[deleterFirst ? 0 : 1].sync()
    // The third replica hears of each step by itself.
    try await world[2].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world[2].sync()
    try await world.settle()
    #expect(try world[0].value(shelf, "name") == .string("edited"))
    #expect(try world[0].exists(item))
    let journal = try world.replicas.flatMap { try $0.conflicts }
    #expect(!journal.isEmpty)
  }

  @Test("F49 Both delete: nothing is pending, nothing is journaled")
  func bothDelete() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item")
    try await world.settle()
    let head = world.zone.head
    try world[0].delete(id)
    try world[1].delete(id)
    try await world.settle()
    #expect(world.zone.head == head + 1)
    for replica in world.replicas { #expect(try replica.conflicts.isEmpty) }
  }

  @Test("F39 A new reference to an object that is deleted elsewhere reads as null everywhere")
  func referenceToDeleted() async throws {
    let world = try await World(3)
    let shelf = try world[0].insert("Shelf")
    let item = try world[0].insert("Item")
    try await world.settle()
    let key = try #require(try world[1].store.read { try $0.key(of: shelf) })
    try world[1].set(item, ["shelf": .reference(key)])
    let child = try world[1].insert("Item", ["shelf": .reference(key)])
    try world[0].delete(shelf)
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(item, "shelf") == nil)
      #expect(try replica.value(child, "shelf") == .null)
      #expect(try replica.exists(child))
    }
  }

  @Test("A reference that the log sets after a delete comes back with the object")
  func lateReferenceComesBack() async throws {
    let world = try await World(3)
    let shelf = try world[0].insert("Shelf", ["name": .string("a")])
    let item = try world[0].insert("Item")
    try await world.settle()
    // The first deletes, the second edits, the third refers to it: all without news of each other.
    try world[0].delete(shelf)
    try world[1].set(shelf, ["name": .string("b")])
    let key = try #require(try world[2].store.read { try $0.key(of: shelf) })
    try world[2].set(item, ["shelf": .reference(key)])
    try await world[0].sync()
    try await world[2].push()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.exists(shelf))
      #expect(try replica.reference(item, "shelf") == shelf)
    }
  }

  @Test("Made again here, deleted elsewhere: it stays, and is made again everywhere")
  func madeAgainAgainstDelete() async throws {
    let world = try await World(3)
    let identity = UUID()
    try world[0].insert("Item", ["title": .string("old")], identity: identity)
    try await world.settle()
    try world[0].delete(identity)
    _ = try world[0].insertOrRemake("Item", ["title": .string("new")], identity: identity)
    try world[1].delete(identity)
    try await world[1].sync()
    try await world.settle()
    #expect(try world[2].value(identity, "title") == .string("new"))
  }
}
