import DriftlessSQLite
import Foundation

/// Binds values to the parameters of a statement, as the columns of a table want them.
enum RowBinder {
  /// Binds one value and returns the index of the next parameter.
  @inline(__always)
  static func bind(
    _ value: PropertyValue, step: RowProgram.Step, to statement: SQLiteStatement, at index: Int32
  ) -> Int32 {
    switch value {
    case .null: statement.bindNull(at: index)
    case .bool(let value): statement.bind(value ? 1 : 0 as Int64, at: index)
    case .integer(let value): statement.bind(value, at: index)
    case .double(let value): ExactDouble.bind(value, to: statement, at: index)
    case .string(let value): statement.bind(value, at: index)
    case .date(let value):
      ExactDouble.bind(value.timeIntervalSinceReferenceDate, to: statement, at: index)
    case .data(let value): statement.bind(value, at: index)
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { statement.bind($0, at: index) }
    case .uri(let value): statement.bind(value.absoluteString, at: index)
    case .decimal(let value): DecimalStorage.bind(value, to: statement, at: index)
    case .reference(let key): statement.bind(key.key, at: index)
    }
    guard step.kind == .anyReference else { return index + 1 }
    if case .reference(let key) = value {
      statement.bind(Int64(key.entity), at: index + 1)
    } else {
      statement.bindNull(at: index + 1)
    }
    return index + 2
  }
}
