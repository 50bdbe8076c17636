public import Foundation

/// A delete of the zone's that waits for a person's word, since it came with those of a large part of the store: the object
/// lives on here.
public struct DeleteSetAside: Hashable, Sendable, Codable {
  /// The object's identity.
  public var object: UUID
  /// The name of the object's entity.
  public var entity: String
  /// The delete's place in the log.
  public var sequence: UInt64
  /// The replica that sent it.
  public var sender: UUID
  /// When it was made, by the clock of who made it.
  public var time: Date
}
