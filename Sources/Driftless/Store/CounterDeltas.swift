import DriftlessSQLite
import Foundation

/// Sums and differences of counters, in the attribute's type. Null counts as zero. Whole numbers stop at the bounds of
/// 64 bits; the narrower bounds of an attribute are for its values, not for what is added to them.
package enum CounterDelta {
  /// What makes `value` of `former`; nil for values that are no numbers.
  package static func difference(
    _ value: PropertyValue, _ former: PropertyValue
  ) -> PropertyValue? {
    switch (value, former) {
    case (.integer(let value), .integer(let former)):
      let (difference, overflows) = value.subtractingReportingOverflow(former)
      return .integer(overflows ? (value < former ? .min : .max) : difference)
    case (.integer, .null): return value
    case (.null, .integer(let former)): return .integer(former == .min ? .max : -former)
    case (.double(let value), .double(let former)): return .double(value - former)
    case (.double, .null): return value
    case (.null, .double(let former)): return .double(-former)
    case (.decimal(let value), .decimal(let former)): return .decimal(value - former)
    case (.decimal, .null): return value
    case (.null, .decimal(let former)): return .decimal(-former)
    default: return nil
    }
  }

  /// Nil for values that are no numbers of one type.
  package static func sum(_ value: PropertyValue, _ delta: PropertyValue) -> PropertyValue? {
    switch (value, delta) {
    case (.integer(let value), .integer(let delta)):
      let (sum, overflows) = value.addingReportingOverflow(delta)
      return .integer(overflows ? (delta < 0 ? .min : .max) : sum)
    case (.double(let value), .double(let delta)): return .double(value + delta)
    case (.decimal(let value), .decimal(let delta)): return .decimal(value + delta)
    case (.integer, .null), (.double, .null), (.decimal, .null): return value
    case (.null, .integer), (.null, .double), (.null, .decimal): return delta
    default: return nil
    }
  }
}

/// Reads `ZDL_DELTA`: what each local transaction of a store that syncs added to each counter.
extension ReadTransaction {
  /// What transactions added to a counter that are kept, oldest first.
  package func deltas(
    of key: ObjectKey, _ property: String
  ) throws -> [(transaction: Int64, value: PropertyValue)] {
    let statement = try connection.prepare(
      """
      SELECT transaction_number, value FROM ZDL_DELTA WHERE entity = ? AND key = ?
      AND property = ? ORDER BY transaction_number
      """)
    defer { statement.reset() }
    statement.bind(Int64(key.entity), at: 1)
    statement.bind(key.key, at: 2)
    statement.bind(property, at: 3)
    var deltas: [(transaction: Int64, value: PropertyValue)] = []
    while try statement.step() {
      guard let value = try RowArchive.decodeValues(statement.data(1)).first else { continue }
      deltas.append((statement.int64(0), value))
    }
    return deltas
  }

  /// The transactions of which something is kept, in order.
  package func transactionsWithDeltas() throws -> [Int64] {
    try connection.rows("SELECT DISTINCT transaction_number FROM ZDL_DELTA ORDER BY 1")
      .compactMap { row in if case .integer(let number) = row[0] { number } else { nil } }
  }
}

extension WriteTransaction {
  /// Adds to what this transaction added to a counter so far.
  func addDelta(_ delta: PropertyValue, of key: ObjectKey, _ property: String) throws {
    let own = try deltas(of: key, property).last { $0.transaction == number }?.value ?? .null
    guard let sum = CounterDelta.sum(own, delta) else { return }
    try connection.run(
      """
      INSERT OR REPLACE INTO ZDL_DELTA (transaction_number, entity, key, property, value)
      VALUES (?, ?, ?, ?, ?)
      """, .integer(number), .integer(Int64(key.entity)), .integer(key.key), .text(property),
      .blob(RowArchive.encode([sum])))
  }

  /// Lets go of what transactions added that the zone has acknowledged: all up to one.
  package func dropDeltas(through number: Int64) throws {
    try connection.run("DELETE FROM ZDL_DELTA WHERE transaction_number <= ?", .integer(number))
  }

  /// Lets go of what a transaction added to one property, or to all of its properties.
  package func dropDeltas(
    ofTransaction number: Int64, of key: ObjectKey? = nil, _ property: String? = nil
  ) throws {
    try connection.run(
      """
      DELETE FROM ZDL_DELTA WHERE transaction_number = ?1 AND (?2 IS NULL OR entity = ?2)
      AND (?3 IS NULL OR key = ?3) AND (?4 IS NULL OR property = ?4)
      """, .integer(number), key.map { .integer(Int64($0.entity)) } ?? .null,
      key.map { .integer($0.key) } ?? .null, property.map { .text($0) } ?? .null)
  }
}
