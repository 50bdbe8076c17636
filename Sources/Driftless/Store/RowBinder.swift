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
    _ values: ValueRow, at index: Int32, last: (Int32) -> Void
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
      case .string(let text):
        return try statement.withBorrowed(text, at: index) {
          try run(statement, steps, from: place, values, at: index + 1, last: last)
        }
      case .data(let data):
        return try statement.withBorrowed(data, at: index) {
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
    write(value, to: SQLiteParameter(statement, index))
    guard step.kind == .anyReference else { return index + 1 }
    if case .reference(let key) = value {
      statement.bind(Int64(key.entity), at: index + 1)
    } else {
      statement.bindNull(at: index + 1)
    }
    return index + 2
  }

  /// The value as its column holds it; of a reference the key.
  @inline(__always)
  static func write(_ value: PropertyValue, to destination: some SQLiteDestination) {
    switch value {
    case .null: destination.setNull()
    case .bool(let value): destination.set(value ? 1 : 0 as Int64)
    case .integer(let value): destination.set(value)
    case .double(let value): ExactDouble.write(value, to: destination)
    case .string(let value): destination.set(value)
    case .date(let value):
      ExactDouble.write(value.timeIntervalSinceReferenceDate, to: destination)
    case .data(let value): destination.set(value)
    case .uuid(let value): destination.set(value)
    case .uri(let value): destination.set(value.absoluteString)
    case .decimal(let value): DecimalStorage.write(value, to: destination)
    case .reference(let key): destination.set(key.key)
    }
  }
}
