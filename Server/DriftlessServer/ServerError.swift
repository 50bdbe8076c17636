import DriftlessProtocol
import Foundation

/// What the server refuses or fails at: a code that programs read, words that people read, and what
/// to do.
package struct ServerError: Error, Sendable, CustomStringConvertible {
  /// An open set of codes: the ones of the wire, and the ones of the command line.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let status: Int

    package static let malformed = Code(name: "malformed", status: 400)
    package static let unauthorized = Code(name: "unauthorized", status: 401)
    package static let forbidden = Code(name: "forbidden", status: 403)
    package static let tokenBound = Code(name: "token-bound", status: 403)
    package static let noZone = Code(name: "no-zone", status: 404)
    package static let noSnapshot = Code(name: "no-snapshot", status: 404)
    package static let notStaged = Code(name: "not-staged", status: 404)
    package static let noValue = Code(name: "no-value", status: 404)
    package static let notFound = Code(name: "not-found", status: 404)
    package static let stale = Code(name: "stale", status: 409)
    package static let generationChanged = Code(name: "generation-changed", status: 409)
    package static let codeUsed = Code(name: "code-used", status: 409)
    package static let forked = Code(name: "forked", status: 409)
    package static let diverged = Code(name: "diverged", status: 409)
    package static let clockAhead = Code(name: "clock-ahead", status: 409)
    package static let purged = Code(name: "purged", status: 410)
    package static let tooLarge = Code(name: "too-large", status: 413)
    package static let storage = Code(name: "storage", status: 500)
    package static let busy = Code(name: "busy", status: 503)
    /// To the client the same as busy; for the operator a client that asks too often.
    package static let tooOften = Code(name: "busy", status: 429)
    package static let diskFull = Code(name: "disk-full", status: 507)
    /// The zone has all that it may have, whatever is in the push.
    package static let zoneFull = Code(name: "zone-full", status: 507)
    // Of the command line only:
    package static let badLimits = Code(name: "bad-limits", status: 400)
    package static let badConfiguration = Code(name: "bad-configuration", status: 400)
    package static let badFormat = Code(name: "bad-format", status: 400)
    package static let badCertificate = Code(name: "bad-certificate", status: 500)
    package static let badName = Code(name: "bad-name", status: 400)
    package static let exists = Code(name: "exists", status: 409)
    package static let locked = Code(name: "locked", status: 503)
    package static let folder = Code(name: "folder", status: 500)
    package static let folderOnly = Code(name: "folder-only", status: 400)
    package static let noData = Code(name: "no-data", status: 500)
    package static let otherVersion = Code(name: "other-version", status: 500)
    package static let output = Code(name: "output", status: 500)
    package static let notHandedOut = Code(name: "not-handed-out", status: 500)
    package static let nothingToSetBack = Code(name: "nothing-to-set-back", status: 409)
    package static let notPurgeable = Code(name: "not-purgeable", status: 409)
    package static let renewedSince = Code(name: "renewed-since", status: 409)
    package static let deletedSince = Code(name: "deleted-since", status: 409)
    package static let unreadableDatabase = Code(name: "unreadable-database", status: 500)
    package static let notConfirmed = Code(name: "not-confirmed", status: 400)
    package static let refusedStart = Code(name: "refused-start", status: 500)
    package static let damagedDatabase = Code(name: "damaged-database", status: 500)

    package var description: String { name }

    /// Of what could not be written where a person wanted it.
    ///
    /// - Parameter reason: the system's number.
    static func ofOutput(_ reason: Int32) -> Code {
      [EACCES, EPERM, EROFS].contains(reason) ? .folder : .output
    }
  }

  package let code: Code
  package let message: String
  package let suggestion: String
  /// The last sequence number of the zone, where that helps the client.
  package var head: UInt64?
  /// With purged: the last entry whose change set may be gone.
  package var floor: UInt64?
  /// With stale: zone numbers of what changed.
  package var objects: [UInt64] = []
  /// With values-missing: the names of the values.
  package var values: [String] = []
  /// With stale: whether a pull brings something of what is in the way.
  package var hasNews = true
  /// The server's clock, where that helps the client.
  package var serverTimeMilliseconds: UInt64?
  /// Whether the connection must end with the answer: the rest of the body is not worth reading.
  package var closesConnection = false
  /// What failed, for the log: the client is not told.
  package var reason: String?
  /// Whether the database says that its file is damaged.
  var isDamage = false
  /// Seconds after which the same request may pass, where the server knows.
  package var retryAfterSeconds: Int?

  package init(_ code: Code, _ message: String, suggestion: String, head: UInt64? = nil) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.head = head
  }

  package var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code)). \(suggestion)"
  }

  /// What a zone's rules refuse.
  init(_ refusal: ProtocolError, head: UInt64? = nil) {
    self.init(
      Code(name: refusal.code.rawValue, status: WireError.status(for: refusal.code)),
      refusal.message, suggestion: refusal.suggestion, head: refusal.head ?? head)
    objects = refusal.objects
    floor = refusal.floor
    values = refusal.values
    serverTimeMilliseconds = refusal.serverTimeMilliseconds
  }

  static func badLimits(_ message: String) -> ServerError {
    ServerError(
      .badLimits, message,
      suggestion: "Correct the file. The limits are \(ServerLimits.names.joined(separator: ", ")).")
  }

  static func busy(_ message: String) -> ServerError {
    ServerError(.busy, message, suggestion: "Send the same request again after a while.")
  }

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
