// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
import Driftless
public import Foundation

// Of what an expression is made.
extension NSExpression {
  /// What a Swift property of a class of objects reads, as a fetch would ask for it. A property that reads no attribute or
  /// relationship as it is makes the fetch that uses the expression throw.
  public convenience init<Root: ManagedObject, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    ObjectClassNames.note(Root.self)
    let outcome = Result { () throws(FetchError) in
      let name = try Root.knownPropertyName(of: keyPath) { object in
        guard let object = object as? Root else { return nil }
        let value: Any = object[keyPath: keyPath]
        if value is ManagedObject { return value }
        if let plain = propertyValue(value)?.plain { return plain }
        return value
      }
      return try FetchExpression(format: "%K", name)
    }
    switch outcome {
    case .success(let expression): self.init(known: expression)
    case .failure: self.init(.keyPath, outcome)
    }
  }

  /// The elements of a list, as expressions, or the expression that gives a subquery its collection; nil for another one.
  public var collection: Any? {
    switch outcome {
    case .success(.list): arguments
    case .success(.subquery(let collection, _, _, _)): NSExpression(known: collection)
    default: nil
    }
  }

  /// What a subquery's elements satisfy, or what a conditional one looks at; a true one for another expression.
  public var predicate: NSPredicate {
    switch outcome {
    case .success(.subquery(_, _, let predicate, _)),
      .success(.conditional(let predicate, _, _, _)):
      NSPredicate.made(of: predicate)
    default: NSPredicate(value: true)
    }
  }

  /// What a conditional expression is where its predicate holds; the expression itself for another one.
  public var `true`: NSExpression {
    if case .success(.conditional(_, let part, _, _)) = outcome { return NSExpression(known: part) }
    return self
  }

  /// What a conditional expression is where its predicate does not hold; the expression itself for another one.
  public var `false`: NSExpression {
    if case .success(.conditional(_, _, let part, _)) = outcome { return NSExpression(known: part) }
    return self
  }
}

extension FetchExpression {
  /// The value of a constant, or the values of a list of constants; nil of anything else.
  var constant: Any? {
    switch self {
    case .constant(let value): return foundationValue(value.plain)
    case .list(let parts, _):
      var values: [Any] = []
      for part in parts {
        guard case .constant(let value) = part else { return nil }
        values.append(foundationValue(value.plain) ?? NSNull())
      }
      return values
    default: return nil
    }
  }
}
