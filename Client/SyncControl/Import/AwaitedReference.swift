import Driftless
import Foundation

/// A reference to an object that the file has not inserted yet.
struct AwaitedReference {
  let owner: EntityDescription
  let ownerIdentity: UUID?
  let property: String
  let destination: EntityDescription
  let id: String
  let line: Int
  let target: UUID

  var name: String { "\(owner.name).\(property)" }
}
