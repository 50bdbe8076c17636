extension RelationshipDescription {
  /// The key in a to-one relationship's `userInfo` that declares it the parent of a tree: `1`, `true` or `YES`. Sync
  /// never lets such a relationship close a ring.
  public static let treeKey = "driftless.tree"

  /// Whether the model declares the to-one relationship the parent of a tree.
  package var isTree: Bool {
    guard !isToMany, let text = userInfo[Self.treeKey] else { return false }
    return ["1", "true", "yes"].contains("\(text)".lowercased())
  }
}
