import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// One line of the record of who did what to a server: an operator's command, or what a server refused or let in.
public struct AuditEvent: Sendable, Hashable {
  /// What was done.
  public enum Act: String, Sendable, CaseIterable {
    case zoneCreated = "zone-created"
    case zoneRenamed = "zone-renamed"
    case zoneRenewed = "zone-renewed"
    case zoneDeleted = "zone-deleted"
    case zonePurged = "zone-purged"
    case zonePutBack = "zone-put-back"
    case tokenCreated = "token-created"
    case tokenBound = "token-bound"
    case tokenRotated = "token-rotated"
    case tokenRevoked = "token-revoked"
    case codeCreated = "code-created"
    case codeRevoked = "code-revoked"
    case codeUsed = "code-used"
    case operatorCreated = "operator-created"
    case operatorRevoked = "operator-revoked"
    case clockSetBack = "clock-set-back"
    case restored
    case limitsChanged = "limits-changed"
    case formatRaised = "format-raised"
    case replicaForgotten = "replica-forgotten"
    case signedIn = "signed-in"
    /// A wrong token: of an operator at the status page, or of a zone.
    case refused
  }

  /// By the server's time. Milliseconds since 1970.
  public var timeMilliseconds: Int64
  /// Who: the user of a command's process with its host, the name of an operator, or an address.
  public var actor: String
  /// What was done.
  public var act: Act
  /// In which zone; nil where it is of none.
  public var zone: String?
  /// What it was done to: a token's ID, a zone's new name, a file.
  public var subject: String?
  /// More of it, as a person reads it.
  public var detail: String?
  /// How many of them one line stands for: refusals of an address are counted.
  public var count = 1

  /// A line, by default of this process.
  public init(
    _ act: Act, by actor: String = Self.user, zone: String? = nil, subject: String? = nil,
    detail: String? = nil, count: Int = 1, at timeMilliseconds: Int64
  ) {
    self.act = act
    self.actor = actor
    self.zone = zone
    self.subject = subject
    self.detail = detail
    self.count = count
    self.timeMilliseconds = timeMilliseconds
  }

  /// What a token is for, and what it is called.
  static func detail(_ verbs: Verbs, _ label: String?, binds: Bool = false) -> String {
    ["\(verbs)", binds ? "bound" : nil, label].compactMap(\.self).joined(separator: " ")
  }

  /// The user whose command this process is: `anna (sudo) on host`.
  public static let user: String = {
    let environment = ProcessInfo.processInfo.environment
    let own = getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "\(getuid())"
    let name = environment["SUDO_USER"].map { "\($0) (sudo)" } ?? own
    let text = "\(name) on \(ProcessInfo.processInfo.hostName)"
    return String(
      String.UnicodeScalarView(text.unicodeScalars.filter { $0.value > 31 }).prefix(200))
  }()
}

/// How much of the record is kept.
package enum AuditBounds {
  /// Lines of what was done; the oldest go first.
  static let entriesMax: Int64 = 90_000
  /// Lines that are forgotten for their age with each new one.
  static let forgottenAtOnce = 100
  /// The oldest lines by their order: those that are looked at for their age with each new one.
  static let lookedAt = 1_000
  /// Lines of refusals beside those: who tries tokens does not push out what others did.
  static let refusalsMax: Int64 = 10_000
  /// Lines of operators who signed in beside those: who may only look does not push out what others did either.
  static let signInsMax: Int64 = 10_000
  /// Days for which a line is kept.
  static let days: Int64 = 400
  /// Addresses whose refusals are told apart in a minute; the others are counted together.
  static let addressesMax = 100

  /// Acts that anybody can do, or anybody who may look, push out themselves alone: lines among which one of an act counts, as a condition
  /// on the table, and how many of them are kept.
  static func kind(of act: AuditEvent.Act) -> (condition: String, most: Int64) {
    let apart: [(AuditEvent.Act, Int64)] = [(.refused, refusalsMax), (.signedIn, signInsMax)]
    if let own = apart.first(where: { $0.0 == act }) {
      return ("act = '\(act.rawValue)'", own.1)
    }
    let acts = apart.map { "'\($0.0.rawValue)'" }.joined(separator: ", ")
    return ("act NOT IN (\(acts))", entriesMax)
  }

  static func oldest(at milliseconds: Int64) -> Int64 { milliseconds - days * 86_400_000 }
}
