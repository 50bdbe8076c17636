/// One column of an index: a property, or an expression of properties.
public final class FetchIndexElementDescription: @unchecked Sendable {  // frozen with its index
  /// How the index is built. An index is of one kind.
  public enum CollationType: Int, Hashable, Sendable { case binary = 0, rTree = 1 }

  /// Core Data's words for what every row has, in place of a property, and their columns.
  static let rowWords = ["self": "Z_PK", "SELF": "Z_PK", "objectID": "Z_PK", "entity": "Z_ENT"]

  private var values: Values

  private struct Values {
    var propertyName: String
    var expressionFormat: String?
    var collationType: CollationType
    var isAscending: Bool
    var fileAttributes: [String: String] = [:]
  }

  /// The index that the element is of; nil until it is given to one.
  public private(set) weak var indexDescription: FetchIndexDescription?

  /// An element by the name of a property, or of a composite attribute's leaf (`location.lat`).
  public init(
    propertyName: String, expressionFormat: String? = nil, collationType: CollationType = .binary,
    isAscending: Bool = true
  ) {
    values = Values(
      propertyName: propertyName, expressionFormat: expressionFormat,
      collationType: collationType, isAscending: isAscending)
  }

  /// An element by a property of the index's entity, or by an ``ExpressionDescription``.
  public convenience init(
    property: PropertyDescription, collationType: CollationType = .binary
  ) {
    let expression = property as? ExpressionDescription
    self.init(
      propertyName: expression == nil ? property.name : "",
      expressionFormat: expression.map { $0.expressionFormat ?? "" }, collationType: collationType)
    if let type = expression?.expressionResultType, type != .undefined {
      values.fileAttributes["expressionType"] =
        ModelVocabulary.attributeTypes.first { $0.value == type }?.key
    }
  }

  /// The property; for an expression a description of it. Nil until the index is an entity's.
  public var property: PropertyDescription? {
    guard let format = values.expressionFormat else {
      return indexDescription?.entity?.propertiesByName[values.propertyName]
    }
    let expression = ExpressionDescription()
    expression.expressionFormat = format
    expression.expressionResultType =
      values.fileAttributes["expressionType"].flatMap { ModelVocabulary.attributeTypes[$0] }
      ?? .undefined
    return expression
  }
  /// The name of the property; empty for an expression.
  public var propertyName: String { values.propertyName }
  /// An expression in place of a property, as a format string.
  public var expressionFormat: String? { values.expressionFormat }
  /// Binary for an index that orders, R-tree for one that finds ranges of numbers.
  public var collationType: CollationType {
    get { values.collationType }
    set { if mayChange() { values.collationType = newValue } }
  }
  /// Whether the index is in ascending order. True for a new description.
  public var isAscending: Bool {
    get { values.isAscending }
    set { if mayChange() { values.isAscending = newValue } }
  }
  /// Further attributes of the element in the model file, kept for writing it back.
  var fileAttributes: [String: String] {
    get { values.fileAttributes }
    set { if mayChange() { values.fileAttributes = newValue } }
  }

  private func mayChange() -> Bool { indexDescription?.mayChange() ?? true }

  func join(_ index: FetchIndexDescription) {
    if !index.isFrozen { indexDescription = index }
  }

  func leave(_ index: FetchIndexDescription) {
    if !index.isFrozen, indexDescription === index { indexDescription = nil }
  }
}

extension FetchIndexElementDescription: Equatable {
  /// Whether the two describe the same column, of whatever index.
  public static func == (a: FetchIndexElementDescription, b: FetchIndexElementDescription) -> Bool {
    a.propertyName == b.propertyName && a.expressionFormat == b.expressionFormat
      && a.collationType == b.collationType && a.isAscending == b.isAscending
  }
}
