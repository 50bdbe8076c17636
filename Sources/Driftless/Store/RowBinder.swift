import DriftlessSQLite
import Foundation

/// Binds values to the parameters of a statement, as the columns of a table want them.
enum RowBinder {
  /// Binds the values of `steps`, from the step numbered `place` and the parameter `index` on, and runs the statement;
  /// `last` binds what follows them.
  ///
  /// Texts and data are bound where they lie, without a copy: the rest happens inside the closure that lends them.
  static func run(
    _ statement: SQLiteStatement, _ steps: [RowProgram.Step], from place: Int = 0,
    _ values: UnsafeBufferPointer<PropertyValue>, at index: Int32, last: (Int32) -> Void
  ) throws {
    var index = index
    var place = place
    while place < steps.count {
      let step = steps[place]
      place += 1
      guard step.slot < values.count else {
        index = bind(.null, step: step, to: statement, at: index)
        continue
      }
      switch values[step.slot] {
      case .string(var text):
        return try text.withUTF8 {
          statement.bindBorrowed($0, at: index)
          try run(statement, steps, from: place, values, at: index + 1, last: last)
        }
      case .data(let data):
        return try data.withUnsafeBytes {
          statement.bindBorrowed($0, at: index)
          try run(statement, steps, from: place, values, at: index + 1, last: last)
        }
      case let value: index = bind(value, step: step, to: statement, at: index)
      }
    }
    last(index)
    try statement.run()
  }

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
