public import DriftlessProtocol
import Foundation

/// What the server refuses or fails at: a code that programs read, words that people read, and what
/// to do.
public struct ServerError: Error, Sendable, CustomStringConvertible {
  /// An open set of codes: the ones of the wire, and the ones of the command line.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// What the wire and the command line call it.
    public let name: String
    /// The HTTP status.
    public let status: Int

    /// What came is not what it has to be.
    public static let malformed = Code(name: "malformed", status: 400)
    /// There is no token, or none that is one.
    public static let unauthorized = Code(name: "unauthorized", status: 401)
    /// The token does not allow it.
    public static let forbidden = Code(name: "forbidden", status: 403)
    /// The token is another replica's.
    public static let tokenBound = Code(name: "token-bound", status: 403)
    /// There is no such zone.
    public static let noZone = Code(name: "no-zone", status: 404)
    /// There is no such snapshot, or another one by now.
    public static let noSnapshot = Code(name: "no-snapshot", status: 404)
    /// Parts of the push are not here.
    public static let notStaged = Code(name: "not-staged", status: 404)
    /// The zone does not have the large value.
    public static let noValue = Code(name: "no-value", status: 404)
    /// There is no such thing.
    public static let notFound = Code(name: "not-found", status: 404)
    /// The push builds on what others have changed.
    public static let stale = Code(name: "stale", status: 409)
    /// The zone is in another generation.
    public static let generationChanged = Code(name: "generation-changed", status: 409)
    /// The code was used for another token.
    public static let codeUsed = Code(name: "code-used", status: 409)
    /// Two replicas go under one identity.
    public static let forked = Code(name: "forked", status: 409)
    /// The place is not of this log.
    public static let diverged = Code(name: "diverged", status: 409)
    /// A time lies too far ahead of the server's.
    public static let clockAhead = Code(name: "clock-ahead", status: 409)
    /// The place is below the floor of the log.
    public static let purged = Code(name: "purged", status: 410)
    /// It is larger than a bound.
    public static let tooLarge = Code(name: "too-large", status: 413)
    /// The database failed.
    public static let storage = Code(name: "storage", status: 500)
    /// Later the same may pass.
    public static let busy = Code(name: "busy", status: 503)
    /// To the client the same as busy; for the operator a client that asks too often.
    public static let tooOften = Code(name: "busy", status: 429)
    /// There is no room.
    public static let diskFull = Code(name: "disk-full", status: 507)
    /// The zone has all that it may have, whatever is in the push.
    public static let zoneFull = Code(name: "zone-full", status: 507)
    // Of the command line only:
    /// A limit is unknown, or out of its range.
    public static let badLimits = Code(name: "bad-limits", status: 400)
    /// The configuration cannot be read.
    public static let badConfiguration = Code(name: "bad-configuration", status: 400)
    /// A format level that cannot be.
    public static let badFormat = Code(name: "bad-format", status: 400)
    /// A certificate or key that cannot be used.
    public static let badCertificate = Code(name: "bad-certificate", status: 500)
    /// A name that nothing can have.
    public static let badName = Code(name: "bad-name", status: 400)
    /// There is one of that name.
    public static let exists = Code(name: "exists", status: 409)
    /// Another process is at it.
    public static let locked = Code(name: "locked", status: 503)
    /// The data folder cannot be used.
    public static let folder = Code(name: "folder", status: 500)
    /// It is of data folders alone.
    public static let folderOnly = Code(name: "folder-only", status: 400)
    /// There is no data folder.
    public static let noData = Code(name: "no-data", status: 500)
    /// The tables are another version's.
    public static let otherVersion = Code(name: "other-version", status: 500)
    /// What was to be written could not be.
    public static let output = Code(name: "output", status: 500)
    /// A secret was made that nobody has.
    public static let notHandedOut = Code(name: "not-handed-out", status: 500)
    /// The clock is not ahead.
    public static let nothingToSetBack = Code(name: "nothing-to-set-back", status: 409)
    /// A purge may lose what replicas need.
    public static let notPurgeable = Code(name: "not-purgeable", status: 409)
    /// The zone began anew since the backup.
    public static let renewedSince = Code(name: "renewed-since", status: 409)
    /// The zone was deleted since the backup.
    public static let deletedSince = Code(name: "deleted-since", status: 409)
    /// The database cannot be read.
    public static let unreadableDatabase = Code(name: "unreadable-database", status: 500)
    /// It was not said that it is meant.
    public static let notConfirmed = Code(name: "not-confirmed", status: 400)
    /// It would not be safe to serve.
    public static let refusedStart = Code(name: "refused-start", status: 500)
    /// The database is not as it was written.
    public static let damagedDatabase = Code(name: "damaged-database", status: 500)

