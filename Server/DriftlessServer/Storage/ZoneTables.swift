public import DriftlessProtocol
public import Foundation

/// What the rules of a push (``LogAppend``) read and write of a zone inside one transaction: one answer to it a database.
///
/// Whatever is written is seen by what is read after it. The caller rolls back what a refused push wrote. Zones are named by the
/// storage's own number of them (``ZoneRecord/id``); what a database cannot answer is thrown as a ``ServerError`` (`.busy`, `.storage`),
/// or as an error of the storage's own, which `append` hands on.
///
/// A storage states each of these: what it does not have it says, as each says here. One that left a note of large values or a floor to
/// somebody else would break rules without a word.
public protocol ZoneTables {
  /// The zone of that name as it is in this transaction; nil when there is none.
  ///
  /// - Throws: where the database cannot be asked.
  func zone(named name: String) throws -> ZoneRecord?

  /// A place of the log; nil when the log has none there. Place 0 is `Cursor.start` of the zone's generation.
  ///
  /// - Throws: where the database cannot be asked.
  func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark?

  // MARK: Replicas

  /// What the storage knows of a replica, in whatever zone; nil where it knows none.
  ///
  /// - Throws: where the database cannot be asked.
  func replica(_ replica: UUID) throws -> KnownReplica?

  /// How many there are, without those that were forgotten.
  ///
  /// - Throws: where the database cannot be asked.
  func replicaCount(of zone: Int64) throws -> Int

  /// A replica pushes to the zone for the first time.
  ///
  /// - Parameter isForgotten: it is not counted among the zone's.
  /// - Throws: where it cannot be written.
  func add(_ replica: UUID, to zone: Int64, isForgotten: Bool) throws -> KnownReplica

  /// One that was forgotten is the zone's again.
  ///
  /// - Throws: where it cannot be written.
  func remember(_ replica: UUID, of zone: Int64) throws

  // MARK: The log

  /// The entry that a push of that number became, of one in several parts that of the last; nil when there is none.
  ///
  /// - Throws: where the database cannot be asked.
  func entry(of replica: KnownReplica, number: UInt64) throws -> KnownEntry?

  /// A replica's entries after a place: the newest ones, ``LogBounds/ownFramesMax`` at most.
  ///
  /// - Throws: where the database cannot be asked.
  func ownFrames(of replica: KnownReplica, after sequence: UInt64) throws -> OwnFrames

  /// The first object number of an entry; nil where the log has none there.
  ///
  /// - Throws: where the database cannot be asked.
  func firstObject(of sequence: UInt64, zone: Int64) throws -> UInt64?

  /// The last entry of the zone's log whose change set may be gone; 0 where none was purged, as in a storage that purges none.
  ///
  /// - Throws: where the database cannot be asked.
  func floor(of zone: ZoneRecord) throws -> UInt64

  /// Bytes of the zone's entries that were not purged, counted a bounded piece further; at least so many there are. Asked where the
  /// zone has a bound of them.
  ///
  /// - Throws: where the database cannot be asked.
  func logBytes(of zone: ZoneRecord) throws -> Int

  /// Appends an entry at the zone's end: it, the zone's head, chain, next object number and newest time, and the number of the
  /// replica's last push. An entry that is no refill ends the zone's mark that it was put back (``ZoneRecord/isPutBack``).
  ///
  /// - Throws: where it cannot be written.
  func append(_ entry: NewEntry, to zone: ZoneRecord) throws

  // MARK: Pushes in parts

  /// Keeps a part of a push beside the log.
  ///
  /// - Throws: `ServerError` where there is no room for it; ``DriftlessServer/ServerError/takesNoParts`` in a storage that takes none.
  func stage(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
  ) throws

  /// Looks whether there is room beside the log for a part, and makes it where what is left of other pushes of its replica stands
  /// in the way (``StagedRoom`` has the rule).
  ///
  /// - Throws: `ServerError`: `.tooLarge` for a push that never has room, `.busy` for one that has none now;
  ///   ``DriftlessServer/ServerError/takesNoParts`` in a storage that takes none.
  func makeRoom(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
  ) throws

  /// A part of a push that is kept beside the log; nil when it is not there. A storage that takes none has none, nor bytes of such.
  ///
  /// - Throws: where the database cannot be asked.
  func staged(_ part: UInt16, of push: Push) throws -> Data?

  /// Lets go of the parts of a replica's pushes up to one that the log has. Those of a later one stay: what the log has may
  /// come again while that is under way.
  ///
  /// - Throws: where it cannot be written.
  func dropStaged(of replica: UUID, through number: UInt64) throws

