import DriftlessProtocol
package import Foundation

/// A code for one use, without its text.
package struct CodeRecord: Sendable {
  package let id: String
  package let hash: Data
  package let zoneID: Int64
  package let zoneName: String
  /// Of the token that it stands for, as the next two.
  package let verbs: Verbs
  package let name: String?
  package let tokenExpiresMilliseconds: Int64?
  package let createdMilliseconds: Int64
  /// When it ends, by the server's time.
  package let expiresMilliseconds: Int64
  package let revokedMilliseconds: Int64?
  package let usedMilliseconds: Int64?
  /// The token that was made for it.
  package let tokenID: String?

  /// How long a code is listed that was used, revoked or has ended.
  static let keptMilliseconds: Int64 = 30 * 86_400_000

  /// Whether it was neither used nor revoked.
  var isOpen: Bool { usedMilliseconds == nil && revokedMilliseconds == nil }

  package func state(at milliseconds: Int64) -> String {
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
package struct CodeRequest: Sendable {
  package var zone: String
  package var verbs: Verbs
  package var name: String?
  package var expiresMilliseconds: Int64
  package var tokenExpiresMilliseconds: Int64?

  package init(
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
package struct CodeUse: Sendable {
  package let codeHash: Data
  package let zone: String
  package let tokenID: String
  package let tokenHash: Data
  /// Where they are.
  package let address: String

  package init(
    codeHash: Data, zone: String, tokenID: String, tokenHash: Data, address: String
  ) {
    self.codeHash = codeHash
    self.zone = zone
    self.tokenID = tokenID
    self.tokenHash = tokenHash
    self.address = address
  }

  package enum Outcome: Sendable {
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
