public import Foundation

/// An object that waits because of others in quarantine: it refers to a new one that the zone does not have, or took a unique
/// key or a partner that a refused edit gives up. It goes out with them, or when it lets go.
public struct HeldObject: Hashable, Sendable, Codable {
  /// The object's identity, and its entity.
  public var object: UUID
  /// The name of the object's entity.
  public var entity: String
  /// What waits of it; empty where all of it does.
  public var properties: [String]
}
