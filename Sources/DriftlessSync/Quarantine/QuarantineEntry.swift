public import Foundation

/// An object that the server refuses for good: what this replica changed of it waits here, pending
/// and unharmed, while everything else syncs.
public struct QuarantineEntry: Hashable, Sendable, Codable {
  /// The object's identity, and its entity.
  public var object: UUID
  /// The name of the object's entity.
  public var entity: String
  /// Why, as a short name that scripts can compare: `too-large`, `refused`, `conflicting`.
  public var code: String
  /// Why, as a sentence.
  public var reason: String
  /// What to do.
  public var suggestion: String
  /// The size of the change set that holds this object alone, in bytes; 0 when none could be made.
  public var bytes: Int
  /// When it was refused.
  public var time: Date
}
