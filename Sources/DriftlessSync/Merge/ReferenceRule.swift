import Driftless

/// The merge table for references: what becomes of a reference of one side, and of its target, when
/// the other side deletes the target. In this order, by the model of who comes later.
enum ReferenceRule: Hashable, Sendable {
  /// CONFLICT: the target's relationship denies its delete while something refers to it.
  /// RESOLUTION: the target stays, or comes back.
  case deny
  /// CONFLICT: the target's delete takes along what refers to it.
  /// RESOLUTION: what refers to it is deleted as well; the journal keeps it whole.
  case cascade
  /// CONFLICT: the reference is required.
  /// RESOLUTION: the target stays, or comes back.
  case require
  /// CONFLICT: the reference may be missing.
  /// RESOLUTION: it is cut; the journal keeps it.
  case nullify

  /// - Parameter relationship: the one that refers to what is deleted.
  init(_ relationship: RelationshipDescription) {
    switch (relationship.inverseRelationship?.deleteRule, relationship.isOptional) {
    case (.deny?, _): self = .deny
    case (.cascade?, _): self = .cascade
    case (_, false): self = relationship.isToMany ? .nullify : .require
    case (_, true): self = .nullify
    }
  }
}
