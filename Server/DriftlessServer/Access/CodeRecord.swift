import DriftlessProtocol
public import Foundation

/// A code for one use, without its text.
public struct CodeRecord: Sendable {
  /// By which an operator names it.
  public let id: String
  /// What the server keeps of its text.
  public let hash: Data
  /// The `id` of the zone (`ZoneRecord.id`).
  public let zoneID: Int64
  /// The name of the zone, as it is now.
  public let zoneName: String
  /// Of the token that it stands for, as the next two.
  public let verbs: Verbs
  /// What the token is called.
  public let name: String?
  /// When the token ends, by the server's time; nil for never. Milliseconds since 1970.
  public let tokenExpiresMilliseconds: Int64?
  /// When it was made, by the server's time. Milliseconds since 1970.
  public let createdMilliseconds: Int64
  /// When it ends, by the server's time.
  public let expiresMilliseconds: Int64
  /// When it was revoked, by the server's time; nil where it was not. Milliseconds since 1970.
  public let revokedMilliseconds: Int64?
  /// When a token was made for it, by the server's time. Milliseconds since 1970.
  public let usedMilliseconds: Int64?
  /// The token that was made for it.
  public let tokenID: String?

  /// All that there is to say of one.
  public init(
    id: String, hash: Data, zoneID: Int64, zoneName: String, verbs: Verbs, name: String?,
    tokenExpiresMilliseconds: Int64?, createdMilliseconds: Int64, expiresMilliseconds: Int64,
    revokedMilliseconds: Int64?, usedMilliseconds: Int64?, tokenID: String?
  ) {
    self.id = id
    self.hash = hash
    self.zoneID = zoneID
    self.zoneName = zoneName
    self.verbs = verbs
    self.name = name
    self.tokenExpiresMilliseconds = tokenExpiresMilliseconds
    self.createdMilliseconds = createdMilliseconds
    self.expiresMilliseconds = expiresMilliseconds
    self.revokedMilliseconds = revokedMilliseconds
    self.usedMilliseconds = usedMilliseconds
    self.tokenID = tokenID
  }

  /// How long a code is listed that was used, revoked or has ended.
  static let keptMilliseconds: Int64 = 30 * 86_400_000

  /// Whether it was neither used nor revoked.
  var isOpen: Bool { usedMilliseconds == nil && revokedMilliseconds == nil }

  /// `used`, `revoked`, `expired` or `valid`.
  public func state(at milliseconds: Int64) -> String {
    if usedMilliseconds != nil { return "used" }
    if revokedMilliseconds != nil { return "revoked" }
    return expiresMilliseconds <= milliseconds ? "expired" : "valid"
  }

  /// What becomes of somebody who shows the code.
  ///
  /// - Parameter token: the token that the server has under the ID of theirs.
  func outcome(of use: CodeUse, token: TokenRecord?, at milliseconds: Int64) -> CodeUse.Outcome {
    if usedMilliseconds != nil {
      guard tokenID == use.tokenID, token?.hash == use.tokenHash else {
        return zoneName == use.zone ? .used : .refused
      }
      // Whatever the zone is called by now: who asks may know its former name alone.
      return token?.revokedMilliseconds == nil ? .repeated(self) : .refused
    }
    // A token's ID is drawn: one that is there is no accident. One that had ended would be of no use.
    guard zoneName == use.zone, isOpen, milliseconds < expiresMilliseconds,
      milliseconds < tokenExpiresMilliseconds ?? .max, token == nil
    else { return .refused }
    return .made(self)
  }

  /// A new code of a zone.
  static func new(
    _ code: String, of zone: ZoneRecord, _ request: CodeRequest, at milliseconds: Int64
  ) -> CodeRecord {
    CodeRecord(
      id: String(AccessToken.mint().id.prefix(8)), hash: EnrolmentCode.hash(code),
      zoneID: zone.id, zoneName: zone.name, verbs: request.verbs, name: request.name,
      tokenExpiresMilliseconds: request.tokenExpiresMilliseconds,
      createdMilliseconds: milliseconds, expiresMilliseconds: request.expiresMilliseconds,
      revokedMilliseconds: nil, usedMilliseconds: nil, tokenID: nil)
  }
}

/// What an operator asks a code to be.
public struct CodeRequest: Sendable {
  /// The name of the zone.
  public var zone: String
  /// What the token allows.
  public var verbs: Verbs
  /// What the token is called.
  public var name: String?
  /// When the code ends, by the server's time. Milliseconds since 1970.
  public var expiresMilliseconds: Int64
  /// When the token ends, by the server's time; nil for never. Milliseconds since 1970.
  public var tokenExpiresMilliseconds: Int64?

  /// All of it.
  public init(
    zone: String, verbs: Verbs, name: String? = nil, expiresMilliseconds: Int64,
    tokenExpiresMilliseconds: Int64? = nil
  ) {
    self.zone = zone
    self.verbs = verbs
    self.name = name
    self.expiresMilliseconds = expiresMilliseconds
    self.tokenExpiresMilliseconds = tokenExpiresMilliseconds
  }
}

/// Somebody who shows a code, and the token that is to be bound to it.
public struct CodeUse: Sendable {
  /// The hash of what they show.
  public let codeHash: Data
  /// The name of the zone.
  public let zone: String
  /// The ID of their token.
  public let tokenID: String
  /// The SHA-256 of their token's secret.
  public let tokenHash: Data
  /// Where they are.
  public let address: String

  /// All of it.
  public init(
    codeHash: Data, zone: String, tokenID: String, tokenHash: Data, address: String
  ) {
    self.codeHash = codeHash
    self.zone = zone
    self.tokenID = tokenID
    self.tokenHash = tokenHash
    self.address = address
  }

  /// What becomes of them.
  public enum Outcome: Sendable {
    /// The token is one from now on.
    case made(CodeRecord)
    /// It was made for the same token before.
    case repeated(CodeRecord)
    /// Another token was made for the code.
    case used
    /// There is no such code, or it can be used no more: which of it, nobody is told.
    case refused
  }

  /// The line of the record.
  func event(_ code: CodeRecord, at milliseconds: Int64) -> AuditEvent {
    AuditEvent(
      .codeUsed, by: address, zone: zone, subject: tokenID,
      detail: "by code \(code.id) " + AuditEvent.detail(code.verbs, code.name), at: milliseconds)
  }
}

extension ServerError {
  static func noSuchCode(_ id: String) -> ServerError {
    ServerError(
      .notFound, "there is no code with the ID \(id) that could be used",
      suggestion: "See the IDs: driftless-server code list. A token that was made for a code is "
        + "revoked by its own: driftless-server token revoke")
  }

  /// A code that nobody has, and that could not be taken back.
  static func unheldCode(_ id: String, _ error: any Error) -> ServerError {
    ServerError(
      .notHandedOut,
      "the code \(id) could not be printed, and could not be taken back either: \(error)",
      suggestion: "Nobody has it. Take it back: driftless-server code revoke \(id)")
  }
}
