/// A predicate that belongs to one class of objects: `Book.pages > 300 && Book.title == "x"`.
public struct TypedPredicate<Root: ManagedObject>: Hashable, Sendable {
  /// The predicate without its class.
  public let predicate: FetchPredicate

  /// Takes a predicate for one of this class; whether its keys are properties of the class is checked by the fetch.
  public init(_ predicate: FetchPredicate) { self.predicate = predicate }

  /// Both hold.
  public static func && (left: Self, right: Self) -> Self {
    switch left.predicate {
    case .and(let parts, _): Self(.and(parts + [right.predicate]))
    default: Self(.and([left.predicate, right.predicate]))
    }
  }

  /// One of the two holds, or both.
  public static func || (left: Self, right: Self) -> Self {
    switch left.predicate {
    case .or(let parts, _): Self(.or(parts + [right.predicate]))
    default: Self(.or([left.predicate, right.predicate]))
    }
  }

  /// It does not hold.
  public static prefix func ! (operand: Self) -> Self { Self(.not(operand.predicate)) }
}

/// A typed key path to one value: an attribute, or one behind to-one relationships.
public protocol ComparableKey<Root, Value>: Sendable {
  associatedtype Root: ManagedObject
  associatedtype Value: AttributeConvertible

  /// The property names from the root on.
  var comparisonPath: [String] { get }
}

extension Attribute: ComparableKey {
  /// The names of the attribute: one, or those of a composite and its element.
  public var comparisonPath: [String] { property.name.split(separator: ".").map(String.init) }
}

/// An attribute behind to-one relationships: `Book.author[Author.name]`.
public struct AttributePath<Root: ManagedObject, Value: AttributeConvertible>: ComparableKey {
  /// The property names from the root on.
  public let comparisonPath: [String]

  init(_ path: [String]) { comparisonPath = path }
}

extension ComparableKey {
  var expression: FetchExpression { .keyPath(comparisonPath) }

  func compare(
    _ operator: FetchComparison.Operator, _ right: FetchExpression,
    _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    TypedPredicate(.comparison(FetchComparison(expression, `operator`, right, options: options)))
  }

  /// The value is this one.
  public static func == (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.equal, .constant(right.propertyValue))
  }

  /// In the store this leaves out objects without a value; see ``FetchPredicate``.
  public static func != (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.notEqual, .constant(right.propertyValue))
  }

  /// The value is less.
  public static func < (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.less, .constant(right.propertyValue))
  }

  /// The value is less, or this one.
  public static func <= (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.lessOrEqual, .constant(right.propertyValue))
  }

  /// The value is greater.
  public static func > (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.greater, .constant(right.propertyValue))
  }

  /// The value is greater, or this one.
  public static func >= (left: Self, right: Value) -> TypedPredicate<Root> {
    left.compare(.greaterOrEqual, .constant(right.propertyValue))
  }

  /// The value is one of these.
  public func `in`(_ values: some Sequence<Value>) -> TypedPredicate<Root> {
    compare(.in, .list(values.map { .constant($0.propertyValue) }))
  }

  /// The value lies between the bounds, both included.
  public func between(_ lower: Value, _ upper: Value) -> TypedPredicate<Root> {
    compare(.between, .list([.constant(lower.propertyValue), .constant(upper.propertyValue)]))
  }

  /// There is no value.
  public var isNull: TypedPredicate<Root> { compare(.equal, .constant(.null)) }

  /// There is a value.
  public var isNotNull: TypedPredicate<Root> { compare(.notEqual, .constant(.null)) }

  /// Orders from the least value up; objects without a value come first.
  public var ascending: TypedSort<Root> {
    TypedSort(FetchSort(path: comparisonPath, ascending: true, options: []))
  }

  /// Orders from the greatest value down; objects without a value come last.
  public var descending: TypedSort<Root> {
    TypedSort(FetchSort(path: comparisonPath, ascending: false, options: []))
  }
}

/// Compares two properties of one object: `Book.read < Book.pages`.
public func == <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.equal, right.expression)
}

/// The two properties of an object differ.
public func != <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.notEqual, right.expression)
}

/// The left property of an object is less than the right one.
public func < <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.less, right.expression)
}

/// The left property of an object is greater than the right one.
public func > <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.greater, right.expression)
}

/// The left property of an object is at most the right one.
public func <= <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.lessOrEqual, right.expression)
}

/// The left property of an object is at least the right one.
public func >= <Left: ComparableKey, Right: ComparableKey>(
  left: Left, right: Right
) -> TypedPredicate<Left.Root> where Left.Root == Right.Root, Left.Value == Right.Value {
  left.compare(.greaterOrEqual, right.expression)
}

/// A sort key that belongs to one class of objects, made by `Book.title.ascending`.
public struct TypedSort<Root: ManagedObject>: Hashable, Sendable {
  /// The sort key without its class.
  public let sort: FetchSort

  init(_ sort: FetchSort) { self.sort = sort }
}
