import DriftlessSQLite
import Foundation

/// The values of attributes that get another type. Each has to be one that the new type gives back: nobody would hear of what
/// another one became.
struct MigrationConversions {
  private let plan: MigrationPlan
  private let source: PersistentStore

  init(_ plan: MigrationPlan, _ source: PersistentStore) {
    self.plan = plan
    self.source = source
  }

  /// - Throws: `StoreError` with code `cannotMigrate`, which names the attribute, an object and its value.
  func check() throws {
    for match in plan.matches {
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let former, case .attribute(let attribute, let type) = slot.kind,
          !(attribute is DerivedAttributeDescription), case .attribute(_, let was) = former.kind,
          let isKept = Self.keeping(was, as: type)
        else { continue }
        try check(former, match, "\(match.destination.name).\(slot.name)", type, isKept)
      }
    }
  }

  private func check(
    _ former: PropertySlot, _ match: MigrationPlan.EntityMatch, _ label: String,
    _ type: AttributeType, _ isKept: (SQLiteValue) -> Bool
  ) throws {
    let schema = source.schema
    guard let column = schema.columnName(of: former.index, in: match.source) else { return }
    let number = schema.entityNumber(of: match.source)
    try source.read { transaction in
      let rows = try transaction.connection.prepareUncached(
        """
        SELECT Z_PK, "\(column)" FROM "\(schema.table(for: match.source).name)"
        WHERE Z_ENT = \(number) AND "\(column)" IS NOT NULL
        """)
      while try rows.step() {
        let value = rows.value(1)
        guard !isKept(value) else { continue }
        let identity = try transaction.identity(of: ObjectKey(entity: number, key: rows.int64(0)))
        throw MigrationPlan.refusal(
          "\(label) of \(identity.uuidString.lowercased()) is \(Self.words(value)), which as \(type) "
            + "would be another value",
          "Change the value, keep the attribute's type, or add an attribute of the new type beside it."
        )
      }
    }
  }

  private static func words(_ value: SQLiteValue) -> String {
    switch value {
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let text): "“\(text.prefix(60))\(text.count > 60 ? "…" : "")”"
    case .blob, .null: "no such value"
    }
  }

  /// Whether a column's value comes back from one of the new type; nil where each does.
  ///
  /// A double stays one in the column of a float, which is narrower for who reads it: of those the ones are refused that it
  /// has no number for.
  private static func keeping(
    _ old: AttributeType, as new: AttributeType
  ) -> ((SQLiteValue) -> Bool)? {
    switch (old, new) {
    case (.integer64, .double), (.integer64, .float):
      return { value in
        guard case .integer(let number) = value else { return true }
        return Int64(exactly: Double(number)) == number
      }
    case (.double, .float):
      return { value in
        guard case .real(let number) = value else { return true }
        return !number.isFinite || Float(number).isFinite
      }
    case (.double, .decimal), (.float, .decimal):
      return { value in
        // The two that are bytes are zero and what is no number: decimals have both.
        guard case .real(let number) = value else { return true }
        return Decimal(wholeText: "\(number)").flatMap { Double($0.wholeText) } == number
      }
    case (.string, .uri):
      return { value in
        guard case .text(let text) = value else { return true }
        return URL(string: text)?.absoluteString == text
      }
    default: return nil
    }
  }
}
