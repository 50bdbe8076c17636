import CSQLite
import Foundation

extension SQLiteConnection {
  /// Registers a function that SQL may call.
  ///
  /// - Parameters:
  ///   - argc: How many operands it takes.
  ///   - body: When it throws, the statement fails; an `SQLiteError` keeps its code.
  package func createFunction(
    _ name: String, argc: Int, deterministic: Bool,
    _ body: @escaping @Sendable ([SQLiteValue]) throws -> SQLiteValue
  ) throws {
    let box = Unmanaged.passRetained(FunctionBody(body))
    let code = sqlite3_create_function_v2(
      handle, name, Int32(argc), SQLITE_UTF8 | (deterministic ? SQLITE_DETERMINISTIC : 0),
      box.toOpaque(),
      { context, count, operands in
        guard let context, let data = sqlite3_user_data(context) else { return }
        let body = Unmanaged<FunctionBody>.fromOpaque(data).takeUnretainedValue().body
        let values = (0..<Int(count)).map { FunctionBody.value(operands?[$0]) }
        do {
          FunctionBody.setResult(try body(values), of: context)
        } catch {
          let failure = error as? SQLiteError
          sqlite3_result_error(context, failure?.message ?? "\(error)", -1)
          sqlite3_result_error_code(context, failure?.code ?? SQLITE_IOERR)
        }
      }, nil, nil,
      { data in if let data { Unmanaged<FunctionBody>.fromOpaque(data).release() } })
    guard code == SQLITE_OK else {
      throw SQLiteError(code: code, message: "The function \(name) cannot be registered.")
    }
  }
}

extension SQLiteConnection {
  /// Registers an order of texts that `COLLATE` names.
  ///
  /// - Parameter order: Less than 0, 0 or more than 0. It has to be an order: transitive, and the same each time.
  package func createCollation(
    _ name: String, _ order: @escaping @Sendable (String, String) -> Int
  ) throws {
    let box = Unmanaged.passRetained(CollationBody(order))
    let code = sqlite3_create_collation_v2(
      handle, name, SQLITE_UTF8, box.toOpaque(),
      { data, leftCount, left, rightCount, right in
        guard let data, let left, let right else { return 0 }
        func text(_ start: UnsafeRawPointer, _ count: Int32) -> String {
          String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
        }
        let body = Unmanaged<CollationBody>.fromOpaque(data).takeUnretainedValue()
        return Int32(body.order(text(left, leftCount), text(right, rightCount)).signum())
      },
      { data in if let data { Unmanaged<CollationBody>.fromOpaque(data).release() } })
    guard code == SQLITE_OK else {
      box.release()
      throw SQLiteError(code: code, message: "The collation \(name) cannot be registered.")
    }
  }
}

/// Keeps the closure of a collation alive for as long as SQLite may call it.
private final class CollationBody: Sendable {
  let order: @Sendable (String, String) -> Int

  init(_ order: @escaping @Sendable (String, String) -> Int) { self.order = order }
}

/// Keeps the closure of a function alive for as long as SQLite may call it.
private final class FunctionBody: Sendable {
  let body: @Sendable ([SQLiteValue]) throws -> SQLiteValue

  init(_ body: @escaping @Sendable ([SQLiteValue]) throws -> SQLiteValue) { self.body = body }

  static func value(_ operand: OpaquePointer?) -> SQLiteValue {
    switch sqlite3_value_type(operand) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(operand))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(operand))
    case SQLITE_TEXT:
      guard let text = sqlite3_value_text(operand) else { return .null }
      return .text(
        String(
          decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(operand))),
          as: UTF8.self))
    case SQLITE_BLOB:
      return .blob(
        Data(
          UnsafeRawBufferPointer(
            start: sqlite3_value_blob(operand), count: Int(sqlite3_value_bytes(operand)))))
    default: return .null
    }
  }

  static func setResult(_ value: SQLiteValue, of context: OpaquePointer) {
    let result = SQLiteResult(context)
    switch value {
    case .null: result.setNull()
    case .integer(let value): result.set(value)
    case .real(let value): result.set(value)
    case .text(let value): result.set(value)
    case .blob(let value): value.withUnsafeBytes { result.setBytes($0) }
    }
  }
}
