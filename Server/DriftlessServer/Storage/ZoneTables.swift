import DriftlessProtocol
import Foundation

/// What the rules of a push (`Rules/`) read and write of a zone inside one transaction: one answer to it a database.
///
/// Whatever is written is seen by what is read after it. The caller rolls back what a refused push wrote.
protocol ZoneTables {
  func zone(named name: String) throws -> ZoneRecord?

  /// A place of the log; nil when the log has none there.
  func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark?

  // MARK: Replicas

  func replica(_ replica: UUID) throws -> KnownReplica?

  /// How many there are, without those that were forgotten.
  func replicaCount(of zone: Int64) throws -> Int

  /// - Parameter isForgotten: it is not counted among the zone's.
  func add(_ replica: UUID, to zone: Int64, isForgotten: Bool) throws -> KnownReplica

  /// One that was forgotten is the zone's again.
  func remember(_ replica: UUID, of zone: Int64) throws

  // MARK: The log

  /// The entry that a push of that number became, of one in several parts that of the last; nil when there is none.
  func entry(of replica: KnownReplica, number: UInt64) throws -> KnownEntry?

  /// Keeps a part of a push beside the log.
  ///
  /// - Throws: `ServerError` where there is no room for it.
  func stage(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
  ) throws

  /// Looks whether there is room beside the log for a part, and makes it where what is left of other pushes of its replica stands
  /// in the way.
  ///
  /// - Throws: `ServerError`: `.tooLarge` for a push that never has room, `.busy` for one that has none now.
  func makeRoom(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
  ) throws

  /// A part of a push that is kept beside the log; nil when it is not there.
  func staged(_ part: UInt16, of push: Push) throws -> Data?

  /// Lets go of the parts of a replica's pushes up to one that the log has. Those of a later one stay: what the log has may
  /// come again while that is under way.
  func dropStaged(of replica: UUID, through number: UInt64) throws

  /// A part of a push comes next, with the numbers of what it names: what is held in memory of those before it may be written
  /// now, and what the rules will ask for may be read at once.
  func ready(for part: Push) throws

  /// A replica's entries after a place: the newest ones, as many as are worth knowing.
  func ownFrames(of replica: KnownReplica, after sequence: UInt64) throws -> OwnFrames

  /// The first object number of an entry.
  func firstObject(of sequence: UInt64, zone: Int64) throws -> UInt64?

  /// The last entry of the zone's log whose change set may be gone; 0 where none was purged.
  func floor(of zone: ZoneRecord) throws -> UInt64

  /// Bytes of the zone's entries that were not purged, counted a bounded piece further; at least so many there are.
  func logBytes(of zone: ZoneRecord) throws -> Int

  /// Bytes of parts of pushes to the zone that wait beside its log, without a replica's.
  func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int

  /// Bytes of the parts of a push that wait, without the part itself.
  func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int

  /// Appends an entry at the zone's end, and moves that.
  func append(_ entry: NewEntry, to zone: ZoneRecord) throws

  // MARK: Large values

  /// Those that the zone does not have.
  func missing(_ values: [LargeValue], zone: Int64) throws -> [LargeValue]

  /// An entry names them from now on: they stay.
  func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) throws

  // MARK: Objects

  /// A small number for a property's name.
  ///
  /// - Parameter most: how many names the zone may have.
  /// - Throws: `ServerError` (`.zoneFull`) where this would be one more.
  func property(_ name: String, zone: Int64, most: Int) throws -> UInt64

  /// The row of an object; one that has none was not touched after its insert.
  func object(_ number: UInt64, zone: Int64) throws -> ObjectState
  func set(_ number: UInt64, to state: ObjectState, zone: Int64) throws

  /// Notes that an entry names an object.
  ///
  /// - Returns: the sequence number of its delete; 0 when it lives.
  func name(_ number: UInt64, zone: Int64, sequence: UInt64, by replica: Int64) throws -> UInt64

  // MARK: Identities

  /// The run of identities that begins last of those which do not begin after `identity`.
  func run(atOrBefore identity: UUID, zone: Int64) throws -> KnownRun?

  /// The number of some run's first identity that lies after one identity and not after another.
  func number(after identity: UUID, through last: UUID, zone: Int64) throws -> UInt64?
  func insert(_ run: KnownRun, zone: Int64) throws

  func hasTombstones(zone: Int64) throws -> Bool

  /// Where the zone heard that identities of a range were deleted, as far as that was after a place.
  func tombstones(
    from first: UUID, through last: UUID, after sequence: UInt64, zone: Int64
  ) throws -> [UInt64]
  func bury(_ identity: UUID, sequence: UInt64, zone: Int64) throws

  // MARK: Unique keys

  func hasClaims(zone: Int64) throws -> Bool
  func keys(of object: UInt64, zone: Int64) throws -> [(hash: Data, constraint: ZoneConstraint)]
  func letGo(_ hash: Data, zone: Int64) throws

  /// Gives an object a key.
  ///
  /// - Returns: who holds it already, where somebody does; then nothing is changed.
  func take(
    _ hash: Data, for object: UInt64, under constraint: ZoneConstraint, zone: Int64
  ) throws -> UInt64?
}

extension ZoneTables {
  func ready(for part: Push) throws {}

  /// No log of such a storage is purged.
  func floor(of zone: ZoneRecord) throws -> UInt64 { 0 }
}

/// A replica that a zone knows.
struct KnownReplica: Sendable, Equatable {
  /// The small number that the tables have for it.
  let id: Int64
  let zone: Int64
  let lastPush: UInt64
  /// An operator had it forgotten, and it has not pushed since: the log alone tells of it, and it is not counted.
  var isForgotten = false
}

/// What is asked of an entry that a push became.
struct KnownEntry: Sendable {
  let sequence: UInt64
  let firstObjectNumber: UInt64
  let digest: Data
  let chain: LogChain
}

/// A run of identities that were inserted together, and the object number of the first.
struct KnownRun: Sendable, Equatable {
  let first: UUID
  let count: UInt64
  let number: UInt64
}

/// A push that passed every rule, on its way into the log.
struct NewEntry {
  let push: Push
  let sequence: UInt64
  let chain: LogChain
  let replica: KnownReplica
  let receivedMilliseconds: Int64
}

enum LogBounds {
  /// One zone's log and its object numbers end here: at 1,000 change sets a second, after 35 years.
  static let numberMax: UInt64 = (1 << 40) - 1
  /// A replica's own entries above the cursor of its push that are looked at.
  /// Where there are more, the older ones count as others', and what builds on them is stale until its replica has pulled.
  /// More than a push has parts (`partsPerPushMax`): the last one may build on the first.
  static let ownFramesMax = 16_384
}

/// The text that a constraint of unique keys has in the tables: a JSON list of the entity and its properties.
enum ConstraintText {
  static func of(_ constraint: ZoneConstraint) throws -> String {
    String(
      decoding: try JSONEncoder().encode([constraint.entity] + constraint.properties),
      as: UTF8.self)
  }

  /// - Throws: `ServerError` (`.storage`) when the text is none of those.
  static func constraint(_ text: String) throws -> ZoneConstraint {
    guard let names = try? JSONDecoder().decode([String].self, from: Data(text.utf8)),
      let entity = names.first
    else {
      throw ServerError(
        .storage, "a constraint in the index is damaged",
        suggestion: "Restore the database from its backup.")
    }
    return ZoneConstraint(entity: entity, properties: Array(names.dropFirst()))
  }
}
