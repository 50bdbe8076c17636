// What sets of another library look at without making all objects.
extension RelatedObjects {
  /// The keys of a relationship's objects; nil where they have none, in no context, and of a list that stands by itself.
  package var keys: [ObjectKey]? {
    guard case .view(let owner, let slot) = storage, owner.graph != nil else { return nil }
    return owner.destinationKeys(slot)
  }

  /// The objects at places of a relationship.
  package func objects(at places: Range<Int>) -> [Element] {
    guard case .view(let owner, let slot) = storage, let graph = owner.graph else {
      return Array(array[places])
    }
    return owner.destinationKeys(slot)[places].compactMap {
      graph.object(for: $0, in: owner.shape.planIndex, adopting: Element.self) as? Element
    }
  }
}
