/// Who keeps tables of a store's file looks after their rules with one of these.
package protocol TableCheck: Sendable {
  /// The tables, but those of entities and relationships, whose names come from the model.
  var tables: [String] { get }

  /// Whether there is something to look at: an engine's tables are in a store that syncs alone.
  func isWanted(_ inspection: StoreInspection) throws -> Bool

  /// Reports what is not as it should be. It reads each table a fixed number of times, and keeps nothing a row.
  func check(_ inspection: StoreInspection) throws
}

extension TableCheck {
  package func isWanted(_ inspection: StoreInspection) throws -> Bool { true }
}

/// A rule that each row of a table keeps by itself.
package struct RowRule: Sendable {
  /// SQL that is true of a row that keeps it.
  let condition: String
  /// What is said of a row that does not.
  let breach: String
  let weight: StoreCheck.Finding.Weight

  package init(
    _ condition: String, _ breach: String, weight: StoreCheck.Finding.Weight = .damage
  ) {
    self.condition = condition
    self.breach = breach
    self.weight = weight
  }

  // MARK: Columns

  /// A whole number within bounds.
  package static func integer(
    _ column: String, _ range: ClosedRange<Int64> = .min ... .max, orNull: Bool = false
  ) -> RowRule {
    var condition = "typeof(\"\(column)\") = 'integer'"
    var breach = "its \(column) is no whole number"
    if range != .min ... .max {
      condition += " AND \"\(column)\" BETWEEN \(range.lowerBound) AND \(range.upperBound)"
      breach +=
        range.upperBound == .max
        ? " of at least \(range.lowerBound)"
        : " from \(range.lowerBound) to \(range.upperBound)"
    }
    return RowRule(orNull ? "(\(condition)) OR \"\(column)\" IS NULL" : condition, breach)
  }

  /// A number with or without a fraction.
  package static func number(_ column: String, orNull: Bool = false) -> RowRule {
    let condition = "typeof(\"\(column)\") IN ('integer', 'real')"
    return RowRule(
      orNull ? "\(condition) OR \"\(column)\" IS NULL" : condition, "its \(column) is no number")
  }

  package static func text(
    _ column: String, orNull: Bool = false, among values: [String] = []
  ) -> RowRule {
    var condition = "typeof(\"\(column)\") = 'text'"
    var breach = "its \(column) is no text"
    if !values.isEmpty {
      let list = values.map { "'\($0)'" }.joined(separator: ", ")
      condition += " AND \"\(column)\" IN (\(list))"
      breach = "its \(column) is none of \(values.joined(separator: ", "))"
    }
    return RowRule(orNull ? "(\(condition)) OR \"\(column)\" IS NULL" : condition, breach)
  }

  /// Bytes; of a fixed count where one is given.
  package static func bytes(
    _ column: String, count: Int? = nil, orNull: Bool = false
  ) -> RowRule {
    var condition = "typeof(\"\(column)\") = 'blob'"
    if let count { condition += " AND length(\"\(column)\") = \(count)" }
    return RowRule(
      orNull ? "(\(condition)) OR \"\(column)\" IS NULL" : condition,
      count.map { "its \(column) is not \($0) bytes" } ?? "its \(column) is no bytes")
  }
}
