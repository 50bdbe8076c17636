public import DriftlessProtocol
public import Foundation
public import Logging

/// Where zones, tokens and logs live. The routes know only this; SQLite and PostgreSQL are answers to it.
///
/// An implementation keeps these laws, whatever the load:
/// * sequence numbers of a zone are dense, 1, 2, 3 …, in commit order;
/// * an append is durable before it returns, and has one effect however often it arrives;
/// * what `page` gives is what was appended, byte for byte.
public protocol ZoneStorage: Sendable {
  /// The server's time, milliseconds since 1970: never less than what was given before.
  func time() async -> UInt64

  /// The zone of that name; nil when there is none.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func zone(named name: String) async throws -> ZoneRecord?

  /// The token of that ID, revoked or not; nil when there is none.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func token(id: String) async throws -> TokenRecord?

  /// Binds a token to a replica, where it is to be bound and nobody has used it so far.
  ///
  /// - Returns: to whom it is bound now.
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func bind(_ token: TokenRecord, to replica: UUID) async throws -> TokenBinding

  /// Makes the token for which a code stands, or finds that it did so before. One code makes one token, however many ask at
  /// one time.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func use(_ use: CodeUse) async throws -> CodeUse.Outcome

  /// Takes note that a replica was there, for the operator.
  func noteSeen(_ visit: Visit, in zone: ZoneRecord) async

  /// Puts lines into the record of who did what.
  func audit(_ events: [AuditEvent]) async

  /// The token of an operator of that ID, revoked or not; nil when there is none.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func operatorToken(id: String) async throws -> OperatorRecord?

  /// What the status page shows: the storage, and zones from a name on. It costs what so many zones cost, however many there
  /// are and however long their logs.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func look(from name: String, count: Int) async throws -> StorageLook

  /// The replicas of a zone that were seen, those furthest behind first; nil where that is not kept.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func replicas(of zone: ZoneRecord, countMax: Int) async throws -> [ReplicaReport]?

  /// The generations of all zones.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
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

  /// Takes back entries that the log lost, as they are and in their order. Those that it has are skipped. Where one is refused, those
  /// before it may stay; a storage does well to write some of them at a time, so that others' pushes come between.
  ///
  /// - Parameter entries: each with its frame as read.
  /// - Throws: `ServerError` (`.diverged`) when the log does not go on with them.
  func refill(_ entries: [Refill], of zone: ZoneRecord) async throws -> LogMark

  /// The highest of some places that is the log's own; nil when none is.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func commonPlace(of marks: [LogMark], in zone: ZoneRecord) async throws -> LogMark?

  /// The log after a place.
  ///
  /// - Throws: `ServerError` (`.diverged`) when the place or the mark is not of this log.
  func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage

  /// The last entry of the log whose change set may be gone; 0 where none was purged.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func floor(of zone: ZoneRecord) async throws -> UInt64

  /// What the log comes to at a place of it; nil where it has not been added up.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func snapshot(of zone: ZoneRecord) async throws -> Snapshot?

  /// What stands for the entries that were purged; nil where none were.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot?

  /// A piece of a file that the zone's snapshot names, or the one before it; nil for any other.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
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
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func missing(_ values: [LargeValue], in zone: ZoneRecord) async throws -> [LargeValue]

  /// Large values that the zone's log names and the zone lacks, in the order of their digests, after one.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
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
  /// - Throws: what keeps it from folding at all.
  func beginFolding(logger: Logger, trimsMemory: @escaping @Sendable () -> Void) throws

  /// Goes by other limits from now on, as far as it can.
  func take(_ limits: ServerLimits)

  /// Lets go of all that is open. What was acknowledged is durable already.
  func close()
}

/// An entry that a log lost, and what is read of it.
public typealias Refill = (entry: PullPage.Entry, push: Push)

