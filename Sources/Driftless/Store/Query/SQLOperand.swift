import DriftlessSQLite
import Foundation

/// What kind of value a column or expression holds in the store, as far as comparing goes.
enum SQLKind: Equatable {
  /// Integers, booleans, doubles.
  case number
  /// A decimal as the store keeps it: a number, or its text in a blob.
  case decimal
  /// The sortable key of a decimal.
  case decimalKey
  /// Seconds since 2001.
  case date
  /// Strings and URLs.
  case text
  case data
  case uuid
  /// A primary key in the table of that name.
  case reference(table: String)

  init(_ kind: ValueKind) {
    self =
      switch kind {
      case .number: .number
      case .decimal: .decimal
      case .date: .date
      case .text: .text
      case .data: .data
      case .uuid: .uuid
      case .reference: .reference(table: "")
      }
  }

  /// What it is outside of the store.
  var valueKind: ValueKind {
    switch self {
    case .number: .number
    case .decimal, .decimalKey: .decimal
    case .date: .date
    case .text: .text
    case .data: .data
    case .uuid: .uuid
    case .reference: .reference
    }
  }

  var isDecimal: Bool { self == .decimal || self == .decimalKey }
}

/// One side of a comparison, compiled.
enum SQLOperand {
  /// Not yet bound: how depends on the other side.
  case constant(PropertyValue)
  case computed(SQLFragment, SQLKind)

  var isNullConstant: Bool {
    if case .constant(.null) = self { return true }
    return false
  }
}

extension PropertyValue {
  /// The kind that the value has by itself; nil for null.
  var sqlKind: SQLKind? { kind.map(SQLKind.init) }

  /// The value as it is bound to compare with that kind; nil when the two do not compare.
  func sqlValue(as kind: SQLKind, table: (ObjectKey) -> String?) -> SQLiteValue? {
    if isNull || isNotANumber { return .null }
    switch (kind, self) {
    case (.number, .bool), (.number, .integer):
      return .integer(wholeNumber ?? 0)
    case (.number, .double(let value)): return .real(value)
    case (.decimal, .bool), (.decimal, .integer), (.decimalKey, .bool), (.decimalKey, .integer):
      return key(of: Decimal(wholeNumber ?? 0))
    case (.decimal, .double(let value)), (.decimalKey, .double(let value)):
      return DecimalKey.bytes(of: value).map(SQLiteValue.blob) ?? .null
    case (.decimal, .decimal(let value)), (.decimalKey, .decimal(let value)):
      return key(of: value)
    case (.date, .date(let date)): return .real(date.timeIntervalSinceReferenceDate)
    case (.text, .string), (.text, .uri): return .text(text ?? "")
    case (.data, .data(let data)): return .blob(data)
    case (.uuid, .uuid(let uuid)): return .blob(uuid.bytes)
    // A text that spells no UUID equals none.
    case (.uuid, .string(let text)):
      return UUID(uuidString: text).map { .blob($0.bytes) } ?? .text(text)
    // No row has the key 0: an object of another hierarchy is never the same one.
    case (.reference(let expected), .reference(let key)):
      return .integer(table(key) == expected ? key.key : 0)
    default: return nil
    }
  }

  private func key(of decimal: Decimal) -> SQLiteValue {
    DecimalKey.bytes(of: decimal).map(SQLiteValue.blob) ?? .null
  }
}

extension FetchCast {
  /// The kind of what SQL gives for it.
  var sqlKind: SQLKind {
    switch self {
    case .date: .date
    case .number: .number
    case .decimal: .decimalKey
    case .string, .url: .text
    case .uuid: .uuid
    case .data: .data
    }
  }
}
