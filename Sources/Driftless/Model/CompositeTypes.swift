/// The composite types that a model file declares.
struct CompositeTypes {
  /// The most attributes, nested ones counted one by one, that a type may have: a store's table has
  /// fewer columns. Types that hold types multiply.
  static let leavesMax = 2000

  private var types: [String: ModelElement] = [:]

  init(_ elements: [ModelElement]) throws(ModelError) {
    for element in elements {
      let name = element.attributes["name"] ?? ""
      guard types.updateValue(element, forKey: name) == nil else {
        throw ModelError(
          .duplicateName, element: name, "two composite types have this name",
          suggestion: "Rename one of them.")
      }
    }
    var known: [String: Int] = [:]
    for name in types.keys.sorted() { _ = try leafCount(of: name, &known, above: []) }
  }

  /// The attributes of a type; nil for a type that is not declared.
  func elements(of name: String) -> [ModelElement]? { types[name]?.children(named: "attribute") }

  private func leafCount(
    of name: String, _ known: inout [String: Int], above: [String]
  ) throws(ModelError) -> Int {
    if let count = known[name] { return count }
    // Depth too is bounded: each level of an attribute is a level of recursion.
    guard !above.contains(name), above.count < 64 else {
      throw ModelError(
        .unknownType, element: name, "the composite type contains itself, or nests too deep",
        suggestion: "Break the circle of composite types.")
    }
    var count = 0
    for element in elements(of: name) ?? [] {
      if element.attributes["attributeType"] == "Composite" {
        let type = element.attributes["composite"] ?? ""
        count += try leafCount(of: type, &known, above: above + [name])
      } else {
        count += 1
      }
      guard count <= Self.leavesMax else {
        throw ModelError(
          .tooLarge, element: name,
          "the composite type has more than \(Self.leavesMax) attributes, nested ones included",
          suggestion: "Move some to an entity of their own.")
      }
    }
    known[name] = count
    return count
  }
}
