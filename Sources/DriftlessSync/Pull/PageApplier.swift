import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Applies change sets of other replicas in one write transaction: rows, history, pending state,
/// journal, cursor.
///
/// Rows that are not pending here take the remote values as they are, column by column. What the
/// log says of pending ones is kept beside them (`ZoneStates`), and settled by the merge tables once
/// the pull has reached its head (`settle()`). Nothing here needs managed objects.
final class PageApplier {
  let transaction: WriteTransaction
  let schema: SyncSchema
  let replica: UUID
  let options: SyncOptions
  /// Pending state, as the merge leaves it.
  var pending: PendingSet
  /// Objects whose pending state the merge changed.
  var touched: Set<ObjectKey> = []
  var directory: ObjectDirectory
  /// What the zone says of what is pending.
  var zone: ZoneStates
  var dangling: DanglingReferences
  var journal: JournalDraft
  var times: ImportTimes
  var report = PullReport()
  /// Objects that were deleted here, by entity.
  var deleted: [String: Int] = [:]

  init(
    transaction: WriteTransaction, schema: SyncSchema, replica: UUID, pending: PendingSet,
    options: SyncOptions
  ) throws {
    self.transaction = transaction
    self.schema = schema
    self.replica = replica
    self.pending = pending
    self.options = options
    directory = ObjectDirectory(transaction.connection)
    zone = try ZoneStates(transaction.connection)
    dangling = try DanglingReferences(transaction.connection)
    journal = JournalDraft(transaction)
    times = ImportTimes(transaction)
  }

  /// Applies one change set.
  ///
  /// - Returns: names of entities and properties in it that this model does not have.
  func apply(_ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64) throws -> Set<String> {
    var frame = FrameContext(changeSet, sequence: sequence, schema: schema)
    try makeTable(&frame, firstNumber: firstNumber)
    try noteDeferredDeletes(&frame)
    var columns = changeSet.columns[...]
    for group in changeSet.index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      try apply(group, columns: own, in: &frame)
    }
    report.changeSets += 1
    return frame.unknown
  }

  func apply(
    _ group: ChangeSetIndex.Group, columns: ArraySlice<Column>, in frame: inout FrameContext
  ) throws {
    guard let entity = frame.entity(group.entity) else {
      frame.noteUnknownEntity(group.entity)
      return
    }
    let readers = frame.readers(group, entity: entity, columns: columns)
    try times.note(frame.newestTime(of: group))
    switch group.kind {
    case .insert: try applyInserts(group, entity, readers, &frame)
    case .update: try applyUpdates(group, entity, readers, &frame)
    case .delete: try applyDeletes(group, entity, &frame)
    case .revive: try applyRevivals(group, entity, readers, &frame)
    }
  }
}
