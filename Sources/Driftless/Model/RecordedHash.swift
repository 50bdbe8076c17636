import Foundation

/// A version hash that Core Data's compiler gave an entity.
///
/// Its rule is not public, so that it cannot be worked out anew: it stands as long as our own hash
/// of the entity, over the same things, is what it was when the two were read together.
struct RecordedHash: Hashable, Sendable {
  let own: Data
  let recorded: Data

  /// The recorded hash; nil when the entity has changed.
  func hash(for own: Data) -> Data? { self.own == own ? recorded : nil }
}