  /// A part of a push comes next, with the numbers of what it names: what is held in memory of those before it may be written
  /// now, and what the rules will ask for may be read at once. Who reads row by row does nothing.
  ///
  /// - Throws: where the database cannot be asked.
  func ready(for part: Push) throws

  /// Bytes of parts of pushes to the zone that wait beside its log, without a replica's.
  ///
  /// - Throws: where the database cannot be asked.
  func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int

  /// Bytes of the parts of a push that wait, without the part itself.
  ///
  /// - Throws: where the database cannot be asked.
  func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int

  // MARK: Large values

  /// Those that the zone does not have: all of them in a storage that keeps none, and then none is ever used.
  ///
  /// - Throws: where the database cannot be asked.
  func missing(_ values: [LargeValue], zone: Int64) throws -> [LargeValue]

  /// An entry names them from now on: they stay. One that a refill names may not be there: replicas are to be told that it is lost.
  ///
  /// - Throws: where it cannot be written.
  func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) throws

  // MARK: Objects

  /// A small number for a property's name, the same each time.
  ///
  /// - Parameter most: how many names the zone may have.
  /// - Throws: `ServerError.tooManyNames(_:)` where this would be one more.
  func property(_ name: String, zone: Int64, most: Int) throws -> UInt64

  /// The row of an object; one that has none was not touched after its insert.
  ///
  /// - Throws: where the database cannot be asked.
  func object(_ number: UInt64, zone: Int64) throws -> ObjectState

  /// Keeps the row of an object.
  ///
  /// - Throws: where it cannot be written.
  func set(_ number: UInt64, to state: ObjectState, zone: Int64) throws

  /// Notes that an entry names an object (``ObjectState/name(_:by:)``).
  ///
  /// - Returns: the sequence number of its delete; 0 when it lives.
  /// - Throws: where it cannot be written.
  func name(_ number: UInt64, zone: Int64, sequence: UInt64, by replica: Int64) throws -> UInt64

  // MARK: Identities

  /// The run of identities that begins last of those which do not begin after `identity`, in the order of their 16 bytes.
  ///
  /// - Throws: where the database cannot be asked.
  func run(atOrBefore identity: UUID, zone: Int64) throws -> KnownRun?

  /// The number of some run's first identity that lies after one identity and not after another.
  ///
  /// - Throws: where the database cannot be asked.
  func number(after identity: UUID, through last: UUID, zone: Int64) throws -> UInt64?

  /// Adds a run.
  ///
  /// - Throws: where it cannot be written.
  func insert(_ run: KnownRun, zone: Int64) throws

  /// Whether the zone knows an identity that was deleted before it heard of it.
  ///
  /// - Throws: where the database cannot be asked.
  func hasTombstones(zone: Int64) throws -> Bool

  /// Where the zone heard that identities of a range were deleted, as far as that was after a place.
  ///
  /// - Throws: where the database cannot be asked.
  func tombstones(
    from first: UUID, through last: UUID, after sequence: UInt64, zone: Int64
  ) throws -> [UInt64]

  /// Notes that an identity was deleted before the zone heard of it.
  ///
  /// - Throws: where it cannot be written.
  func bury(_ identity: UUID, sequence: UInt64, zone: Int64) throws

  // MARK: Unique keys

  /// Whether any object of the zone holds a key: where none does, nothing more is asked.
  ///
  /// - Throws: where the database cannot be asked.
  func hasClaims(zone: Int64) throws -> Bool

  /// The keys that an object holds.
  ///
  /// - Throws: where the database cannot be asked.
  func keys(of object: UInt64, zone: Int64) throws -> [(hash: Data, constraint: ZoneConstraint)]

  /// Nobody holds a key any more.
  ///
  /// - Throws: where it cannot be written.
  func letGo(_ hash: Data, zone: Int64) throws

  /// Gives an object a key.
  ///
  /// - Returns: who holds it already, where somebody does; then nothing is changed.
  /// - Throws: where it cannot be written.
  func take(
    _ hash: Data, for object: UInt64, under constraint: ZoneConstraint, zone: Int64
  ) throws -> UInt64?
}

extension ServerError {
  /// What a storage says of a part of a push that keeps none.
  public static var takesNoParts: ServerError {
    ServerError(
      .tooLarge, "the server takes no push in parts", suggestion: "Save fewer changes at a time.")
  }
}
