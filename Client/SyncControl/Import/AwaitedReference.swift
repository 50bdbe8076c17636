import Driftless
import Foundation

/// A reference to an object that the file has not inserted yet.
struct AwaitedReference {
  var owner: EntityDescription
  var ownerIdentity: UUID?
  var property: String
  var destination: EntityDescription
  var id: String
  var line: Int
  let target: UUID

  init(
    owner: EntityDescription, property: String, destination: EntityDescription, id: String,
    line: Int
  ) {
    self.owner = owner
    self.property = property
    self.destination = destination
    self.id = id
    self.line = line
    target = NamedIdentity.identity(id, rootEntity: destination.rootEntity.name)
  }

  var name: String { "\(owner.name).\(property)" }

  func owned(by identity: UUID?) -> AwaitedReference {
    var copy = self
    copy.ownerIdentity = identity
    return copy
  }
}
