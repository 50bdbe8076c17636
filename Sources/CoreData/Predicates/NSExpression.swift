// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
import Driftless
public import Foundation

/// One side of a comparison, what a dictionary of a fetch holds, or where a derived attribute's value comes from.
/// Foundation's has no way to make one on Linux.
open class NSExpression: NSObject, @unchecked Sendable {  // nothing of it changes
  /// What an expression is. The raw values are Core Data's.
  public enum ExpressionType: UInt, Sendable {
    case constantValue = 0
    case evaluatedObject = 1
    case variable = 2
    case keyPath = 3
    case function = 4
    case subquery = 13
    case aggregate = 14
    case conditional = 20
    /// What another fetch finds.
    case fetchRequest = 50
  }

  /// What it is.
  public let expressionType: ExpressionType
  /// The value of a constant as it was given.
  public let constantValue: Any?
  private let givenArguments: [NSExpression]?
  /// The name of a function: `sum:`, `add:to:`.
  public let function: String
  /// As the library has it, or why it has none.
  let outcome: Result<FetchExpression, FetchError>
  private let levels: Int

  init(
    _ type: ExpressionType, _ outcome: Result<FetchExpression, FetchError>,
    constant: Any? = nil, function: String = "", arguments: [NSExpression]? = nil
  ) {
    expressionType = type
    self.outcome = outcome
    constantValue = constant
    self.function = function
    levels = 1 + (arguments ?? []).reduce(0) { max($0, $1.levels) }
    // One that is too deep for the library keeps none: to let go of them, each within the other, would need a stack as deep.
    givenArguments = levels > PredicateNesting.levelsMax ? [] : arguments
  }

  /// One of the library's.
  convenience init(known expression: FetchExpression) {
    let value: Any? = expression.constant
    var name = ""
    if case .function(let function, _, _) = expression { name = function.rawValue }
    self.init(Self.type(of: expression), .success(expression), constant: value, function: name)
  }

  /// The expressions that a function works on, or of a list.
  open var arguments: [NSExpression]? {
    if let givenArguments { return givenArguments }
    switch outcome {
    case .success(.function(_, let parts, _)), .success(.list(let parts, _)):
      return parts.map(NSExpression.init(known:))
    default: return nil
    }
  }

  private static func type(of expression: FetchExpression) -> ExpressionType {
    switch expression {
    case .constant: .constantValue
    case .keyPath(let path): path.isEmpty ? .evaluatedObject : .keyPath
    // As it stands in a key path: `books.@count`.
    case .collection(_, .keyPath(let owner), _, _) where !owner.isEmpty: .keyPath
    case .variable: .variable
    case .list: .aggregate
    case .subquery: .subquery
    case .conditional: .conditional
    case .fetch: .fetchRequest
    default: .function
    }
  }

