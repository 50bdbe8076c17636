public import Driftless
public import DriftlessProtocol
import Foundation
import Logging

/// Keeps one store in step with one zone: pushes what was saved here, pulls and merges what others
/// pushed.
///
/// The way of one edit, in order:
/// 1. A context's `save` writes rows and history in one transaction (`Driftless/Store`,
///    `Driftless/Store/History`).
/// 2. `push()` reads history after the acknowledged transaction into a `PendingSet` (`Pending/`):
///    which properties of which objects are pending, each with its last transaction.
/// 3. `ChangeSetBuilder` (`Push/`) reads those values in one snapshot and encodes them; the bytes
///    are saved in the outbox before they are sent, and sent unchanged until the zone has answered.
/// 4. The zone gives the change set its place in the log, or answers *stale*: then this replica
///    pulls first.
/// 5. Another replica's `pull()` gets the bytes as stored, and `PageApplier` (`Pull/`) applies
///    them with the cursor in one transaction. What is pending there goes through the merge table
///    (`Merge/`) and, when it loses, into the journal (`Journal/`).
///
/// `Pusher` and `Puller` decide each next step, without I/O; this actor only does what they say.
///
/// ```swift
/// let engine = SyncEngine(store: store, enrollingThrough: transport)
/// let report = try await engine.sync()
/// print("received \(report.pull.changeSets), sent \(report.push.changeSets)")
/// for await state in engine.run() { show(state) }
/// ```
///
/// Operations form a queue: one that is asked for while another runs begins when that one has ended,
/// and a `sync()` whose work a later one has done meanwhile gives that one's report. All engines of
/// one store file in a process share the queue. Engines of other processes are refused: the first
/// operation takes the store's sync lock, and it is kept until `close()` or the end of the engine.
/// All errors are `SyncError`, `ProtocolError` (from the transport), `StoreError`, or
/// `CancellationError` when the task was cancelled.
public actor SyncEngine {
  /// The store that it keeps in step.
  public nonisolated let store: PersistentStore
  let transport: NewsTransport
  /// Where the store is enrolled when it is needed; nil for an engine of a store that is enrolled.
  let home: ZoneHome?
  let options: SyncOptions
  let schema: SyncSchema
  /// Each line of it names the store: a process may have several.
  let log: Logger
  /// What this engine shares with all others of the store.
  nonisolated let queue: StoreQueue
  /// This engine's name among them.
  let number: UInt64
  /// This engine's part in the store's sync lock, while it has one.
  var syncLock: StoreQueue.LockShare?
  /// Who hears of this engine's operations, by its name.
  var listeners: [UUID: @Sendable (Notice) -> Void] = [:]
  /// The last sync that succeeded: the ticket with which it began, and what it did.
  var lastSync: (began: UInt64, allowsMassDelete: Bool, turn: SyncTurn)?
  /// The zone refused a time as too far ahead: what it says next of its clock is believed.
  var believesZoneClock = false
  /// How often it did so since it took the last push.
  var clockRefusals = 0
  /// Snapshots that could not be taken in, and why: they are not fetched again.
  var unfitSnapshots: [UnfitPlace] = []
  /// What was free when a snapshot filled the disk: it is tried again where there is more.
  var snapshotFilled: Int?
  /// The pending set of the last operation; brought up to date from history by the next.
  var pendingCache: PendingCache?

  /// What undos went back to whose bytes are not here; brought up to date by who asks.
  var undoneCache: UndonePlaces?

  /// When what is to be revived was edited; kept during a push.
  var revivedEdits = RevivedEdits()

  /// When the zone could not be read anew.
  var anewFailed: ContinuousClock.Instant?
  /// The server takes no push in several parts: what is large goes whole.
  var takesNoParts = false
  /// Bytes of a part at most, since the server, or a proxy before it, refused more; nil for those of the options.
  var partBytesTaken: Int?
  /// What the server takes of large values; nil before it was asked.
  var valueBounds: ValueBounds?
  /// So many objects brought as many bytes of large values as one push brings.
  var fullPushObjects: Int?
  /// The server has no room for large values: what has any waits, and the rest goes.
  var holdsLargeValues = false
  /// What has large values waits for the next turn, with the saves that it is of, and the rest goes.
  var holdsSavesOfLargeValues = false
  /// Large values of a change set that is built anew for that, of which some may have gone: they are cut out of it no second time.
  var unsentValues = LargeValueSet()
  /// Objects whose saves meet in the zone what does not fit the disk: they wait until it does. Kept during a push.
  var waitingForRoom: Set<ObjectKey> = []
  /// Bytes of large values that came and went.
  var valueBytes = 0
  /// Large values that entries of the page name which is applied: what one of them displaces, a later one may have again.
  var namedInPage = LargeValueSet()
  /// What entries say that wait for others of their push.
  var staged = StagedTally()
  /// How the way to large values does.
  var valueLine = ValueLine()
  /// How far one sync goes with large values that are not where they belong.
  var valueTurn = ValueTurn()
  /// So long a sync of a loop takes for them.
  var valueTurnSeconds = SyncTuning.mendedValueSeconds
  /// So many bytes of them one sync sends, or fetches.
  var mendedValueBytesMax = SyncTuning.mendedValueBytesMax
  /// What it knows of large values that are not where they belong.
  var valueMemory = ValueMemory()
  /// The server may keep parts of a push that was stale.
  var partsMayBeThere = false

  struct ZoneHome: Sendable {
    var server: URL
    var zone: String
  }

  struct PendingCache {
    var generation: UUID
    var acknowledged: Int64
    var set: PendingSet
  }

  /// Makes an engine; it does nothing until it is told to.
  ///
  /// - Parameters:
  ///   - store: an enrolled store (`enroll`); ``init(store:enrollingThrough:options:)`` enrols it by itself.
  ///   - transport: the way to the store's zone.
  ///   - options: bounds, rules and what to do when a server was put back.
  public init(
    store: PersistentStore, transport: any SyncTransport, options: SyncOptions = SyncOptions()
  ) {
    self.init(store, transport, home: nil, options)
  }

  /// Makes an engine for a store that may not be enrolled yet: its first operation that the server answers enrols it. Until
  /// then operations throw what the way to the server says, and `run()` tells that it is offline.
  ///
  /// A store that is enrolled with another zone is refused with `SyncError` (`alreadyEnrolled`). When the zone's server has
  /// moved, the store keeps the new address once it has answered there.
  ///
  /// - Parameters:
  ///   - store: a store, enrolled with the zone or with none.
  ///   - transport: the way to the zone.
  ///   - options: bounds, rules and what to do when a server was put back.
  public init(
    store: PersistentStore, enrollingThrough transport: any ZoneTransport,
    options: SyncOptions = SyncOptions()
  ) {
    let home = ZoneHome(server: transport.server, zone: transport.zone)
    self.init(store, transport, home: home, options)
  }

  private init(
    _ store: PersistentStore, _ transport: any SyncTransport, home: ZoneHome?,
    _ options: SyncOptions
  ) {
    self.store = store
    self.transport = NewsTransport(transport, now: { store.now })
    self.home = home
    self.options = options
    schema = SyncSchema(store.schema, keys: options.keys)
    queue = StoreQueue.shared(for: store)
    number = queue.ticket()
    var log = Logger(label: "driftless.sync")
    log[metadataKey: "store"] = "\(store.label)"
    self.log = log
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    queue.executor.asUnownedSerialExecutor()
  }

  /// How many operations wait for the one that runs, on this store.
  package nonisolated var operationsWaiting: Int { queue.waiting }
}
