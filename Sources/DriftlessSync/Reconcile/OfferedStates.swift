import Driftless
import DriftlessSQLite

/// Saves the states of objects that are offered, with who made the edits that they name by their times. Of a history of years
/// few edits are the last ones of a property: the others' authors are nobody's business any more.
final class OfferedStates {
  private let origins: [Int64: EditOrigin]
  /// History up to here is in the states.
  private let through: Int64
  private let connection: SQLiteConnection
  private var noted: Set<Int64> = []

  /// - Parameter origins: who made the edits of a time (`EditStamp`), as far as that is known.
  init(_ origins: [Int64: EditOrigin], through: Int64, on connection: SQLiteConnection) {
    self.origins = origins
    self.through = through
    self.connection = connection
  }

  func save(_ object: PendingObject, of key: ObjectKey, entity: SyncSchema.Entity) throws {
    try PendingState.save(object, of: key, entity: entity, through: through, on: connection)
    guard !origins.isEmpty else { return }
    try note(object.wholeTransaction)
    for edit in object.edits { try note(edit.transaction) }
    for offer in object.offers { try note(offer.transaction) }
  }

  private func note(_ stamp: Int64) throws {
    guard stamp < 0, noted.insert(stamp).inserted else { return }
    try StampOrigins.note(origins[stamp], of: stamp, on: connection)
  }
}
