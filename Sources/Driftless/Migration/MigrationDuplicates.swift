import DriftlessSQLite
import Foundation

/// Two objects that have one value of what the other model has unique.
struct DuplicateKeys: Error {
  let entity: String
  let constraint: [String]
  /// What both have of it, as SQL writes it.
  let values: [String]
  let objects: (ObjectKey, ObjectKey)

  /// In words, with the objects by their identities in the store.
  func error(in store: PersistentStore) throws -> StoreError {
    let (first, second) = try store.read {
      (try $0.identity(of: objects.0), try $0.identity(of: objects.1))
    }
    let keys = zip(constraint, values).map { "\($0) \($1)" }.joined(separator: ", ")
    return Self.refusal(
      "\(entity) objects \(first.uuidString.lowercased()) and \(second.uuidString.lowercased()) both have "
        + "\(keys), which is unique in the other model.")
  }

  private static func refusal(_ message: String) -> StoreError {
    StoreError(
      .constraint, message,
      suggestion:
        "Change or delete one of them, or leave the constraint out of the model; the store was not changed."
    )
  }

  /// What ends a migration: values that the other model has unique are told as that, whoever met them.
  static func told(_ error: any Error) -> any Error {
    var refusal: StoreError
    switch error {
    case let error as StoreError where error.code == .constraint: refusal = error
    case let error as ConstraintConflictError:
      let conflict = error.conflicts.first.map { "\($0)" } ?? "objects"
      refusal = Self.refusal("The values \(conflict) are unique in the other model.")
    default: return error
    }
    refusal.isOfMigration = true
    return refusal
  }
}

extension MigrationCopy {
  /// Why rows cannot be copied into tables with unique keys; nil where it is not within one entity.
  ///
  /// - Parameter database: the name of the old store's database on the connection.
  func duplicates(
    in match: MigrationPlan.EntityMatch, of database: String = "old"
  ) throws -> DuplicateKeys? {
    let columns = try columnValues(match)
    let source = old.table(for: match.source)
    let number = old.entityNumber(of: match.source)
    var declaring: EntityDescription? = match.destination
    while let entity = declaring {
      declaring = entity.superentity
      for constraint in entity.uniquenessConstraints {
        let values = constraint.compactMap { name in
          match.destination.layout.index(named: name).flatMap { slot in
            columns.first { $0.slot == slot }?.sql
          }
        }
        guard values.count == constraint.count, !values.isEmpty else { continue }
        let rows = try connection.rows(
          """
          SELECT min(Z_PK), max(Z_PK), \(values.map { "quote(\($0))" }.joined(separator: ", "))
          FROM \(database)."\(source.name)" WHERE Z_ENT = \(number)
          AND \(values.map { "\($0) IS NOT NULL" }.joined(separator: " AND "))
          GROUP BY \(values.joined(separator: ", ")) HAVING count(*) > 1 ORDER BY 1 LIMIT 1
          """)
        guard let row = rows.first, case .integer(let first) = row[0],
          case .integer(let second) = row[1]
        else { continue }
        return DuplicateKeys(
          entity: match.destination.name, constraint: constraint,
          values: row.dropFirst(2).map { if case .text(let text) = $0 { text } else { "" } },
          objects: (ObjectKey(entity: number, key: first), ObjectKey(entity: number, key: second)))
      }
    }
    return nil
  }
}
