import Driftless
import DriftlessSQLite
import Foundation

/// A total order of values, the same on every replica. Null is the least; values of different kinds
/// go by kind.
enum ValueOrder: Sendable {
  case ascending, same, descending

  static func compare(_ a: PropertyValue, _ b: PropertyValue) -> ValueOrder {
    switch (a, b) {
    case (.null, .null): .same
    case (.bool(let a), .bool(let b)): order(a ? 1 : 0, b ? 1 : 0)
    case (.integer(let a), .integer(let b)): order(a, b)
    case (.double(let a), .double(let b)): order(a, b)
    case (.decimal(let a), .decimal(let b)): order(a, b)
    case (.string(let a), .string(let b)): bytes(a.utf8, b.utf8)
    case (.date(let a), .date(let b)):
      order(a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
    case (.data(let a), .data(let b)): bytes(a, b)
    case (.uuid(let a), .uuid(let b)):
      a == b ? .same : (a.precedes(b) ? .ascending : .descending)
    case (.uri(let a), .uri(let b)): bytes(a.absoluteString.utf8, b.absoluteString.utf8)
    // A key is local to one store: references have no order that all replicas share.
    case (.reference, .reference): .same
    default: order(rank(a), rank(b))
    }
  }

  /// NaN is below every number, and -0.0 below 0.0, so that replicas agree on those as well.
  private static func order(_ a: Double, _ b: Double) -> ValueOrder {
    if a.isNaN || b.isNaN { return order(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) }
    if a == b { return order(a.sign == .minus ? 0 : 1, b.sign == .minus ? 0 : 1) }
    return a < b ? .ascending : .descending
  }

  private static func order<Value: Comparable>(_ a: Value, _ b: Value) -> ValueOrder {
    a == b ? .same : (a < b ? .ascending : .descending)
  }

  private static func bytes<A: Sequence, B: Sequence>(_ a: A, _ b: B) -> ValueOrder
  where A.Element == UInt8, B.Element == UInt8 {
    if a.lexicographicallyPrecedes(b) { return .ascending }
    return b.lexicographicallyPrecedes(a) ? .descending : .same
  }

  private static func rank(_ value: PropertyValue) -> Int {
    switch value {
    case .null: 0
    case .bool: 1
    case .integer: 2
    case .double: 3
    case .decimal: 4
    case .date: 5
    case .string: 6
    case .uri: 7
    case .uuid: 8
    case .data: 9
    case .reference: 10
    }
  }
}
