package import DriftlessProtocol
package import Foundation
package import Logging

/// Where zones, tokens and logs live. The routes know only this; SQLite and PostgreSQL are answers to it.
///
/// An implementation keeps these laws, whatever the load:
/// * sequence numbers of a zone are dense, 1, 2, 3 …, in commit order;
/// * an append is durable before it returns, and has one effect however often it arrives;
/// * what `page` gives is what was appended, byte for byte.
package protocol ZoneStorage: Sendable {
  /// The server's time, milliseconds since 1970: never less than what was given before.
  func time() async -> UInt64

  /// The zone of that name; nil when there is none.
  func zone(named name: String) async throws -> ZoneRecord?

  /// The token of that ID, revoked or not; nil when there is none.
  func token(id: String) async throws -> TokenRecord?

  /// Binds a token to a replica, where it is to be bound and nobody has used it so far.
  ///
  /// - Returns: to whom it is bound now.
  func bind(_ token: TokenRecord, to replica: UUID) async throws -> TokenBinding

  /// Makes the token for which a code stands, or finds that it did so before. One code makes one token, however many ask at
  /// one time.
  func use(_ use: CodeUse) async throws -> CodeUse.Outcome

  /// Takes note that a replica was there, for the operator.
  func noteSeen(_ visit: Visit, in zone: ZoneRecord) async

  /// Puts lines into the record of who did what.
  func audit(_ events: [AuditEvent]) async

  /// The token of an operator of that ID, revoked or not; nil when there is none.
  func operatorToken(id: String) async throws -> OperatorRecord?

  /// What the status page shows: the storage, and zones from a name on. It costs what so many zones cost, however many there
  /// are and however long their logs.
  func look(from name: String, count: Int) async throws -> StorageLook

  /// The replicas of a zone that were seen, those furthest behind first; nil where that is not kept.
  func replicas(of zone: ZoneRecord, countMax: Int) async throws -> [ReplicaReport]?

  /// The generations of all zones.
  func generations() async throws -> Set<UUID>

  /// Whether a push of so many bytes could be stored now.
  ///
  /// - Throws: `ServerError` with what stands in the way.
  func checkReady(bytes: Int) async throws

  /// Appends a push to its zone's log.
  ///
  /// - Throws: `ServerError` with the codes stale, generation-changed, diverged, forked,
  ///   disk-full, busy …; then nothing was applied.
  func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended

  /// Keeps a part of a push beside the log until the last one comes.
  ///
  /// - Throws: `ServerError`: `.tooLarge` and `.busy` where there is no room for it, and as `append`.
  func stage(_ part: Push, of zone: ZoneRecord) async throws

  /// The frame that a header is of, as far as its bytes are among the parts that the replica has sent.
  ///
  /// - Throws: `ServerError`: `.notStaged`.
  func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data

  /// Takes back entries that the log lost, as they are, all of one call or none. Those that it has are skipped.
  ///
  /// - Parameter entries: each with its frame as read.
  /// - Throws: `ServerError` (`.diverged`) when the log does not go on with them.
  func refill(
    _ entries: [(entry: PullPage.Entry, push: Push)], of zone: ZoneRecord
  ) async throws -> LogMark

  /// The highest of some places that is the log's own; nil when none is.
  func commonPlace(of marks: [LogMark], in zone: ZoneRecord) async throws -> LogMark?

  /// The log after a place.
  ///
  /// - Throws: `ServerError` (`.diverged`) when the place or the mark is not of this log.
  func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage

  /// The last entry of the log whose change set may be gone; 0 where none was purged.
  func floor(of zone: ZoneRecord) async throws -> UInt64

  /// What the log comes to at a place of it; nil where it has not been added up.
  func snapshot(of zone: ZoneRecord) async throws -> Snapshot?

  /// What stands for the entries that were purged; nil where none were.
  func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot?

  /// A piece of a file that the zone's snapshot names, or the one before it; nil for any other.
  func segment(
    _ name: String, of zone: ZoneRecord, first: Int, count: Int
  ) async throws -> Data?

  /// Digests of what the log comes to, at a place of it or a later one; not ready while they are made.
  ///
  /// - Throws: `ServerError`: `.diverged` when the place is not of this log, and `unsupported` where there are none.
  func digests(of zone: ZoneRecord, at place: LogMark) async throws -> ZoneDigests

  /// A part of the digests of a place, or the objects that they are of.
  ///
  /// - Throws: `ServerError`: `.noSnapshot` when there are digests of another place by now, `.busy`.
  func digests(_ part: DigestPart, of zone: ZoneRecord, at place: LogMark) async throws -> Data

  /// Whether large values are kept; where not, clients send them within their change sets.
  var keepsValues: Bool { get }

  /// Takes a piece of a large value, where it is the next one, and keeps what is there of the value for a while.
  ///
  /// - Parameter token: the ID of the token that it came with.
  /// - Throws: `ServerError`: `unsupported` where none are taken, `.tooLarge`, `.diskFull` where there is no room for it, and `damaged` for the last piece of one that
  ///   is not what its digest says.
  func keep(_ piece: ValuePiece, of zone: ZoneRecord, token: String) async throws -> ValueState

  /// A piece of a large value that the zone has, at most ``LargeValue/pieceBytesMax``.
  ///
  /// - Throws: `ServerError` (`.noValue`).
  func value(_ digest: Data, of zone: ZoneRecord, first: Int, count: Int) async throws -> Data

  /// Those of some large values that a zone does not have.
  func missing(_ values: [LargeValue], in zone: ZoneRecord) async throws -> [LargeValue]

  /// Large values that the zone's log names and the zone lacks, in the order of their digests, after one.
  func lostValues(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue]

  /// What was found when entries were first answered.
  var entryCheck: EntryCheck { get }

  /// Wakes those who wait when others than this process changed zones, tokens or logs, until the task is cancelled.
  func watch() async

  /// Begins to add up the logs of zones, now and as they grow. Until then there are no digests.
  ///
  /// - Parameter trimsMemory: called between the steps of that, and at its end.
  func beginFolding(logger: Logger, trimsMemory: @escaping @Sendable () -> Void) throws

  /// Goes by other limits from now on, as far as it can.
  func take(_ limits: ServerLimits)

  /// Lets go of all that is open. What was acknowledged is durable already.
  func close()
}

