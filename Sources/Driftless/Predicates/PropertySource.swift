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

/// What `entity` is in a predicate: a text, the name of the object's entity, which `entity.name` is as well. No property of a
/// model is called so.
struct EntityName: PropertySource {
  static let key = "entity"

  private let name: String

  init(_ name: String) { self.name = name }

  /// Whether the steps lead to the entity of the object that they begin at, or to its name.
  static func isPath(_ steps: ArraySlice<String>) -> Bool {
    Array(steps) == [key] || Array(steps) == [key, "name"]
  }

  var predicateObjectKey: ObjectKey? { nil }

  var predicateSelf: PredicateValue? { .scalar(.string(name)) }

  func predicateValue(forKey key: String) -> PredicateValue? {
    key == "name" ? .scalar(.string(name)) : nil
  }
}
