import DriftlessSQLite

/// Takes over the times at which objects were written: who makes them anew by a mapping writes them now, and nobody edited
/// them.
struct MigrationTimes {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  /// The triggers of other derived attributes are there, and follow.
  func run() throws {
    for match in keys.plan.matches {
      for slot in match.destination.layout.slots {
        guard let attribute = slot.property as? DerivedAttributeDescription,
          case .function(.now, _, _)? = attribute.derivationExpression, !slot.isTransient,
          let former = try MigrationPlan.former(
            of: slot, in: match.source, beside: match.destination.layout.slots),
          case .attribute(_, .date) = former.kind, !former.isTransient
        else { continue }
        try takeOver(slot.index, from: former.index, match)
      }
    }
  }

  private func takeOver(
    _ slot: Int, from former: Int, _ match: MigrationPlan.EntityMatch
  ) throws {
    guard let column = keys.new.columnName(of: slot, in: match.destination),
      let formerColumn = keys.old.columnName(of: former, in: match.source)
    else { return }
    let table = keys.new.table(for: match.destination).name
    let offset = keys.offset(of: match.source) ?? 0
    let old = """
      FROM old."\(keys.old.table(for: match.source).name)" o
      WHERE o.Z_PK = "\(table)".Z_PK - \(offset)
      AND o.Z_ENT = \(keys.old.entityNumber(of: match.source)) AND o."\(formerColumn)" IS NOT NULL
      """
    try connection.execute(
      """
      UPDATE main."\(table)" SET "\(column)" = (SELECT o."\(formerColumn)" \(old))
      WHERE Z_ENT = \(keys.new.entityNumber(of: match.destination)) AND EXISTS (SELECT 1 \(old))
      """)
  }
}
