import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Objects that must have a partner by each of several one-to-one relationships.
struct SeveralPartnersTests {
  private static let kinds = ["Bike", "Car", "Cart"]

  /// Drivers who must have one of each, which own the relationships.
  private func model() -> ManagedObjectModel {
    let driver = EntityDescription("Driver")
    var entities = [driver]
    for kind in Self.kinds {
      let owner = EntityDescription(kind)
      owner.properties = [
        RelationshipDescription("driver", to: "Driver", inverse: kind.lowercased())
      ]
      entities.append(owner)
    }
    driver.properties =
      [AttributeDescription("name", .string)]
      + Self.kinds.map {
        RelationshipDescription(
          $0.lowercased(), to: $0, inverse: "driver", isOptional: false)
      }
    return ManagedObjectModel(entities: entities)
  }

  @Test(
    "Who loses one of several partners is settled by that one, and not by another", arguments: kinds
  )
  func one(contested: String) async throws {
    let world = try await World(3) { model() }
    var partners: [[String: UUID]] = [[:], [:]]
    for kind in Self.kinds {
      partners[0][kind.lowercased()] = try world[0].insert(kind)
      partners[1][kind.lowercased()] = try world[0].insert(kind)
    }
    partners[1][contested.lowercased()] = partners[0][contested.lowercased()]
    try await world.settle()
    let first = try world[0].make("Driver", ["name": .string("first")], to: partners[0])
    _ = try world[1].make("Driver", ["name": .string("second")], to: partners[1])
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Driver") == [first])
      for kind in Self.kinds {
        #expect(
          try replica.reference(first, kind.lowercased()) == partners[0][kind.lowercased()])
      }
    }
  }
}
