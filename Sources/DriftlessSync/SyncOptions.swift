public import Driftless
public import DriftlessProtocol
public import Foundation

/// How an engine works. The defaults suit a desktop or a small host; units and reasons are in
/// `SyncTuning`.
public struct SyncOptions: Sendable {
  /// A conflict, as a custom policy sees it.
  public struct Conflict: Sendable {
    /// The name of the object's entity.
    public var entity: String
    /// The name of the property.
    public var property: String
    /// The object's identity.
    public var identity: UUID
    /// The value before the first local change, when it is known.
    public var base: PropertyValue?
    /// What this replica has.
    public var local: PropertyValue
    /// What the zone has.
    public var remote: PropertyValue
    /// When this replica's edit was made.
    public var localTime: HybridTime
    /// When the zone's edit was made.
    public var remoteTime: HybridTime
  }

  /// When deletes are so many that a person is asked first: a zone that was emptied or swapped by
  /// mistake looks like one whose objects were all deleted.
  public struct MassDeleteLimit: Hashable, Sendable {
    /// Of the objects that the replica has, from 0 to 1: more than this share at once asks first.
    public var share = SyncTuning.massDeleteShare
    /// Objects: so few never ask, whatever their share.
    public var floor = SyncTuning.massDeleteFloor
    /// Objects: more than so many at once ask first, whatever their share.
    public var count = SyncTuning.massDeleteCount

    /// The limits above.
    public init() {}

    func isPassed(by deletes: Int, of objects: Int) -> Bool {
      deletes > count || (deletes > floor && Double(deletes) > share * Double(objects))
    }
  }

  /// Settles a conflict: gives the value that both sides shall have. It must depend on its argument
  /// alone.
  public typealias CustomPolicy = @Sendable (Conflict) -> PropertyValue

  /// The most bytes of compressed log that one pull asks for. A larger change set still comes
  /// whole.
  public var pullBytesMax = SyncTuning.pullBytesMax
  /// The most objects that one push carries; history is cut between transactions.
  public var pushObjectsMax = SyncTuning.pushObjectsMax
  /// The most objects of one transaction that one change set carries: a larger one goes in parts, which the zone takes as one.
  public var partObjectsMax = SyncTuning.pushObjectsMax
  /// About the most bytes of values, not compressed, that one change set carries: a larger transaction goes in parts.
  public var partBytesMax = SyncTuning.partBytesMax
  /// Bytes: a binary value of as many goes by itself, where the server takes such, and is fetched by itself.
  public var largeValueBytesMin = SyncTuning.largeValueBytesMin
  /// Bytes of large values that one push brings: those of more go in several pushes, an object at least in each.
  public var pushValueBytesMax = SyncTuning.pushValueBytesMax
  /// Which large values are fetched when somebody asks for them (`SyncEngine.download`); nil for what the store says
  /// (``SyncEngine/setValueFetching(_:of:)``), and else the model.
  public var values: ValueFetching?
  /// How often a push that is told *stale* pulls and tries again before it gives up.
  public var staleRetriesMax = SyncTuning.staleRetriesMax
  /// Deletes that stop a pull or a push until they are allowed (`sync(allowingMassDelete:)`).
  public var massDelete = MassDeleteLimit()
  /// What to do when the server's log is not the one that the replica knew.
  public var onDiverged = DivergedAction.automatic
  /// Bytes of the zone's log that are kept for a server that loses them.
  public var keptFrameBytesMax = SyncTuning.keptFrameBytesMax
  /// Seconds for which they are kept: as long as an operator keeps backups.
  public var keptFrameSeconds = SyncTuning.keptFrameSeconds
  /// Of 1: a snapshot that takes less than this share of the log that is yet to be read is taken in its place.
  package var snapshotShare = SyncTuning.snapshotShare
  /// What the file system of a store has free: what sync writes of its own accord leaves room for saves.
  package var diskRoom: @Sendable (URL) -> DiskRoom? = { DiskRoom.beside($0) }
  /// Gives memory that is free back to the system: called between steps of a large push or pull. A program that does nothing but
  /// sync sets it; the library leaves the heap of its host alone.
  package var trimsMemory: @Sendable () -> Void = {}
  /// The rules of the properties whose policy is `custom(name)`, by name.
  public var customPolicies: [String: CustomPolicy] = [:]
  /// What the encrypted properties of the model are sealed and opened with (`driftless.encrypted`); nil for a replica that
  /// has no key: it syncs the rest, keeps what it cannot open aside, and does not send what it cannot seal.
  public var keys: KeyRing?
  /// The context name of imports in history.
  public var importContextName: String?

  /// The options above.
  public init() {}

  /// Whether an engine with the others would do the same. A custom policy is the same in every program that syncs a store,
  /// so its name stands for it.
  func isAlike(_ other: SyncOptions) -> Bool {
    func bounds(_ options: SyncOptions) -> [Int] {
      [
        options.pullBytesMax, options.pushObjectsMax, options.staleRetriesMax,
        options.keptFrameBytesMax, options.partObjectsMax, options.partBytesMax,
        options.largeValueBytesMin, options.pushValueBytesMax,
      ]
    }
    return bounds(self) == bounds(other) && keptFrameSeconds == other.keptFrameSeconds
      && snapshotShare == other.snapshotShare
      && values == other.values
      && massDelete == other.massDelete && onDiverged == other.onDiverged
      && importContextName == other.importContextName && keys == other.keys
      && Set(customPolicies.keys) == Set(other.customPolicies.keys)
  }
}