/// A token without its secret.
public struct TokenRecord: Sendable {
  /// As the text of the token begins.
  public let id: String
  /// The SHA-256 of the token's secret.
  public let hash: Data
  /// The storage's own number of the zone (`ZoneRecord.id`).
  public let zoneID: Int64
  /// The name of the zone, as it is now.
  public let zoneName: String
  /// What it allows.
  public let verbs: Verbs
  /// When it was made, by the server's time. Milliseconds since 1970.
  public let createdMilliseconds: Int64
  /// When it was revoked, by the server's time; nil where it was not. Milliseconds since 1970.
  public let revokedMilliseconds: Int64?
  /// What the operator called it.
  public let name: String?
  /// When it ends, by the server's time.
  public let expiresMilliseconds: Int64?
  /// Which replicas may use it.
  public let binding: TokenBinding

  /// All that there is to say of one.
  public init(
    id: String, hash: Data, zoneID: Int64, zoneName: String, verbs: Verbs,
    createdMilliseconds: Int64, revokedMilliseconds: Int64?, name: String?,
    expiresMilliseconds: Int64?, binding: TokenBinding
  ) {
    self.id = id
    self.hash = hash
    self.zoneID = zoneID
    self.zoneName = zoneName
    self.verbs = verbs
    self.createdMilliseconds = createdMilliseconds
    self.revokedMilliseconds = revokedMilliseconds
    self.name = name
    self.expiresMilliseconds = expiresMilliseconds
    self.binding = binding
  }

  /// What the record of who did what says of its first use.
  func bound(to replica: UUID, at milliseconds: Int64) -> AuditEvent {
    AuditEvent(
      .tokenBound, by: "replica \(replica.wireText)", zone: zoneName, subject: id, detail: name,
      at: milliseconds)
  }
}

/// What an append gave out, now or when the same push first arrived.
public struct Appended: Sendable, Hashable {
  /// The sequence number.
  public let sequence: UInt64
  /// The zone object number of the first object that it made.
  public let firstObjectNumber: UInt64
  /// The log's chain there.
  public let chain: LogChain
  /// Of a push in several parts: the log's chain before the first of them.
  public let chainBefore: LogChain?
  /// Whether the push had been appended before.
  public let isRepeat: Bool

  /// All of it.
  public init(
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
public struct PageRequest: Sendable {
  /// The entries after this place.
  public var after: LogMark
  /// The asking replica's highest acknowledged entry.
  public var mark: LogMark?
  /// Bytes of entries at most; one entry is always given whole.
  public var bytesMax: Int
  /// Entries at most.
  public var entriesMax: Int
  /// The asking replica: frames of its own, up to a sequence number, come back as headers only.
  public var own: (replica: UUID, through: UInt64)?
  /// Called with the bytes that the page will have, before any of its entries is read; what it throws ends the reading.
  public var reserve: (@Sendable (_ bytes: Int) throws -> Void)?

  /// All of it.
  public init(after: LogMark, mark: LogMark? = nil, bytesMax: Int, entriesMax: Int) {
    self.after = after
    self.mark = mark
    self.bytesMax = bytesMax
    self.entriesMax = entriesMax
  }
}

/// One change set of the log.
public struct LogEntry: Sendable, Hashable {
  /// The sequence number.
  public let sequence: UInt64
  /// The zone object number of the first object that it made.
  public let firstObjectNumber: UInt64
  /// The log's chain there.
  public let chain: LogChain
  /// The frame as it was pushed, or only its header when it is the asking replica's own.
  public let bytes: Data
  /// Whether it is the asking replica's own, of which the header alone goes.
  public let isHeaderOnly: Bool

  /// All that there is to say of one.
  public init(
    sequence: UInt64, firstObjectNumber: UInt64, chain: LogChain, bytes: Data,
    isHeaderOnly: Bool
  ) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.chain = chain
    self.bytes = bytes
    self.isHeaderOnly = isHeaderOnly
  }
}

/// Some of a log, and where the log ends.
public struct LogPage: Sendable {
  /// In the order of their sequence numbers, without a gap.
  public let entries: [LogEntry]
  /// The last sequence number of the zone's log.
  public let head: UInt64
  /// What changes with the large values that the zone lacks; nil where it lacks none.
  public var lostValues: String?

  /// All that there is to say of one.
  public init(
    entries: [LogEntry], head: UInt64, lostValues: String? = nil
  ) {
    self.entries = entries
    self.head = head
    self.lostValues = lostValues
  }
}