extension ZoneStorage {
  /// No log of such a storage is purged.
  package func floor(of zone: ZoneRecord) async throws -> UInt64 { 0 }

  package func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot? { nil }

  /// Who keeps none lacks none.
  package func lostValues(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue] { [] }
}

/// A zone as it was at one moment.
package struct ZoneRecord: Sendable, Hashable {
  package let id: Int64
  package let name: String
  package let zoneID: UUID
  package let generation: UUID
  package let parent: ZoneParent?
  package let intent: ZoneIntent
  /// The generations that began with `ZoneIntent.replace`, newest last.
  package let replacements: [UUID]
  package let formatLevel: UInt16
  package let head: UInt64
  /// The log's chain at its head.
  package let chain: LogChain
  /// The number that the next new object gets.
  package let nextObject: UInt64
  /// The newest time of a transaction in the log. Milliseconds since 1970.
  package let newestMilliseconds: UInt64
  /// Bounds of this zone alone.
  package var limits = ZoneLimits()
}

/// A token without its secret.
package struct TokenRecord: Sendable {
  package let id: String
  package let hash: Data
  package let zoneID: Int64
  package let zoneName: String
  package let verbs: Verbs
  package let createdMilliseconds: Int64
  package let revokedMilliseconds: Int64?
  /// What the operator called it.
  package let name: String?
  /// When it ends, by the server's time.
  package let expiresMilliseconds: Int64?
  /// Which replicas may use it.
  package let binding: TokenBinding

  /// What the record of who did what says of its first use.
  func bound(to replica: UUID, at milliseconds: Int64) -> AuditEvent {
    AuditEvent(
      .tokenBound, by: "replica \(replica.wireText)", zone: zoneName, subject: id, detail: name,
      at: milliseconds)
  }
}

/// What an append gave out, now or when the same push first arrived.
package struct Appended: Sendable, Hashable {
  package let sequence: UInt64
  package let firstObjectNumber: UInt64
  /// The log's chain there.
  package let chain: LogChain
  /// Of a push in several parts: the log's chain before the first of them.
  package let chainBefore: LogChain?
  /// Whether the push had been appended before.
  package let isRepeat: Bool

  package init(
    sequence: UInt64, firstObjectNumber: UInt64, chain: LogChain, chainBefore: LogChain? = nil,
    isRepeat: Bool
  ) {
    self.chainBefore = chainBefore
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.chain = chain
    self.isRepeat = isRepeat
  }
}

/// Which part of a log a replica asks for.
package struct PageRequest: Sendable {
  /// The entries after this place.
  package var after: LogMark
  /// The asking replica's highest acknowledged entry.
  package var mark: LogMark?
  package var bytesMax: Int
  package var entriesMax: Int
  /// The asking replica: frames of its own, up to a sequence number, come back as headers only.
  package var own: (replica: UUID, through: UInt64)?
  /// Called with the bytes that the page will have, before any of its entries is read; what it throws ends the reading.
  package var reserve: (@Sendable (_ bytes: Int) throws -> Void)?

  package init(after: LogMark, mark: LogMark? = nil, bytesMax: Int, entriesMax: Int) {
    self.after = after
    self.mark = mark
    self.bytesMax = bytesMax
    self.entriesMax = entriesMax
  }
}

/// One change set of the log.
package struct LogEntry: Sendable, Hashable {
  package let sequence: UInt64
  package let firstObjectNumber: UInt64
  package let chain: LogChain
  /// The frame as it was pushed, or only its header when it is the asking replica's own.
  package let bytes: Data
  package let isHeaderOnly: Bool
}

/// Some of a log, and where the log ends.
package struct LogPage: Sendable {
  package let entries: [LogEntry]
  package let head: UInt64
  /// What changes with the large values that the zone lacks; nil where it lacks none.
  package var lostValues: String?
}

/// That a replica was there.
package struct Visit: Sendable {
  package let replica: UUID
  /// The one of whose log it spoke.
  package let generation: UUID
  /// Up to where it has applied the zone's log.
  package let place: UInt64
  /// Up to where a pull gave it entries after that: it has them, unless it asks for them again. Nil for a push.
  package let given: UInt64?
  /// The ID of the token that it came with.
  package let token: String
  /// The name that it told; nil for none.
  package let name: ReplicaName?
  /// Where its connection comes from, as text; nil where that is not known.
  package let address: String?
  /// The highest format level that it reads; nil where it told none.
  package let format: UInt16?
}

extension ZoneStorage {
  /// As `noteSeen(_:in:)`.
  package func noteSeen(
    _ replica: UUID, in zone: ZoneRecord, generation: UUID, at place: UInt64, given: UInt64?,
    token: String, name: ReplicaName? = nil, address: String? = nil, format: UInt16? = nil
  ) async {
    await noteSeen(
      Visit(
        replica: replica, generation: generation, place: place, given: given, token: token,
        name: name, address: address, format: format), in: zone)
  }
}
