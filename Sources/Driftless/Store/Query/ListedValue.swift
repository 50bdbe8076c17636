import DriftlessSQLite
import Foundation

/// A value as a text that JSON does not harm, so that a list of any length is one parameter of a statement.
enum ListedValue {
  static func text(of value: SQLiteValue) -> String {
    switch value {
    case .null: "n"
    case .integer(let value): "i\(value)"
    case .real(let value): "r\(value.bitPattern)"
    case .text(let value): "t" + Data(value.utf8).base64EncodedString()
    case .blob(let value): "b" + value.base64EncodedString()
    }
  }

  /// Null for a text that is none of ours.
  static func value(of text: String) -> SQLiteValue {
    let rest = String(text.dropFirst())
    switch text.first {
    case "i": return Int64(rest).map(SQLiteValue.integer) ?? .null
    case "r": return UInt64(rest).map { .real(Double(bitPattern: $0)) } ?? .null
    case "t":
      return Data(base64Encoded: rest).map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
    case "b": return Data(base64Encoded: rest).map(SQLiteValue.blob) ?? .null
    default: return .null
    }
  }
}
