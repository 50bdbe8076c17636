public import DriftlessProtocol
import Foundation

/// What an operator does to zones and tokens, whatever database holds them, while servers run or not.
public protocol ZoneAdministration {
  /// All zones, by name.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func zones() throws -> [ZoneRecord]

  /// A zone's snapshot; nil when there is none.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func snapshot(of zone: ZoneRecord) throws -> Snapshot?

  /// Adds up a zone's log to a snapshot; pushes go on meanwhile.
  ///
  /// - Throws: `ServerError` (`.noZone`, `.locked` while another process folds the zone).
  func foldZone(_ name: String) throws -> Snapshot

  /// The last entry of a zone's log whose change set may be gone; 0 where none was purged.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func floor(of zone: ZoneRecord) throws -> UInt64

  /// Shortens a zone's log; replicas that are below the floor go on by its snapshot.
  ///
  /// - Throws: `ServerError`: `.noZone`, `.locked`, `.notPurgeable`, `.diskFull`.
  func purgeZone(_ name: String, _ options: PurgeOptions) throws -> PurgeReport

  /// Creates a zone with an empty log and a new generation.
  ///
  /// - Throws: `ServerError`: `.badName`, `.exists`.
  func createZone(_ name: String) throws -> ZoneRecord

  /// Begins a new generation of a zone, with an empty log. The zone's UUID and its tokens stay, and what times it takes:
  /// what replicas offer has the times of the log before.
  ///
  /// - Parameter intent: whether replicas offer what they hold of the generation before, or take
  ///   the zone's state.
  /// - Throws: `ServerError` (`.noZone`; `.locked` where an older program serves), and then the zone is as it was.
  func renewZone(_ name: String, intent: ZoneIntent) throws -> ZoneRecord

  /// The large values that a zone has and its log names: replicas may have let go of theirs since.
  ///
  /// - Throws: `ServerError` (`.noZone`).
  func namedValues(of name: String) throws -> NamedValues

  /// Gives a zone another name. Its tokens go on being of it, and replicas that have synced with it find it by its identity.
  ///
  /// - Throws: `ServerError`: `.noZone`, `.badName`, `.exists`.
  func renameZone(_ name: String, to other: String) throws -> ZoneRecord

  /// Deletes a zone with its log and its tokens. Its replicas keep what they hold, and are refused from now on.
  ///
  /// - Returns: where the zone is gone, and some of what it had is left: why. Who serves lets go of it later. Nil where nothing is.
  /// - Throws: `ServerError` (`.noZone`; `.locked` where an older program serves), and then the zone is there.
  @discardableResult func deleteZone(_ name: String) throws -> ServerError?

  /// Sets bounds of one zone, or takes them away; a server goes by them with the next push.
  ///
  /// - Parameter changes: by name; nil takes a bound away.
  /// - Returns: the zone's bounds from now on.
  /// - Throws: `ServerError` (`.noZone`, `.badLimits`).
  @discardableResult func changeLimits(
    of name: String, _ changes: [String: Int?]
  ) throws -> ZoneLimits

  /// Says that a zone's log was put back to an older copy by other means than `restore`: replicas bring back what it lacks, and that
  /// is taken whatever the bounds and the clock say, until a push comes that is no refill (``ZoneRecord/isPutBack``).
  ///
  /// - Throws: `ServerError` (`.noZone`).
  @discardableResult func markPutBack(_ name: String) throws -> ZoneRecord

  /// - Throws: `ServerError` (`.noZone`).
  func inspectZone(_ name: String) throws -> ZoneReport

  /// Raises the highest format level of change sets that a zone takes; a server goes by it with the next push. It is never lowered:
  /// the log may have change sets of it.
  ///
  /// - Parameter highest: the highest that this program reads.
  /// - Throws: `ServerError` (`.noZone`, `.badFormat`).
  func raiseFormat(of name: String, to level: UInt16, highest: UInt16) throws -> ZoneRecord

  /// Takes replicas out of those that a zone counts and lists; nothing waits for them any more. What they sent stays, and one that
  /// comes back goes on where it was.
  ///
  /// - Throws: `ServerError` (`.noZone`, and `.notFound` for one that the zone does not know).
  func forgetReplicas(
    of name: String, _ choice: ForgettingChoice, isDryRun: Bool
  ) throws -> ForgettingReport