    /// In words.
    public var description: String { name }

    /// Of what could not be written where a person wanted it.
    ///
    /// - Parameter reason: the system's number.
    static func ofOutput(_ reason: Int32) -> Code {
      [EACCES, EPERM, EROFS].contains(reason) ? .folder : .output
    }
  }

  /// Which.
  public let code: Code
  /// What is wrong, naming the thing.
  public let message: String
  /// What to do about it.
  public let suggestion: String
  /// The last sequence number of the zone, where that helps the client.
  public var head: UInt64?
  /// With purged: the last entry whose change set may be gone.
  public var floor: UInt64?
  /// With stale: zone numbers of what changed.
  public var objects: [UInt64] = []
  /// With values-missing: the names of the values.
  public var values: [String] = []
  /// With stale: whether a pull brings something of what is in the way.
  public var hasNews = true
  /// The server's clock, where that helps the client.
  public var serverTimeMilliseconds: UInt64?
  /// Whether the connection must end with the answer: the rest of the body is not worth reading.
  public var closesConnection = false
  /// What failed, for the log: the client is not told.
  public var reason: String?
  /// Whether the database says that its file is damaged.
  var isDamage = false
  /// Seconds after which the same request may pass, where the server knows.
  public var retryAfterSeconds: Int?

  /// What is refused, why, and what to do.
  public init(_ code: Code, _ message: String, suggestion: String, head: UInt64? = nil) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.head = head
  }

  /// In words.
  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code)). \(suggestion)"
  }

  /// What a zone's rules refuse, by the code that clients know it by.
  ///
  /// - Parameters:
  ///   - refusal: what is refused, why, and what to do.
  ///   - head: where the zone's log ends, when `refusal` does not say.
  public init(_ refusal: ProtocolError, head: UInt64? = nil) {
    self.init(
      Code(name: refusal.code.rawValue, status: WireError.status(for: refusal.code)),
      refusal.message, suggestion: refusal.suggestion, head: refusal.head ?? head)
    objects = refusal.objects
    floor = refusal.floor
    values = refusal.values
    serverTimeMilliseconds = refusal.serverTimeMilliseconds
  }

  /// What the rules refuse (``LogAppend``), as far as it is no fault of the storage; nil for all else.
  public init?(refusal error: any Error) {
    switch error {
    case let error as ServerError where error.code != .storage: self = error
    case let error as ProtocolError: self.init(error)
    default: return nil
    }
  }

  static func badLimits(_ message: String) -> ServerError {
    ServerError(
      .badLimits, message,
      suggestion: "Correct the file. The limits are \(ServerLimits.names.joined(separator: ", ")).")
  }

  static func busy(_ message: String) -> ServerError {
    ServerError(.busy, message, suggestion: "Send the same request again after a while.")
  }

  /// What somebody hears who asks a server that has ended.
  static let hasEnded = busy("the server has ended")

  static func tooOften(_ who: String, retryAfterSeconds: Int) -> ServerError {
    var error = ServerError(
      .tooOften, "\(who) asks too often",
      suggestion: "Send the same request again after \(retryAfterSeconds) s.")
    error.retryAfterSeconds = retryAfterSeconds
    return error
  }

  /// The error with the connection closed after it.
  func closing() -> ServerError {
    var error = self
    error.closesConnection = true
    return error
  }
}
