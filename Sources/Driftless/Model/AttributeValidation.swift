/// Checks an attribute of a model, and what it is made of.
struct AttributeValidation {
  /// The attribute as messages name it: `Place.location.lat`.
  let element: String

  func check(_ attribute: AttributeDescription) throws(ModelError) {
    if let composite = attribute as? CompositeAttributeDescription {
      return try checkElements(of: composite)
    }
    switch attribute.type {
    case .undefined where !attribute.isKeptInMemory:
      throw ModelError(
        .unknownType, element: element, "the attribute has no type",
        suggestion: "Give it a type, or make it transient.")
    case .composite:
      throw ModelError(
        .unknownType, element: element, "the attribute is composite but has no elements",
        suggestion: "Describe it by a CompositeAttributeDescription.")
    case .objectID:
      throw ModelError(
        .unknownType, element: element, "an attribute cannot hold the ID of an object",
        suggestion: "Make it a relationship, or a URI.")
    default: break
    }
    if let derived = attribute as? DerivedAttributeDescription,
      derived.derivationExpressionFormat?.isEmpty ?? true
    {
      throw ModelError(
        .invalidValue, element: element, "the attribute is derived but says not how",
        suggestion: "Give it a derivation expression such as books.@count.")
    }
    try checkValues(of: attribute)
  }

  private func checkElements(of composite: CompositeAttributeDescription) throws(ModelError) {
    guard composite.type == .composite else {
      throw ModelError(
        .unknownType, element: element, "a composite attribute has the type \(composite.type)",
        suggestion: "Leave its type as it is.")
    }
    guard composite.defaultValue.isNull else {
      throw ModelError(
        .invalidValue, element: element, "a composite attribute has no default value of its own",
        suggestion: "Give default values to its elements.")
    }
    var names: Set<String> = []
    for part in composite.elements {
      try ModelName.check(property: part.name, of: element)
      let name = "\(element).\(part.name)"
      guard names.insert(part.name).inserted else {
        throw ModelError(
          .duplicateName, element: name, "the composite attribute has two elements of this name",
          suggestion: "Rename one of them.")
      }
      guard part.composite === composite else {
        throw ModelError(
          .sharedElement, element: name, "the element belongs to another attribute too",
          suggestion: "Make a description of its own for each composite attribute.")
      }
      try AttributeValidation(element: name).check(part)
    }
  }

  private func checkValues(of attribute: AttributeDescription) throws(ModelError) {
    guard attribute.type.accepts(attribute.defaultValue) else {
      throw ModelError(
        .invalidValue, element: element, "the default value is not of the attribute's type",
        suggestion: "Give a default of the type \(attribute.type).")
    }
    if case .reference = attribute.defaultValue {
      throw ModelError(
        .invalidValue, element: element, "the default value is a reference to an object",
        suggestion: "Set the object in awakeFromInsert.")
    }
    for bound in [attribute.minimum, attribute.maximum].compactMap({ $0 }) {
      guard attribute.type.acceptsBound(bound) else {
        throw ModelError(
          .invalidValue, element: element, "a bound does not fit the type \(attribute.type)",
          suggestion: "Bound numbers by numbers, dates by dates, and texts by their length.")
      }
    }
    if let least = attribute.minimum, let greatest = attribute.maximum, greatest.isBelow(least) {
      throw ModelError(
        .invalidValue, element: element, "the maximum is below the minimum",
        suggestion: "Exchange the two.")
    }
    if let expression = attribute.regularExpression {
      guard AttributeDescription.pattern(expression) != nil else {
        throw ModelError(
          .invalidValue, element: element, "\(expression) is not a regular expression",
          suggestion: "Correct the pattern; its syntax is ICU's.")
      }
    }
  }

  /// How many slots an attribute takes.
  static func leafCount(of attribute: AttributeDescription) -> Int {
    guard let composite = attribute as? CompositeAttributeDescription else { return 1 }
    return composite.elements.reduce(0) { $0 + leafCount(of: $1) }
  }
}
