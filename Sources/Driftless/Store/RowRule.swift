/// A rule that each row of a table keeps by itself.
package struct RowRule: Sendable {
  /// SQL that is true of a row that keeps it.
  let condition: String
  /// What a table declares of it. A declaration stays in the file, whatever a later program has to write there: it says nothing of
  /// a list or a bound that grows with the program.
  let declared: String
  /// What is said of a row that does not.
  let breach: String
  let weight: StoreCheck.Finding.Weight

  package init(
    _ condition: String, _ breach: String, declared: String? = nil,
    weight: StoreCheck.Finding.Weight = .damage
  ) {
    self.condition = condition
    self.declared = declared ?? condition
    self.breach = breach
    self.weight = weight
  }

  // MARK: Columns

  /// A whole number within bounds.
  ///
  /// - Parameter grows: Whether a later program may have a wider range.
  package static func integer(
    _ column: String, _ range: ClosedRange<Int64> = .min ... .max, orNull: Bool = false,
    grows: Bool = false
  ) -> RowRule {
    let type = "typeof(\"\(column)\") = 'integer'"
    var condition = type
    var breach = "its \(column) is no whole number"
    if range != .min ... .max {
      condition += " AND \"\(column)\" BETWEEN \(range.lowerBound) AND \(range.upperBound)"
      breach +=
        range.upperBound == .max
        ? " of at least \(range.lowerBound)"
        : " from \(range.lowerBound) to \(range.upperBound)"
    }
    return RowRule(
      either(condition, column, orNull), breach,
      declared: either(grows ? type : condition, column, orNull))
  }

  private static func either(_ condition: String, _ column: String, _ orNull: Bool) -> String {
    orNull ? "(\(condition)) OR \"\(column)\" IS NULL" : condition
  }

  /// A number with or without a fraction.
  package static func number(_ column: String, orNull: Bool = false) -> RowRule {
    let condition = "typeof(\"\(column)\") IN ('integer', 'real')"
    return RowRule(
      orNull ? "\(condition) OR \"\(column)\" IS NULL" : condition, "its \(column) is no number")
  }

  /// A text.
  ///
  /// - Parameter values: The ones that this program knows; a later one may know more.
  package static func text(
    _ column: String, orNull: Bool = false, among values: [String] = []
  ) -> RowRule {
    let type = "typeof(\"\(column)\") = 'text'"
    var condition = type
    var breach = "its \(column) is no text"
    if !values.isEmpty {
      let list = values.map { "'\($0)'" }.joined(separator: ", ")
      condition += " AND \"\(column)\" IN (\(list))"
      breach = "its \(column) is none of \(values.joined(separator: ", "))"
    }
    return RowRule(
      either(condition, column, orNull), breach, declared: either(type, column, orNull))
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

  // MARK: Schema

  /// The rules as a table declares them: SQLite refuses a row that breaks one. Such a rule is about its row alone.
  package static func constraints(_ rules: [RowRule]) -> String {
    rules.map { ",\n    CHECK (\($0.declared))" }.joined()
  }
}