  /// Equal are those of one kind and one text.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression, expressionType == other.expressionType,
      case .success(let mine) = outcome, case .success(let theirs) = other.outcome
    else { return self === object as? NSExpression }
    return mine == theirs
  }

  open override var hash: Int { (try? outcome.get())?.hashValue ?? 0 }

  /// A value; one that no predicate can hold makes the fetch that uses it throw.
  public convenience init(forConstantValue obj: Any?) {
    let value = predicateArgument(obj)
    self.init(
      .constantValue,
      Result { () throws(FetchError) in try FetchExpression(format: "%@", value) }, constant: obj)
  }

  /// A property of the evaluated object, or one behind it: `author.name`.
  public convenience init(forKeyPath keyPath: String) {
    self.init(
      .keyPath,
      Result { () throws(FetchError) in try FetchExpression(format: "%K", keyPath) })
  }

  /// `$name`
  public convenience init(forVariable string: String) {
    self.init(.variable, .success(.variable(string, path: [])))
  }

  /// A list of expressions.
  public convenience init(forAggregate subexpressions: [NSExpression]) {
    let outcome = Result { () throws(FetchError) in
      FetchExpression.list(try Self.known(subexpressions))
    }
    self.init(.aggregate, outcome, arguments: subexpressions)
  }

  /// A function by Core Data's name: `sum:`, `count:`, `uppercase:`, `add:to:`. A name that there is not makes the fetch
  /// that uses it throw.
  public convenience init(forFunction name: String, arguments parameters: [Any]) {
    let arguments = parameters.map {
      $0 as? NSExpression ?? NSExpression(forConstantValue: $0)
    }
    let outcome = Result { () throws(FetchError) in
      let texts = try Self.known(arguments).map(\.description)
      return try FetchExpression(format: "\(name)(\(texts.joined(separator: ", ")))")
    }
    self.init(.function, outcome, function: name, arguments: arguments)
  }

  /// What an object answers to a call by name, as expressions of mapping models make: of the migration manager, of a policy.
  public convenience init(
    forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?
  ) {
    let arguments = (parameters ?? []).map {
      $0 as? NSExpression ?? NSExpression(forConstantValue: $0)
    }
    let outcome = Result { () throws(FetchError) in
      FetchExpression.message(
        to: try target.outcome.get(), selector: name, try Self.known(arguments))
    }
    self.init(.function, outcome, function: name, arguments: arguments)
  }

  /// The elements of a collection that satisfy a predicate, in which they are `$variable`.
  public convenience init(
    forSubquery expression: NSExpression, usingIteratorVariable variable: String,
    predicate: NSPredicate
  ) {
    self.init(
      .subquery,
      Result { () throws(FetchError) in
        .subquery(
          of: try expression.outcome.get(), variable: variable, where: try predicate.checked())
      })
  }

  /// One of two expressions, by a predicate.
  public convenience init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression,
    falseExpression: NSExpression
  ) {
    self.init(
      .conditional,
      Result { () throws(FetchError) in
        .conditional(
          try predicate.checked(), then: try trueExpression.outcome.get(),
          else: try falseExpression.outcome.get())
      })
  }

  /// An expression in words, with arguments for `%@`, `%K` and `%d`.
  public convenience init(format expressionFormat: String, _ args: Any?...) {
    self.init(format: expressionFormat, arguments: args)
  }

  /// An expression in words, with its arguments in an array.
  public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
    self.init(format: expressionFormat, arguments: arguments)
  }

  private convenience init(format: String, arguments: [Any?]) {
    let outcome = Result { () throws(FetchError) in
      // The text of a comparison of the same expression is what the parser takes an array of arguments for.
      let predicate = try FetchPredicate(
        format: "(\(format)) == nil", argumentsAtLeast: arguments.map(predicateArgument))
      guard case .comparison(let comparison) = predicate else {
        throw FetchError(
          .syntax, "\"\(format)\" is no expression", suggestion: "Give one expression.",
          format: format)
      }
      return comparison.left
    }
    switch outcome {
    case .success(let expression): self.init(known: expression)
    case .failure: self.init(.function, outcome)
    }
  }

  /// The evaluated object itself: `SELF`.
  public class func expressionForEvaluatedObject() -> NSExpression {
    NSExpression(.evaluatedObject, .success(.keyPath([])))
  }

  /// What the expression stands for of an object or a dictionary; of nil, without any properties. What cannot be computed is a
  /// precondition failure.
  ///
  /// - Parameters:
  ///   - object: What it is evaluated for.
  ///   - context: Values of variables, by their names.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    if expressionType == .constantValue { return constantValue }
    if expressionType == .evaluatedObject { return object }
    do {
      var expression = try outcome.get()
      if let context {
        let values = context.reduce(into: [String: Any?]()) {
          $0["\($1.key)"] = predicateArgument($1.value)
        }
        // Variables are those of predicates.
        let asked = FetchPredicate.comparison(FetchComparison(expression, .equal, .constant(.null)))
        if case .comparison(let comparison) = try asked.withSubstitutionVariables(values) {
          expression = comparison.left
        }
      }
      let value = try expression.value(of: try Self.source(object))
      return foundationValue(value)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private static func source(_ object: Any?) throws -> any PropertySource {
    switch object {
    case let object as ManagedObject: return object
    case let values as [String: Any]: return NamedValues(values: values)
    case let values as NSDictionary:
      return NamedValues(values: values.reduce(into: [:]) { $0["\($1.key)"] = $1.value })
    case nil: return NamedValues(values: [:])
    default:
      throw FetchError(
        .unsupported, "An expression is for managed objects and dictionaries",
        suggestion: "Read the value of the object itself.")
    }
  }

  /// The names of a key path, joined by dots; empty for another expression.
  open var keyPath: String {
    switch outcome {
    case .success(.keyPath(let path)): path.joined(separator: ".")
    case .success(let expression) where expressionType == .keyPath: expression.description
    default: ""
    }
  }

  /// The name of a variable, or of a subquery's; empty for another expression.
  open var variable: String {
    switch outcome {
    case .success(.variable(let name, _)), .success(.subquery(_, let name, _, _)): name
    default: ""
    }
  }

  /// The expression in words.
  open override var description: String {
    switch outcome {
    case .success(let expression): expression.description
    case .failure(let error): "\(error)"
    }
  }

  private static func known(
    _ expressions: [NSExpression]
  ) throws(FetchError) -> [FetchExpression] {
    var known: [FetchExpression] = []
    for expression in expressions { known.append(try expression.outcome.get()) }
    return known
  }
}

