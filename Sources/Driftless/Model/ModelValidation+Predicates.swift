extension ModelValidation {
  /// Checks that each validation predicate has its warning, and that those of an attribute look at
  /// nothing but the value.
  func checkPredicates(
    of property: PropertyDescription, _ element: String
  ) throws(ModelError) {
    let counts = (property.validationPredicates.count, property.validationWarnings.count)
    guard counts.0 == counts.1 || counts.1 == 0 else {
      throw ModelError(
        .invalidValue, element: element,
        "it has \(counts.0) validation predicates and \(counts.1) warnings",
        suggestion: "Give each predicate its warning.")
    }
    guard let attribute = property as? AttributeDescription else { return }
    for predicate in attribute.ownPredicates {
      var strange: [String]?
      _ = predicate.mapExpressions { expression in
        switch expression {
        case .keyPath([]): break
        case .keyPath(["length"]) where attribute.type == .string: break
        case .keyPath(let path): strange = path
        default: break
        }
        return expression
      }
      guard let strange else { continue }
      throw ModelError(
        .unknownProperty, element: element,
        "a validation predicate names \(strange.joined(separator: ".")), which a value does not have",
        suggestion: "Use SELF for the value, and length for that of a text.")
    }
    for part in (attribute as? CompositeAttributeDescription)?.elements ?? [] {
      try checkPredicates(of: part, "\(element).\(part.name)")
    }
  }
}
