extension RelationshipDescription {
  /// The key in a to-one relationship's `userInfo` that declares it the parent of a tree: `1`, `true` or `YES`. Sync
  /// never lets such a relationship close a ring.
  public static let treeKey = "driftless.tree"

  /// Whether the model declares the to-one relationship the parent of a tree.
  package var isTree: Bool { !isToMany && userInfo.declares(Self.treeKey) }
}
