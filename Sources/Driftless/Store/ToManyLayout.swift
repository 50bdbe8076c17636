/// How a file keeps to-many relationships without inverse.
public enum ToManyLayout: String, Hashable, Sendable, CaseIterable {
  /// A table of pairs: several objects may hold one.
  case pairs
  /// Columns of the objects that are held, as Core Data has it: one object holds them at most.
  case columns
}

extension StoreSchema {
  /// Whether there are to-many relationships without inverse in another layout.
  package func differs(from layout: ToManyLayout) -> Bool {
    entities.flatMap(\.ownProperties).contains { property in
      guard let relationship = property as? RelationshipDescription,
        relationship.inverseRelationship == nil, let join = joinTable(for: relationship)
      else { return false }
      return (join.held != nil) != (layout == .columns)
    }
  }
}
