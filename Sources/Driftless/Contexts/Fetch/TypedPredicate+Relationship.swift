extension ToOne {
  /// An attribute of the object at the other end: `Book.author[Author.name] == "Eco"`.
  public subscript<Value: AttributeConvertible>(
    key: Attribute<Destination, Value>
  ) -> AttributePath<Root, Value> {
    AttributePath([property.name] + key.comparisonPath)
  }

  /// An attribute further on: `Book.author[Author.city[City.name]]`.
  public subscript<Value: AttributeConvertible>(
    key: AttributePath<Destination, Value>
  ) -> AttributePath<Root, Value> {
    AttributePath([property.name] + key.comparisonPath)
  }

  /// There is no object at the other end.
  public var isNull: TypedPredicate<Root> { compare(.equal, .constant(.null)) }

  /// There is an object at the other end.
  public var isNotNull: TypedPredicate<Root> { compare(.notEqual, .constant(.null)) }

  func compare(
    _ operator: FetchComparison.Operator, _ right: FetchExpression
  ) -> TypedPredicate<Root> {
    TypedPredicate(.comparison(FetchComparison(.keyPath([property.name]), `operator`, right)))
  }
}

extension ToMany {
  /// At least one of the objects satisfies the predicate; false for no objects.
  public func any(_ predicate: TypedPredicate<Destination>) -> TypedPredicate<Root> {
    count(of: predicate.predicate, .greater)
  }

  /// No object satisfies the predicate; true for no objects.
  public func none(_ predicate: TypedPredicate<Destination>) -> TypedPredicate<Root> {
    count(of: predicate.predicate, .equal)
  }

  /// How many objects there are: `Author.books.count > 3`.
  public var count: CollectionCount<Root> { CollectionCount(path: [property.name]) }

  /// There are no objects at the other end.
  public var isEmpty: TypedPredicate<Root> { count == 0 }

  private func count(
    of predicate: FetchPredicate, _ operator: FetchComparison.Operator
  ) -> TypedPredicate<Root> {
    let variable = "e\(predicate.subqueryDepth)"
    let matching = FetchExpression.subquery(
      of: .keyPath([property.name]), variable: variable, where: predicate.rooted(at: variable))
    return TypedPredicate(
      .comparison(
        FetchComparison(
          .collection(.count, of: matching, path: []), `operator`, .constant(.integer(0)))))
  }
}

/// The number of objects in a to-many relationship.
public struct CollectionCount<Root: ManagedObject>: Sendable {
  let path: [String]

  /// There are so many objects: `Author.books.count == 3`.
  public static func == (left: Self, right: Int) -> TypedPredicate<Root> {
    left.compare(.equal, right)
  }

  /// There are fewer objects.
  public static func < (left: Self, right: Int) -> TypedPredicate<Root> {
    left.compare(.less, right)
  }

  /// There are more objects.
  public static func > (left: Self, right: Int) -> TypedPredicate<Root> {
    left.compare(.greater, right)
  }

  private func compare(
    _ operator: FetchComparison.Operator, _ right: Int
  ) -> TypedPredicate<Root> {
    TypedPredicate(
      .comparison(
        FetchComparison(
          .collection(.count, of: .keyPath(path), path: []), `operator`,
          .constant(.integer(Int64(right))))))
  }
}
