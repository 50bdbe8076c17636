import Driftless

/// What is added to and removed from one object's to-many relationship, as keys of this store.
struct ElementChange {
  var relationship: RelationshipDescription
  var adds: [ObjectKey]
  var removes: [ObjectKey]
}

extension ElementChange {
  /// What makes one set of another one, each part in the order of the set that has it.
  init(_ relationship: RelationshipDescription, from former: [ObjectKey], to wanted: [ObjectKey]) {
    self.init(
      relationship: relationship, adds: wanted.without(former), removes: former.without(wanted))
  }
}

extension Array where Element: Hashable {
  /// The elements that others are not, in their order.
  package func without(_ others: [Element]) -> [Element] {
    guard !isEmpty, !others.isEmpty else { return self }
    let gone = Set(others)
    return filter { !gone.contains($0) }
  }

  /// The elements, and behind them those of others that are not among them.
  package func united(with others: [Element]) -> [Element] {
    var known = Set(self)
    return self + others.filter { known.insert($0).inserted }
  }
}
