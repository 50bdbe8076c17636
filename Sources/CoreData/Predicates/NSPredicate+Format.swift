import Driftless
public import Foundation

/// What `init(format:_:)` is a member of: predicates are.
public protocol NSPredicateMaking {}

extension NSPredicate: NSPredicateMaking {}

// Foundation's predicates on Linux are constants, blocks and combinations of them. One that is made here is of a class of
// the module, which an initialiser of a protocol can give in place of the one that was named.
extension NSPredicateMaking {
  /// A predicate in words, with arguments for `%@`, `%K`, `%d`, `%ld`, `%f` and the like, in their order.
  ///
  /// It is evaluated on objects, on dictionaries, and on values and lists of them, which are `SELF`. Data of another type than
  /// it asks for do not satisfy it.
  ///
  /// Arguments that it does not ask for are passed over. A string that does not parse, or arguments that do not fit it, make the fetch that uses the predicate throw; evaluating
  /// it is a precondition failure. So is making a subclass by a format.
  public init(format predicateFormat: String, _ args: Any?...) {
    self = Self.made(predicateFormat, args)
  }

  /// A predicate in words, with its arguments in an array.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self = Self.made(predicateFormat, arguments ?? [])
  }

  /// A predicate in words, with its arguments in a list of C's, as `withVaList(_:_:)` makes one: numbers and objects.
  public init(format predicateFormat: String, arguments argList: CVaListPointer) {
    self = Self.made(predicateFormat, ListedArguments.read(argList, for: predicateFormat))
  }

  /// What a `#Predicate` asks of objects. A fetch finds by it what a property of the class reads; what cannot be asked of a store
  /// makes the fetch throw.
  public init?<Input: ManagedObject>(_ predicate: Foundation.Predicate<Input>) {
    guard let made = TypedPredicate(predicate) as? Self else { return nil }
    self = made
  }

  private static func made(_ format: String, _ arguments: [Any?]) -> Self {
    let values = arguments.map(predicateArgument)
    let outcome = Result { () throws(FetchError) in
      try FetchPredicate(format: format, argumentsAtLeast: values)
    }
    guard let made = NSPredicate.made(outcome) as? Self else {
      preconditionFailure("\"\(format)\" makes no \(Self.self): make an NSPredicate")
    }
    return made
  }
}

extension NSPredicate {
  /// A predicate of the library's.
  static func made(of predicate: FetchPredicate) -> NSPredicate { made(.success(predicate)) }

  /// A predicate of the class that Core Data gives it: one that compares, one of others, or another one.
  fileprivate static func made(_ outcome: Result<FetchPredicate, FetchError>) -> NSPredicate {
    guard case .success(let predicate) = outcome else { return KnownPredicate(outcome) }
    switch predicate {
    case .comparison(var comparison) where comparison.modifier == .none:
      comparison.modifier = .any
      return KnownCompoundPredicate(.not, [.comparison(comparison)], predicate)
    case .comparison(let comparison): return NSComparisonPredicate(known: comparison)
    case .and(let parts, _): return KnownCompoundPredicate(.and, parts, predicate)
    case .or(let parts, _): return KnownCompoundPredicate(.or, parts, predicate)
    case .not(let part, _): return KnownCompoundPredicate(.not, [part], predicate)
    case .constant, .block, .tooDeep: return KnownPredicate(outcome)
    }
  }

  /// The predicate with each `$NAME` replaced by the value of that name. A variable without a value makes the fetch that
  /// uses the predicate throw.
  public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    let values: [String: Any?] = variables.mapValues(predicateArgument)
    let outcome = Result { () throws(FetchError) in
      do {
        return try known().withSubstitutionVariables(values)
      } catch let error as FetchError { throw error } catch {
        throw FetchError(.argument, "\(error)", suggestion: "Correct the predicate.")
      }
    }
    return Self.made(outcome)
  }

  /// The predicate as the library has it. A block of the application's is one for objects in memory.
  ///
  /// - Parameter context: Knows what Swift properties read; nil where the predicate is of none.
  /// - Throws: `FetchError` for a format that does not parse.
  func known(in context: NSManagedObjectContext? = nil) throws -> FetchPredicate {
    try known(in: context, within: 0)
  }

  private func known(
    in context: NSManagedObjectContext?, within levels: Int
  ) throws -> FetchPredicate {
    if let known = self as? any KnowingPredicate { return try known.outcome.get() }
    if let typed = self as? TypedPredicate { return try typed.asked(in: context) }
    if let compound = self as? NSCompoundPredicate {
      // The library says that it is too deep, where this would not come back.
      guard levels < PredicateNesting.levelsMax else { return .tooDeep }
      let parts = try compound.subpredicates.map {
        try $0.known(in: context, within: levels + 1)
      }
      switch compound.compoundPredicateType {
      case .and: return .and(parts)
      case .or: return .or(parts)
      case .not: return .not(parts.first ?? .constant(false))
      @unknown default: break
      }
    }
    for value in [true, false] where isEqual(NSPredicate(value: value)) { return .constant(value) }
    let block = Carried(self)
    return FetchPredicate { block.value.evaluate(with: $0) }
  }
}

