import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// An object that was deleted and is back is, to who read it before, one that others changed.
struct ReturnedObjectTests {
  enum Way: CaseIterable {
    case edit, undo, identity, undoManager
  }

  @Test(
    "A context that read an object before it was deleted does not write over what came back",
    arguments: Way.allCases)
  func reader(way: Way) async throws {
    let world = try await World(2)
    let replica = world[0]
    // Where two meet at a shelf, the edit wins, and at an item the delete.
    let (entity, name) = way == .edit ? ("Shelf", "name") : ("Item", "title")
    let id = try replica.insert(entity, [name: .string("first")])
    try await world.settle()
    func open() -> ManagedObjectContext {
      ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
    }
    let reader = open()
    let read = try #require(try reader.object(withIdentity: id))
    #expect(read[name] as? String == "first")

    switch way {
    case .edit:
      try replica.delete(id)
      try world[1].set(id, [name: .string("back")])
      try await world[1].sync()
    case .undo:
      try replica.set(id, [name: .string("back")])
      try world[1].delete(id)
      try await world[1].sync()
      try await replica.sync()
      let entry = try #require(try replica.conflicts.last { $0.object == id })
      _ = try SyncEngine.undo(conflict: entry.number, of: replica.store)
    case .identity:
      try replica.delete(id)
      let context = open()
      try context.insert(entityNamed: entity, identity: id)[name] = "back"
      try context.save()
    case .undoManager:
      let context = open()
      context.undoManager = UndoManager()
      let object = try #require(try context.object(withIdentity: id))
      context.delete(object)
      try context.save()
      context.undo()
      object[name] = "back"
      try context.save()
      object[name] = "once more"
      try context.save()
      object[name] = "back"
      try context.save()
    }
    try await world.settle()
    #expect(try replica.exists(id))
    #expect(try replica.value(id, name) == .string("back"))

    read[name] = "over"
    let error = #expect(throws: SaveConflictError.self) { try reader.save() }
    #expect(error?.conflicts.first?.persistedSnapshot?[name] == .string("back"))
  }
}