  /// Entries of a zone's log, oldest first.
  ///
  /// - Parameters:
  ///   - first: the sequence number to begin with; the log may begin later.
  ///   - count: at most so many.
  /// - Throws: `ServerError` (`.noZone`).
  func log(of name: String, from first: UInt64, count: Int) throws -> [LogLine]

  /// The replicas of one zone, or of all: those furthest behind first.
  ///
  /// - Throws: `ServerError` (`.noZone`).
  func replicas(of name: String?) throws -> [ReplicaReport]

  /// The server's time, by which ends of tokens are judged: it may be ahead of the host's clock.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func serverMilliseconds() throws -> Int64

  /// All tokens, those too that were revoked.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func tokens() throws -> [TokenRecord]

  /// Makes a token. Its text is known only now: the database keeps a hash of it.
  ///
  /// - Parameters:
  ///   - label: what the operator calls it.
  ///   - expiresMilliseconds: when it ends, by the server's time; nil for never.
  ///   - binds: whether the replica that uses it first is the only one that may.
  ///   - handOut: gives it to whoever asked, once it is one: what was handed out is a token. Where this throws, it is taken
  ///     back: one that nobody has could not be told from a lost one.
  /// - Throws: `ServerError` (`.noZone`, `.badName`), and what `handOut` throws.
  @discardableResult func createToken(
    zone name: String, verbs: Verbs, label: String?, expiresMilliseconds: Int64?, binds: Bool,
    handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken

  /// Makes a token in the place of another: of the same zone, verbs and name. Where that is bound to a replica, the new one is
  /// to be bound to who uses it first.
  ///
  /// - Parameters:
  ///   - grace: milliseconds for which the old one goes on being one, so that hosts can be given the new one; 0 revokes it.
  ///   - expiresMilliseconds: when the new one ends; nil for never.
  /// - Throws: `ServerError` (`.notFound` for one that there is not, or that was revoked), and what `handOut` throws.
  @discardableResult func rotateToken(
    id: String, grace: Int64, expiresMilliseconds: Int64?, handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken

  /// Makes a token worthless from the next request on.
  ///
  /// - Throws: `ServerError` (`.notFound`).
  func revokeToken(id: String) throws

  /// The codes for one use, those too that were used, revoked or ended in the last 30 days.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func codes() throws -> [CodeRecord]

  /// Makes a code for one use. Its text is known only now: the database keeps a hash of it.
  ///
  /// - Parameter handOut: gives it to whoever asked, once it is one. Where this throws, it is taken back.
  /// - Throws: `ServerError` (`.noZone`, `.badName`), and what `handOut` throws.
  @discardableResult func createCode(
    _ request: CodeRequest, handOut: (CodeRecord, String) throws -> Void
  ) throws -> CodeRecord

  /// Makes a code worthless that was not used.
  ///
  /// - Throws: `ServerError` (`.notFound`).
  func revokeCode(id: String) throws

  /// Makes all codes worthless that were not used.
  ///
  /// - Returns: those that were open until now.
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  @discardableResult func revokeCodes() throws -> [CodeRecord]

  /// How the server's time stands beside this host's clock, which servers by these limits go by.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func clock(at host: Int64, limits: ServerLimits) throws -> ClockReport

  /// Makes the server go on from this host's clock where it gave later times: after a leap ahead that it believed.
  ///
  /// Changes keep their times. A zone that has later ones takes as late ones still (`LogAppend`), and what is saved by who
  /// has pulled them comes after them.
  ///
  /// - Returns: how it stood before.
  /// - Throws: `ServerError`: `.locked` while anybody serves, since who does has the time in memory, and `.nothingToSetBack`.
  func setClockBack(to host: Int64) throws -> ClockReport

  /// The record of who did what, from a time on, oldest first. Milliseconds since 1970.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func audit(since milliseconds: Int64) throws -> [AuditEvent]

  /// Reads all of the database, while servers may go on writing.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func verify() throws -> DatabaseCheck.Outcome

  /// Who may sign in at the status page, now or no more.
  ///
  /// - Throws: `ServerError` (`.busy`, `.storage`) where the database cannot be asked.
  func operators() throws -> [OperatorRecord]

  /// Makes a token of an operator, as `createToken` makes one of a zone.
  ///
  /// - Throws: `ServerError` (`.badName`), and what `handOut` throws.
  @discardableResult func createOperator(
    name: String, expiresMilliseconds: Int64?, handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken

  /// Ends a token of an operator, and the sessions that began with it.
  ///
  /// - Throws: `ServerError` (`.notFound`).
  func revokeOperator(id: String) throws
}

extension ZoneAdministration {
  /// Makes a token that any replica may use.
  @discardableResult package func createToken(
    zone name: String, verbs: Verbs, label: String?, expiresMilliseconds: Int64?,
    handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken {
    try createToken(
      zone: name, verbs: verbs, label: label, expiresMilliseconds: expiresMilliseconds,
      binds: false, handOut: handOut)
  }

  package func clock() throws -> ClockReport {
    try clock(at: Administration.hostMilliseconds, limits: .init())
  }

  package func setClockBack() throws -> ClockReport {
    try setClockBack(to: Administration.hostMilliseconds)
  }
}

extension ServerError {
  /// A token that nobody has, and that could not be taken back.
  static func unheldToken(_ id: String, _ error: any Error) -> ServerError {
    ServerError(
      .notHandedOut,
      "the token \(id) could not be printed, and could not be taken back either: \(error)",
      suggestion: "Nobody has it. Take it back: driftless-server token revoke \(id)")
  }

  /// An operator's token that nobody has, and that could not be taken back.
  static func unheldOperator(_ id: String, _ error: any Error) -> ServerError {
    ServerError(
      .notHandedOut,
      "the token \(id) could not be printed, and could not be taken back either: \(error)",
      suggestion: "Nobody has it. Take it back: driftless-server operator revoke \(id)")
  }

  static func noSuchToken(_ id: String) -> ServerError {
    ServerError(
      .notFound, "there is no token with the ID \(id)",
      suggestion: "See the IDs: driftless-server token list")
  }

  static func noValidToken(_ id: String) -> ServerError {
    ServerError(
      .notFound, "there is no token with the ID \(id), or it was revoked",
      suggestion: "See the IDs: driftless-server token list")
  }

  static func noSuchOperator(_ id: String) -> ServerError {
    ServerError(
      .notFound, "there is no operator's token with the ID \(id)",
      suggestion: "See the IDs: driftless-server operator list")
  }

  static func zoneExists(_ name: String) -> ServerError {
    ServerError(
      .exists, "the zone \(name) exists already",
      suggestion: "Make a token for it: driftless-server token create --zone \(name)")
  }

  /// What a command says of a zone that there is not, where it is about one that there is.
  static func noSuchZone(_ name: String) -> ServerError {
    ServerError(
      .noZone, "there is no zone \(name)",
      suggestion: "See the zones: driftless-server zone list")
  }

  /// What a command says of a zone that there is not, where somebody is to be let into it.
  static func zoneToCreate(_ name: String) -> ServerError {
    ServerError(
      .noZone, "there is no zone \(name)",
      suggestion: "Create it: driftless-server zone create \(name)")
  }
}

extension ZoneName {
  /// - Throws: `ServerError` (`.badName`).
  static func check(_ name: String) throws {
    guard isValid(name) else {
      throw ServerError(
        .badName, "\"\(name)\" is not the name of a zone",
        suggestion: "Use 1 to 100 letters, digits, '-', '_' or '.', first a letter or digit.")
    }
  }
}

extension ZoneRecord {
  /// The same zone in a new generation, with an empty log, under another number.
  func renewed(intent: ZoneIntent, as id: Int64) -> ZoneRecord {
    let generation = UUID()
    let replacements = (replacements + (intent == .replace ? [generation] : []))
      .suffix(ZoneInfo.replacementsMax)
    return ZoneRecord(
      id: id, name: name, zoneID: zoneID, generation: generation,
      parent: ZoneParent(generation: self.generation, sequence: head, chain: chain),
      intent: intent, replacements: Array(replacements), formatLevel: formatLevel,
      newestMilliseconds: newestMilliseconds, limits: limits)
  }
}

/// Large values of a zone.
public struct NamedValues: Hashable, Sendable {
  public var count: Int64
  public var bytes: Int64

  public init(count: Int64, bytes: Int64) {
    (self.count, self.bytes) = (count, bytes)
  }
}