/// What predicates that were made here ask.
enum PredicateTrees {
  /// Evaluates what a predicate asks on an object, or on a dictionary; of constants alone on anything.
  static func block(
    _ outcome: Result<FetchPredicate, FetchError>
  ) -> @Sendable (Any?, [String: Any]?) -> Bool {
    { object, variables in
      do {
        var predicate = try outcome.get()
        if let variables {
          predicate = try predicate.withSubstitutionVariables(
            variables.mapValues(predicateArgument))
        }
        switch object {
        case let object as ManagedObject: return try predicate.evaluate(with: object)
        case let values as [String: Any]: return try predicate.evaluate(NamedValues(values: values))
        case let values as NSDictionary:
          let named = values.reduce(into: [String: Any]()) { $0["\($1.key)"] = $1.value }
          return try predicate.evaluate(NamedValues(values: named))
        default: return try predicate.evaluate(OneValue(object))
        }
      } catch let error as FetchError where error.isOfOtherType {
        // Data of another type than the predicate asks for satisfy nothing.
        return false
      } catch {
        preconditionFailure("\(error)")
      }
    }
  }
}

extension FetchError {
  fileprivate var isOfOtherType: Bool { [.typeMismatch, .toManyNotAllowed].contains(code) }
}

/// A value, or a list of values, objects and dictionaries, that is `SELF` itself. It has no property but a length.
struct OneValue: PropertySource {
  let predicateSelf: PredicateValue?

  init(_ value: Any?) {
    predicateSelf =
      Self.elements(of: value).map { .objects($0.map(Self.source)) }
      ?? .scalar(propertyValue(value) ?? .null)
  }

  var predicateObjectKey: ObjectKey? { nil }

  func predicateValue(forKey key: String) -> PredicateValue? {
    guard key == "length", case .scalar(let value)? = predicateSelf else { return nil }
    // No value of another type has one, and satisfies nothing by it.
    return .scalar(value.length.map { .integer($0) } ?? .null)
  }

  static func elements(of value: Any?) -> [Any?]? {
    switch value {
    case let array as NSArray: array.map { $0 }
    case let set as NSSet: set.allObjects
    case let set as NSOrderedSet: set.array
    case let array as [Any?]: array
    case let set as Set<AnyHashable>: set.map(\.base)
    default: nil
    }
  }

  static func source(_ element: Any?) -> any PropertySource {
    switch element {
    case let object as ManagedObject: object
    case let values as [String: Any]: NamedValues(values: values)
    case let values as NSDictionary:
      NamedValues(values: values.reduce(into: [:]) { $0["\($1.key)"] = $1.value })
    default: OneValue(element)
    }
  }
}

/// A dictionary as something that predicates and sort descriptors read.
struct NamedValues: PropertySource {
  let values: [String: Any]

  var predicateObjectKey: ObjectKey? { nil }

  func predicateValue(forKey key: String) -> PredicateValue? {
    let value = values[key]
    if let scalar = propertyValue(value) { return .scalar(scalar) }
    if let elements = OneValue.elements(of: value) {
      return .objects(elements.map(OneValue.source))
    }
    switch value {
    case let object as ManagedObject: return .object(object)
    case is [String: Any], is NSDictionary: return .object(OneValue.source(value))
    default: return .scalar(.null)
    }
  }
}

/// An argument as the library takes it: Foundation's classes as Swift's types.
func predicateArgument(_ argument: Any?) -> Any? {
  switch argument {
  case let list as [Any?]: list.map(predicateArgument)
  case let set as Set<AnyHashable>: set.map { predicateArgument($0.base) }
  case let array as NSArray: array.map { predicateArgument($0) }
  case let set as NSSet: set.allObjects.map { predicateArgument($0) }
  case let set as NSOrderedSet: set.array.map { predicateArgument($0) }
  case let token as NSPersistentHistoryToken: token.known
  case let expression as NSExpression: (try? expression.outcome.get()) ?? argument
  case let value as ManagedObject: value
  case let value as ManagedObjectID: value
  // A text may be a key path, which the library takes as it is.
  default: propertyValue(argument).map { $0.plain } ?? argument
  }
}

/// A value of Swift's or Foundation's as the library's; nil for what is none.
func propertyValue(_ value: Any?) -> PropertyValue? {
  switch value {
  case nil, is NSNull: .null
  case let value as PropertyValue: value
  case let value as NSDecimalNumber: .decimal(value.decimalValue)
  case let value as any AttributeConvertible: value.propertyValue
  case let value as any BinaryInteger: Int64(exactly: value).map { .integer($0) }
  case let value as NSString: .string(String(describing: value))
  case let value as NSNumber: numberValue(value)
  case let value as NSDate:
    .date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
  case let value as NSData: .data(Data(referencing: value))
  case let value as NSUUID: UUID(uuidString: value.uuidString).map { .uuid($0) }
  case let value as NSURL: URL(string: value.absoluteString).map { .uri($0) }
  default: nil
  }
}

/// A truth value is stored in one byte, like small numbers, of which 0 and 1 mean the same to a store.
private func numberValue(_ number: NSNumber) -> PropertyValue? {
  switch UInt8(bitPattern: number.objCType.pointee) {
  case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(number.doubleValue)
  case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map { .integer($0) }
  case UInt8(ascii: "B"),
    UInt8(ascii: "c") where (0...1).contains(number.intValue):
    .bool(number.boolValue)
  default: .integer(number.int64Value)
  }
}
