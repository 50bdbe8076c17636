import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Trees whose objects must have a parent: a ring is cut where there is one to go back to.
struct RequiredParentTests {
  /// Folders that must have a parent.
  ///
  /// - Parameter deleteRule: what becomes of them when that is deleted.
  static func model(deleteRule: DeleteRule = .nullify) -> ManagedObjectModel {
    let place = EntityDescription("Place")
    place.isAbstract = true
    place.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "folders", to: "Folder", inverse: "parent", toMany: true, deleteRule: deleteRule),
    ]
    let root = EntityDescription("Root")
    let folder = EntityDescription("Folder")
    let parent = RelationshipDescription(
      "parent", to: "Place", inverse: "folders", isOptional: false)
    parent.userInfo = [RelationshipDescription.treeKey: "1"]
    folder.properties = [parent]
    place.subentities = [folder, root]
    return ManagedObjectModel(entities: [place, root, folder])
  }

  @Test("A ring with a new object in it is cut at an edit, and nobody is without a parent")
  func ringWithNew() async throws {
    let world = try await World(3) { Self.model() }
    let root = try world[0].make("Root")
    let x = try world[0].make("Folder", to: ["parent": root])
    let y = try world[0].make("Folder", to: ["parent": root])
    try await world.settle()
    try world[0].point(x, "parent", y)
    let new = try world[1].make("Folder", to: ["parent": root])
    try world[1].point(y, "parent", new)
    // The latest edit of the ring is the new object's.
    try world[1].point(new, "parent", x)
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(x, "parent") == y)
      #expect(try replica.reference(y, "parent") == root)
      #expect(try replica.reference(new, "parent") == x)
    }
  }

  @Test("The parent that a cut ring goes back to is brought back with it")
  func deletedParent() async throws {
    let world = try await World(3) { Self.model() }
    let root = try world[0].make("Root")
    let old = try world[0].make("Folder", to: ["parent": root])
    let x = try world[0].make("Folder", to: ["parent": root])
    let y = try world[0].make("Folder", to: ["parent": old])
    try await world.settle()
    try world[0].point(x, "parent", y)
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: y))
      try object.setValue(try context.object(withIdentity: x), forKey: "parent")
      context.delete(try #require(try context.object(withIdentity: old)))
    }
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(x, "parent") == y)
      #expect(try replica.reference(y, "parent") == old)
    }
  }
}
