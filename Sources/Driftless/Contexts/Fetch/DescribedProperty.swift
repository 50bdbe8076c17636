/// A fetched property as its own predicate sees it, under the name `$FETCHED_PROPERTY`: what its description says.
struct DescribedProperty: PropertySource, PredicateArgument {
  private let property: FetchedPropertyDescription

  init(_ property: FetchedPropertyDescription) { self.property = property }

  /// By itself it stands for its name.
  var predicateArgument: PropertyValue? { .string(property.name) }

  var predicateObjectKey: ObjectKey? { nil }

  func predicateValue(forKey key: String) -> PredicateValue? {
    switch key {
    case "name": .scalar(.string(property.name))
    case "userInfo": .object(Notes(texts: property.userInfo))
    default: nil
    }
  }

  /// What an application wrote into the description; no value for a key that it did not.
  private struct Notes: PropertySource {
    let texts: [String: String]

    var predicateObjectKey: ObjectKey? { nil }

    func predicateValue(forKey key: String) -> PredicateValue? {
      .scalar(texts[key].map { .string($0) } ?? .null)
    }
  }
}
