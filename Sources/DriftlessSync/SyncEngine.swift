public import Driftless
public import DriftlessProtocol
import Logging

/// Keeps one store in step with one zone: pushes what was saved here, pulls and merges what others
/// pushed.
///
/// The way of one edit, in order:
/// 1. A context's `save` writes rows and history in one transaction (`Driftless/Store`,
///    `Driftless/History`).
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
/// let engine = SyncEngine(store: store, transport: transport)
/// let report = try await engine.sync()
/// print("received \(report.pull.changeSets), sent \(report.push.changeSets)")
/// ```
///
/// One engine works on a store at a time: the first operation takes the store's sync lock and keeps
/// it until `close()` or the end of the engine. All errors are `SyncError`, `ProtocolError` (from
/// the transport) or `StoreError`.
public actor SyncEngine {
  public nonisolated let store: PersistentStore
  let transport: any SyncTransport
  let options: SyncOptions
  let schema: SyncSchema
  let log = Logger(label: "driftless.sync")
  /// The store's sync lock, while this engine has it.
  var syncLock: SyncLock?
  /// The pending set of the last operation; brought up to date from history by the next.
  var pendingCache: PendingCache?

  struct PendingCache {
    var acknowledged: Int64
    var set: PendingSet
  }

  /// Makes an engine; it does nothing until it is told to.
  ///
  /// - Parameters:
  ///   - store: an enrolled store (`enroll`).
  ///   - transport: the way to the store's zone.
  public init(
    store: PersistentStore, transport: any SyncTransport, options: SyncOptions = SyncOptions()
  ) {
    self.store = store
    self.transport = transport
    self.options = options
    schema = SyncSchema(store.schema)
  }
}
