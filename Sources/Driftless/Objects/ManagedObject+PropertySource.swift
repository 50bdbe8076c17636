extension ManagedObject: PropertySource {
  package final var predicateObjectKey: ObjectKey? { objectKey }

  package final func predicateValue(forKey key: String) -> PredicateValue? {
    guard let slot = shape.layout.index(named: key) else { return nil }
    guard let relation = shape.relations[slot] else { return .scalar(read(slot)) }
    if relation.isToMany { return .objects(destinations(slot)) }
    guard let object = destination(of: relation, as: ManagedObject.self) else {
      return .scalar(.null)
    }
    return .object(object)
  }
}
