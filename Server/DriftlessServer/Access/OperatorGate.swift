import Foundation
import HTTPTypes
import Hummingbird

/// Lets operators in, by a token of theirs.
struct OperatorGate: Sendable {
  private let storage: any ZoneStorage
  private let refusals: RateLimit
  private let audit: AuditRefusals
  private let connections: ConnectionRoom

  init(
    storage: any ZoneStorage, limits: LiveLimits, audit: AuditRefusals, connections: ConnectionRoom
  ) {
    self.connections = connections
    self.audit = audit
    self.storage = storage
    refusals = RateLimit(
      countMax: limits.wrongSignInsPerAddressMax, seconds: limits.rateSeconds)
  }

  /// The operator whose token a text is; nil for none.
  ///
  /// - Throws: `ServerError` (`.tooOften`) when the address showed too many that are none.
  func admit(_ text: String, from address: String) async throws -> OperatorRecord? {
    if let token = AccessToken(text: text.trimmingCharacters(in: .whitespacesAndNewlines)),
      let record = try await storage.operatorToken(id: token.id), token.matches(record.hash),
      await record.isValid(at: Int64(clamping: storage.time()))
    {
      return record
    }
    audit.note(from: address, to: "what is for operators")
    if let seconds = refusals.secondsToWait(of: address) {
      throw ServerError.tooOften("This address", retryAfterSeconds: seconds)
    }
    return nil
  }

  /// Lets a program on this host in that reads what the server counts, and one elsewhere with an operator's token.
  ///
  /// What a proxy on this host hands on comes from elsewhere, and proxies say so.
  ///
  /// - Throws: `ServerError`: `.unauthorized`, `.tooOften`.
  func admitReader(_ request: Request, _ context: ServerContext) async throws {
    guard !context.isOfThisHost || Self.isHandedOn(request.headers) else { return }
    let field = request.headers[.authorization] ?? ""
    let parts = field.split(separator: " ", maxSplits: 1)
    if parts.count == 2, parts[0].lowercased() == "bearer",
      let record = try await admit(String(parts[1]), from: context.address)
    {
      connections.admit(context.channel)
      return context.notes.note("operator", record.name)
    }
    throw ServerError(
      .unauthorized, "from another host this is for operators alone",
      suggestion: "Send a token of driftless-server operator create --name NAME: "
        + "Authorization: Bearer TOKEN.")
  }

  private static func isHandedOn(_ headers: HTTPFields) -> Bool {
    [
      "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Via",
    ].contains { name in
      HTTPField.Name(name).map { headers.contains($0) } ?? false
    }
  }
}