/// The type of an `NSFetchRequestExpression`.
public let NSFetchRequestExpressionType = NSExpression.ExpressionType.fetchRequest

/// What another fetch finds, inside of a predicate: `FETCH(%@, nil, NO)`.
open class NSFetchRequestExpression: NSExpression, @unchecked Sendable {  // nothing of it changes
  /// The fetch request, as a constant.
  public let requestExpression: NSExpression
  /// Without meaning: the fetch is made where the predicate is evaluated.
  public let contextExpression: NSExpression
  /// Whether it stands for the number of objects.
  public let isCountOnlyRequest: Bool

  private init(_ fetch: NSExpression, _ context: NSExpression, _ countOnly: Bool) {
    requestExpression = fetch
    contextExpression = context
    isCountOnlyRequest = countOnly
    let outcome = Result { () throws(FetchError) -> FetchExpression in
      guard let request = fetch.constantValue as? any KnownFetch else {
        throw FetchError(
          .argument, "A fetch in a predicate needs a fetch request",
          suggestion: "Give NSExpression(forConstantValue: request).")
      }
      return .fetch(try SubFetch(try request.checked()), countOnly: countOnly)
    }
    super.init(.fetchRequest, outcome)
  }

  /// - Parameters:
  ///   - fetch: The fetch request, as a constant.
  ///   - context: Without meaning here.
  ///   - countFlag: Whether it stands for the number of objects.
  public class func expression(
    forFetch fetch: NSExpression, context: NSExpression, countOnly countFlag: Bool
  ) -> NSExpression {
    NSFetchRequestExpression(fetch, context, countFlag)
  }
}

/// A fetch request of whatever result.
private protocol KnownFetch {
  func checked() throws(FetchError) -> FetchRequest<ManagedObject>
}

extension NSFetchRequest: KnownFetch {
  fileprivate func checked() throws(FetchError) -> FetchRequest<ManagedObject> {
    do { return try known(in: nil) } catch let error as FetchError { throw error } catch {
      throw FetchError(.argument, "\(error)", suggestion: "Correct the fetch request.")
    }
  }
}

extension NSPredicate {
  /// The predicate as the library has it.
  func checked() throws(FetchError) -> FetchPredicate {
    do { return try known() } catch let error as FetchError { throw error } catch {
      throw FetchError(.argument, "\(error)", suggestion: "Correct the predicate.")
    }
  }
}
