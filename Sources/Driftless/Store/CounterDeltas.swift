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

/// `ZDL_DELTA`: what each local transaction of a store that syncs did to the properties whose edits add up. Of a counter it
/// keeps what the transaction added; of a text or a list of elements the value that it left, or null for a long one.
extension ReadTransaction {
  /// What transactions did to a property, oldest first.
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

  /// Hands over each property of which something is kept, with the names of the transactions that did it.
  package func forEachNamedDelta(
    through number: Int64, _ body: (ObjectKey, String, UInt64) throws -> Void
  ) throws {
    let statement = try connection.prepare(
      """
      SELECT d.entity, d.key, d.property, t.name FROM ZDL_DELTA d
      JOIN ZDL_TRANSACTION t ON t.number = d.transaction_number
      WHERE d.transaction_number <= ? AND t.name <> 0
      """)
    defer { statement.reset() }
    statement.bind(number, at: 1)
    while try statement.step() {
      let key = statement.objectKey(0, 1)
      try body(key, statement.string(2), statement.unsigned(3))
    }
  }

  /// The properties of which something is kept, by object.
  package func propertiesWithDeltas() throws -> [ObjectKey: Set<String>] {
    let statement = try connection.prepare("SELECT DISTINCT entity, key, property FROM ZDL_DELTA")
    defer { statement.reset() }
    var properties: [ObjectKey: Set<String>] = [:]
    while try statement.step() {
      let key = statement.objectKey(0, 1)
      properties[key, default: []].insert(statement.string(2))
    }
    return properties
  }
}

extension WriteTransaction {
  /// Adds to what this transaction added to a counter so far.
  func addDelta(_ delta: PropertyValue, of key: ObjectKey, _ property: String) throws {
    let own = try deltas(of: key, property).last { $0.transaction == number }?.value ?? .null
    guard let sum = CounterDelta.sum(own, delta) else { return }
    try setDelta(sum, of: key, property)
  }

  /// Keeps what this transaction did to a property.
  func setDelta(_ value: PropertyValue, of key: ObjectKey, _ property: String) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO ZDL_DELTA (transaction_number, entity, key, property, value)
      VALUES (?, ?, ?, ?, ?)
      """, .integer(number), .integer(Int64(key.entity)), .integer(key.key), .text(property),
      .blob(RowArchive.encode([value])))
  }

  /// Lets go of what transactions up to one did to a property, or to all of an object's.
  package func dropDeltas(
    of key: ObjectKey, _ property: String? = nil, through number: Int64 = .max
  ) throws {
    try connection.run(
      """
      DELETE FROM ZDL_DELTA WHERE entity = ?1 AND key = ?2 AND (?3 IS NULL OR property = ?3)
      AND transaction_number <= ?4
      """, .integer(Int64(key.entity)), .integer(key.key), property.map { .text($0) } ?? .null,
      .integer(number))
  }

  /// Lets go of what one transaction did to a property.
  package func dropDelta(of key: ObjectKey, _ property: String, transaction: Int64) throws {
    try connection.run(
      """
      DELETE FROM ZDL_DELTA WHERE entity = ? AND key = ? AND property = ?
      AND transaction_number = ?
      """, .integer(Int64(key.entity)), .integer(key.key), .text(property), .integer(transaction))
  }
}
