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
  /// The zone's own identity, from which others are derived.
  let zoneID: UUID
  let options: SyncOptions
  /// Pending state, as the merge leaves it.
  var pending: PendingSet
  /// Objects whose pending state the merge changed.
  var touched: Set<ObjectKey> = []
  var directory: ObjectDirectory
  /// What the zone says of what is pending.
  var zone: ZoneStates
  var dangling: DanglingReferences
  var parkedValues: ParkedValues
  /// Large values that entries name which are applied together.
  var namedInPage = LargeValueSet()
  /// The same of entries that wait for others of their push.
  var namedByStaged = LargeValueSet()
  /// Entries of which nothing was applied.
  var parked: [Parking.Entry]
  /// What later entries are noted to set, since a parked one sets it as well.
  private var watched: Parking.Watched
  /// The entry that is applied was parked before: what was set after it stays.
  var isLate = false
  /// Of such an entry, a part is taken in that the model did not know.
  var isLateInPart = false
  /// What later entries say of sets, of the one that came late last.
  var laterElements: LaterElements?
  /// Deletes of here that stand against what the zone says of the objects, until all is settled.
  var standingDeletes: [ObjectKey] = []
  /// What deletes of here took along of the zone's when they were settled, by the object that was deleted.
  var takenAlong: [ObjectKey: [TakenAlong]] = [:]
  /// What the zone said of pending owning ends of one-to-one relationships, where that stands.
  var partnerWords: [ObjectKey: [Int: RemoteSide]] = [:]
  /// What deletes of others that meet something here took along, until they are noted themselves.
  var deleteCuts = DeleteCuts()
  /// What was deleted here and may come.
  var remembered: RememberedDeletes
  var journal: JournalDraft
  /// What both sides said of places, until it is known which orders that left.
  var placeConflicts = PlaceConflicts()
  /// Sets that deletes and returns change, until they are written.
  var setChanges = SetChanges()
  var times: ImportTimes
  /// Which large values are fetched when they are asked for; read when something asks.
  var valueTiming: ValueTiming?
  /// What waits for a unique key that another object holds.
  let keptKeys: KeptKeys
  /// What is left without a value that its model requires.
  var lacks: LackedValues { keptKeys.lacks }
  var report = PullReport()
  /// It takes in what the zone's log comes to: no entry of it says what came first.
  var isJoining = false
  /// Where what the log comes to cannot be taken in, the log can be read.
  var hasLog = true
  /// Deletes of a large part of the replica are meant.
  var allowsMassDelete = false
  /// Whether a person's word about old counts is taken: no other snapshot can tell of them.
  var mayDecideOldCounts = false
  /// Parts of the push that is applied are still to come: what waits for all of it waits on.
  var isBeforeLastPart = false
  /// Of a push in several parts: whether its deletes are too many, all together.
  var pushIsBraked: Bool?
  /// Of a push in several parts, all together: the deletes that meet something here.
  var deferredOfPush: DeferredDeletes?

  /// By the store's clock.
  let now: Date
  /// The last transaction of this store that the zone has acknowledged.
  private let acknowledged: Int64
  /// Until when the replica knew what the log says, where it reads a log again (`FormerLog`).
  private let formerLogTime: HybridTime?
  /// What the store knows of the log that it reads again, since it forgot its zone.
  let left: LeftZone?
  /// Whose values that are kept of the zone hold an object.
  let baseHolders: BaseHolders
  /// What the save changed that deleted what came back last.
  var changesOfDelete: (save: Int64, changed: [ObjectKey: PropertyMask])?
  /// Read when something that was deleted here comes back.
  private(set) lazy var unansweredSets = Result {
    try UnansweredSets(pending, transaction, schema: schema)
  }
  private var editsOfDeleted: EditHistory?
  private var formerDeletes: [ObjectKey: HybridTime]?
  private var savesOfFormerLogs: Set<UInt64>?
  /// Who made what the entry says that was asked last, by time: thousands of objects may be of one.
  private var originsOfEntry: (sequence: UInt64, origins: [UInt64: EditOrigin?])?
  private var coveredOfFormerLogs: (sequence: UInt64, count: Int)?

  init(
    transaction: WriteTransaction, schema: SyncSchema, replica: UUID, zoneID: UUID,
    pending: PendingSet, acknowledged: Int64, options: SyncOptions, now: Date
  ) throws {
    self.now = now
    self.transaction = transaction
    self.schema = schema
    self.replica = replica
    self.zoneID = zoneID
    self.pending = pending
    self.acknowledged = acknowledged
    self.options = options
    directory = ObjectDirectory(transaction.connection)
    baseHolders = BaseHolders(transaction.connection)
    zone = try ZoneStates(transaction.connection)
    parkedValues = try ParkedValues(transaction.connection)
    let entries = try Parking.entries(on: transaction.connection)
    parked = entries.filter(\.code.isWhole)
    watched = Parking.Watched(entries)
    dangling = try DanglingReferences(transaction.connection)
    remembered = try RememberedDeletes(transaction.connection)
    journal = JournalDraft(transaction)
    times = ImportTimes(transaction)
    formerLogTime = try FormerLog.time(transaction)
    left = try LeftZone.kept(transaction)
    keptKeys = try KeptKeys(
      transaction, schema: schema, replica: replica, pending: pending)
    transaction.keyKeeper = keptKeys
  }

  /// What opens what is sealed.
  var opener: CellOpener { CellOpener(transaction, schema: schema) }

  /// When what is deleted here was edited, as far as was known here; read when something asks.
  func knownEdits() throws -> EditHistory {
    if let editsOfDeleted { return editsOfDeleted }
    let history = try EditHistory(
      transaction, schema: schema, knownOfDeleted: pending, acknowledged: acknowledged)
    editsOfDeleted = history
    return history
  }

  /// What was deleted here in a zone that the store has left; read when something asks.
  func deletesOfFormerZone() throws -> [ObjectKey: HybridTime] {
    if let formerDeletes { return formerDeletes }
    let deletes = try FormerZone.deletes(transaction, schema: schema)
    formerDeletes = deletes
    return deletes
  }

  /// Whether what the log says was settled before the store forgot its zone, with what was pending then.
  func isOfKnownLog(_ side: RemoteSide) -> Bool {
    side.sequence <= left?.place ?? 0
  }

  /// Whether a log is read again whose entries the replica does not have.
  var readsFormerLog: Bool { formerLogTime != nil }

  /// Whether what the log says was in the log that the replica knew, so that what it offers was made with it.
  func isOfFormerLog(_ side: RemoteSide) -> Bool {
    formerLogTime.map { side.time <= $0 } ?? false
  }

  /// Who made what the zone says, by the entry that is kept of it.
  func origin(of side: RemoteSide) throws -> EditOrigin? {
    if let last = originsOfEntry, last.sequence == side.sequence {
      return last.origins[side.time.rawValue] ?? nil
    }
    let origins = try origins(ofEntry: side.sequence)
    originsOfEntry = (side.sequence, origins)
    return origins[side.time.rawValue] ?? nil
  }

  /// The first of two transactions of one time stands, as it does where it is noted (`StampOrigins`).
  private func origins(ofEntry sequence: UInt64) throws -> [UInt64: EditOrigin?] {
    guard sequence > 0,
      let entry = try KeptFrames.entries(
        after: sequence - 1, bytesMax: 1, on: transaction.connection
      ).first, let (_, index) = try? ChangeSetDecoder().decodeIndex(entry.frame)
    else { return [:] }
    return Dictionary(
      index.transactions.map {
        ($0.hybridTime, EditOrigin(author: $0.author, contextName: $0.contextName))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The names of saves that are in what is offered here; read when something asks.
  func unansweredSaves() throws -> Set<UInt64> {
    if let savesOfFormerLogs { return savesOfFormerLogs }
    let names = Set(try UnansweredSaves.names(transaction))
    savesOfFormerLogs = names
    return names
  }

  /// How many of these saves a change set covers.
  func knownCovered(_ frame: FrameContext) throws -> Int {
    if let last = coveredOfFormerLogs, last.sequence == frame.sequence { return last.count }
    let known = try unansweredSaves()
    let count = frame.changeSet.index.covered.count { known.contains($0.name) }
    coveredOfFormerLogs = (frame.sequence, count)
    return count
  }

  /// Applies one change set. What it cannot take in of it is parked.
  func apply(_ told: ChangeSet, _ entry: PullPage.Entry) throws {
    var changeSet = told
    changeSet.index.number(from: entry.firstObjectNumber)
    let frame = try apply(
      changeSet, sequence: entry.sequence, firstNumber: entry.firstObjectNumber)
    try ModelMeaning.Notes.add(frame, transaction)
    try Parking.strike(
      watched, changeSet.index, sequence: entry.sequence, on: transaction.connection)
    guard frame.needsParked || !frame.unknown.isEmpty else { return }
    watched.add(frame.unknown)
    try Parking.park(
      entry, frame.needsParked ? .needsParked : .unknownNames, frame.unknown,
      reason: frame.needsParked
        ? "Parts of it are about objects that a parked entry makes."
        : ParkedName.reason(frame.unknown),
      at: now, on: transaction.connection)
  }

  func apply(
    _ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64
  ) throws -> FrameContext {
    var frame = FrameContext(
      changeSet, sequence: sequence, firstNumber: firstNumber, schema: schema)
    try brake.begin()
    try makeTable(&frame, firstNumber: firstNumber)
    try applyGroups(&frame)
    report.changeSets += 1
    return frame
  }

  func applyGroups(_ frame: inout FrameContext) throws {
    try noteDeferredDeletes(&frame)
    try applyTombstones(&frame)
    let changeSet = frame.changeSet
    var columns = changeSet.columns[...]
    for group in changeSet.index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      try apply(group, columns: own, in: &frame)
    }
    assert(columns.isEmpty, "a column is of a group")
    try applyOtherEnds(&frame)
    try finishKeys()
  }

  /// Writes keys that are free by now, and what follows from the owning ends of relationships.
  func finishKeys() throws {
    guard !isBeforeLastPart else { return }
    try keptKeys.writeFree()
    try letLaterHoldersGiveWay()
    try keptKeys.writeFree()
    try OneToOneEnds(self).follow()
  }

  func apply(
    _ group: ChangeSetIndex.Group, columns: ArraySlice<Column>, in frame: inout FrameContext
  ) throws {
    guard let entity = frame.entity(group.entity) else {
      frame.noteUnknownEntity(group.entity)
      return
    }
    let readers = try frame.readers(group, entity: entity, columns: columns, by: opener)
    if group.kind != .delete { frame.keepOtherEnds(of: group, entity) }
    if !frame.isOfSnapshot {
      try times.note(frame.newestTime(of: group), by: frame.newestOrigin(of: group))
    }
    noteSide(of: group, frame)
    switch group.kind {
    case .insert: try applyInserts(group, entity, readers, &frame)
    case .update: try applyUpdates(group, entity, readers, &frame)
    case .delete: try applyDeletes(group, entity, &frame)
    case .revive: try applyRevivals(group, entity, readers, &frame)
    }
  }

  /// What is refused from now on comes from a group of an entry.
  func noteSide(of group: ChangeSetIndex.Group, _ frame: FrameContext) {
    keptKeys.side = RemoteSide(
      value: .null, time: frame.newestTime(of: group), origin: frame.origin,
      sequence: frame.sequence)
  }
}
