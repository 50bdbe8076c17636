import Driftless
import Foundation
import Testing

/// To-many relationships without inverse in two stores of one model, whose objects have the same numbers.
@Suite("To-many relationships without inverse in several stores")
struct MembersOfSeveralStoresTests {
  private static let layouts = ToManyLayout.allCases

  /// Two folders and a paper of one store, saved.
  private struct Part {
    let folder: ManagedObject
    let other: ManagedObject
    let paper: ManagedObject

    init(_ context: ManagedObjectContext, _ store: PersistentStore) throws {
      func make(_ entity: String, _ name: String) throws -> ManagedObject {
        let object = try context.insert(entity, name)
        try context.assign(object, to: store)
        return object
      }
      folder = try make("Folder", "folder")
      other = try make("Folder", "other")
      paper = try make("Paper", "paper")
      try context.save()
    }
  }

  /// A desk of two stores, of which one is in memory.
  private func desk(
    _ layout: ToManyLayout
  ) throws -> (desk: Desk, context: ManagedObjectContext, near: Part, far: Part) {
    let desk = try Desk(layout)
    var options = StoreOptions()
    options.holdsToManyInColumns = layout == .columns
    let memory = try desk.coordinator.addPersistentStore(at: nil, options: options)
    let context = desk.context()
    let (near, far) = (try Part(context, desk.store), try Part(context, memory))
    #expect(near.folder.objectID.key == far.folder.objectID.key)
    #expect(near.paper.objectID.key == far.paper.objectID.key)
    return (desk, context, near, far)
  }

  @Test("An object that is deleted leaves holders of its own store alone", arguments: layouts)
  func deletes(_ layout: ToManyLayout) throws {
    let (desk, context, near, far) = try desk(layout)
    near.folder[Desk.papers].insert(near.paper)
    try context.save()
    far.folder[Desk.papers].insert(far.paper)
    context.delete(near.paper)
    #expect(near.folder.labels("papers") == [] && far.folder.labels("papers") == ["paper"])
    try context.save()
    let reader = desk.context()
    #expect(try reader.here(near.folder).labels("papers") == [])
    #expect(try reader.here(far.folder).labels("papers") == ["paper"])
  }

  @Test("An object that moves to another holder leaves that of its own store alone")
  func moves() throws {
    let (desk, context, near, far) = try desk(.columns)
    near.folder[Desk.papers].insert(near.paper)
    far.folder[Desk.papers].insert(far.paper)
    near.other[Desk.papers].insert(near.paper)
    #expect(near.folder.labels("papers") == [] && far.folder.labels("papers") == ["paper"])
    try context.save()
    let reader = desk.context()
    #expect(try reader.here(near.other).labels("papers") == ["paper"])
    #expect(try reader.here(far.folder).labels("papers") == ["paper"])
  }

  @Test("An object that a merge brings back is held in its own store alone", arguments: layouts)
  func merges(_ layout: ToManyLayout) throws {
    let (desk, context, near, far) = try desk(layout)
    far.folder[Desk.papers].insert(far.paper)
    try context.save()
    #expect(far.folder.labels("papers") == ["paper"])
    let other = desk.context()
    other.delete(try other.here(near.paper))
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    near.paper["text"] = "back"
    try context.save()
    let reader = desk.context()
    #expect(try reader.here(near.folder).labels("papers") == [])
    #expect(try reader.here(far.folder).labels("papers") == ["paper"])
    #expect(try desk.store.check().findings == [])
  }

  @Test("A holder does not have a member of the other store", arguments: layouts)
  func contains(_ layout: ToManyLayout) throws {
    let (desk, context, near, far) = try desk(layout)
    near.folder[Desk.papers].insert(near.paper)
    try context.save()
    #expect(near.folder[Desk.papers].contains(near.paper))
    #expect(!near.folder[Desk.papers].contains(far.paper))
    near.folder[Desk.papers].remove(far.paper)
    #expect(near.folder.labels("papers") == ["paper"] && !context.hasChanges)
    #expect(try desk.store.check().findings == [])
  }
}
