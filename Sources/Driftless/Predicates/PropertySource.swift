/// What a predicate reads when it is evaluated in memory: one object.
package protocol PropertySource {
  /// The object's place in the store; nil for a source that is not a stored object.
  var predicateObjectKey: ObjectKey? { get }

  /// What `SELF` is, of a source that is a value and no object; nil of an object.
  var predicateSelf: PredicateValue? { get }

  /// Whether a key path that ends early, at the empty to-one relationship `name`, would have led to many values by `rest`.
  func predicateLeadsToMany(_ name: String, _ rest: ArraySlice<String>) -> Bool

  /// The value of one property, not a key path; nil when there is no property of that name.
  /// A leaf of a composite attribute is asked for by its full name, `location.lat`.
  func predicateValue(forKey key: String) -> PredicateValue?

  /// The objects that a fetch inside of a predicate finds.
  func predicateFetch(_ fetch: SubFetch) throws(FetchError) -> [any PropertySource]
}

extension PropertySource {
  package var predicateSelf: PredicateValue? { nil }

  package func predicateLeadsToMany(_ name: String, _ rest: ArraySlice<String>) -> Bool { false }

  package func predicateFetch(_ fetch: SubFetch) throws(FetchError) -> [any PropertySource] {
    throw FetchError(
      .unsupported, "FETCH needs an object of a context", suggestion: "Compare properties here.")
  }
}

/// What a property holds, as predicates see it.
package enum PredicateValue {
  /// An attribute's value, or `.null` for an empty to-one relationship.
  case scalar(PropertyValue)
  /// The object at the end of a to-one relationship.
  case object(any PropertySource)
  /// The objects of a to-many relationship.
  case objects([any PropertySource])
}
