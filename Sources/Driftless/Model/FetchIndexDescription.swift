/// An index of an entity's table. It may be changed until the entity's model is frozen.
///
/// ```swift
/// book.indexes = [
///   FetchIndexDescription(
///     name: "byTitle", elements: [FetchIndexElementDescription(propertyName: "title")])
/// ]
/// ```
public final class FetchIndexDescription: @unchecked Sendable {  // frozen before it is shared
  private var values: Values
  private(set) var isFrozen = false

  private struct Values {
    var name: String
    var elements: [FetchIndexElementDescription]
    var partialIndexPredicateFormat: String?
  }

  /// The entity that the index is of; nil until it is given to one.
  public private(set) weak var entity: EntityDescription?

  /// An index that belongs to no entity yet.
  ///
  /// - Parameters:
  ///   - name: The name, which the SQL index has in its own.
  ///   - elements: The columns, the most significant first.
  ///   - partialIndexPredicateFormat: Only rows that meet it are in the index; nil for all.
  public init(
    name: String, elements: [FetchIndexElementDescription],
    partialIndexPredicateFormat: String? = nil
  ) {
    values = Values(
      name: name, elements: elements, partialIndexPredicateFormat: partialIndexPredicateFormat)
    for element in elements { element.join(self) }
  }

  /// The name, which the SQL index has in its own.
  public var name: String {
    get { values.name }
    set { edit { $0.name = newValue } }
  }
  /// The columns, the most significant first. All are binary, or all R-tree.
  public var elements: [FetchIndexElementDescription] {
    get { values.elements }
    set {
      edit { values in
        for element in values.elements { element.leave(self) }
        values.elements = newValue
        for element in newValue { element.join(self) }
      }
    }
  }
  /// Only rows that meet this predicate are in the index; nil for all.
  ///
  /// Nil for a text that is no predicate: ``partialIndexPredicateFormat`` has the text.
  @_disfavoredOverload
  public var partialIndexPredicate: FetchPredicate? {
    get { partialIndexPredicateFormat.flatMap { try? FetchPredicate(format: $0) } }
    set { partialIndexPredicateFormat = newValue?.description }
  }
  /// ``partialIndexPredicate`` as a format string.
  public var partialIndexPredicateFormat: String? {
    get { values.partialIndexPredicateFormat }
    set { edit { $0.partialIndexPredicateFormat = newValue } }
  }

  private func edit(_ change: (inout Values) -> Void) {
    guard mayChange() else { return }
    // A copy, so that the change may look at the index.
    var changed = values
    change(&changed)
    values = changed
  }

  /// Whether a setter may do its work. Reports the change when not.
  func mayChange() -> Bool {
    if isFrozen {
      FrozenModel.report("\(entity?.name ?? "").\(name)", entity?.managedObjectModel)
    }
    return !isFrozen
  }

  func join(_ entity: EntityDescription) {
    if !isFrozen { self.entity = entity }
  }

  func leave(_ entity: EntityDescription) {
    if !isFrozen, self.entity === entity { self.entity = nil }
  }

  func freeze() { isFrozen = true }
}

extension FetchIndexDescription: Equatable {
  /// Whether the two describe the same index, of whatever entity.
  public static func == (a: FetchIndexDescription, b: FetchIndexDescription) -> Bool {
    a.name == b.name && a.elements == b.elements
      && a.partialIndexPredicateFormat == b.partialIndexPredicateFormat
  }
}
