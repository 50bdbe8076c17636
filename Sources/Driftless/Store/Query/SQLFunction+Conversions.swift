import DriftlessSQLite
import Foundation

/// Orders of texts, types of values, statistics.
extension SQLFunction {
  /// The collation of sorts with these options.
  static func collation(_ options: FetchComparison.Options) -> String {
    "driftless_\(options.effective.rawValue)"
  }

  static func registerCollations(on connection: SQLiteConnection) throws {
    for options in FetchComparison.Options.collations {
      try connection.createCollation(collation(options)) {
        TextPattern.collate($0, $1, options).rawValue
      }
    }
    try connection.createFunction(compare, argc: 3, deterministic: true) { operands in
      guard case .text(let left) = operands[0], case .text(let right) = operands[1],
        case .integer(let options) = operands[2]
      else { return .null }
      let order = TextPattern.collate(
        left, right, FetchComparison.Options(rawValue: Int(options)))
      return .integer(Int64(order.rawValue))
    }
  }

  static func registerConversions(on connection: SQLiteConnection) throws {
    try connection.createFunction(cast, argc: 3, deterministic: true) { operands in
      guard case .text(let kind) = operands[1], case .text(let type) = operands[2],
        let type = FetchCast(rawValue: type), let kind = SQLKind.castable[kind],
        let value = try? type.apply(to: PropertyValue(stored: operands[0], kind))
      else { return .null }
      return value.sqlValue(as: type.sqlKind) { _ in nil } ?? .null
    }
    try connection.createFunction(statistic, argc: 3, deterministic: true) { operands in
      guard case .text(let name) = operands[0], case .text(let list) = operands[1],
        let operation = CollectionOperator(rawValue: name)
      else { return .null }
      var numbers = list.split(separator: ",").compactMap { Double($0) }
      if operands[2] == .integer(1) { numbers = Array(Set(numbers)) }
      return operation.statistic(numbers).map(SQLiteValue.real) ?? .null
    }
  }
}

extension SQLKind {
  /// Kinds that `CAST` takes, by name.
  static let castable: [String: SQLKind] = Dictionary(
    uniqueKeysWithValues: [.number, .decimal, .decimalKey, .date, .text, .data, .uuid].map {
      (kind: SQLKind) in (kind.castName, kind)
    })

  var castName: String { "\(self)" }
}

extension PropertyValue {
  /// A value as a column of that kind has it.
  fileprivate init(stored: SQLiteValue, _ kind: SQLKind) {
    switch (kind, stored) {
    case (.decimal, _):
      self =
        SQLFunction.key(of: stored).flatMap(DecimalKey.decimal(of:)).map { .decimal($0) }
        ?? .null
    case (.decimalKey, .blob(let key)):
      self = DecimalKey.decimal(of: key).map { .decimal($0) } ?? .null
    case (.date, .real(let seconds)): self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.date, .integer(let seconds)):
      self = .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case (.uuid, .blob(let bytes)) where bytes.count == 16:
      self = .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case (_, .integer(let value)): self = .integer(value)
    case (_, .real(let value)): self = .double(value)
    case (_, .text(let value)): self = .string(value)
    case (_, .blob(let value)): self = .data(value)
    case (_, .null): self = .null
    }
  }
}
