import Foundation
import HTTPTypes
import Hummingbird

/// Decides who may do what: a token in the Authorization header, for one zone and some verbs.
struct Gate: Sendable {
  private let storage: any ZoneStorage
  private let requests: RateLimit
  private let refusals: RateLimit
  /// Whatever becomes of them: who shows codes has no token that could be counted.
  private let codes: RateLimit
  private let audit: AuditRefusals
  private let connections: ConnectionRoom
  private let limits: LiveLimits

  init(
    storage: any ZoneStorage, limits: LiveLimits, audit: AuditRefusals, connections: ConnectionRoom
  ) {
    self.audit = audit
    self.limits = limits
    self.connections = connections
    self.storage = storage
    requests = RateLimit(countMax: limits.requestsPerTokenMax, seconds: limits.rateSeconds)
    codes = RateLimit(countMax: limits.requestsPerTokenMax, seconds: limits.rateSeconds)
    refusals = RateLimit(countMax: limits.refusalsPerAddressMax, seconds: limits.rateSeconds)
  }

  /// A request that was let in.
  struct Admission: Sendable {
    let zone: ZoneRecord
    let token: TokenRecord
    let since = ContinuousClock.now

    /// For whom what the request takes of memory is held.
    var holder: MemoryBudget.Holder { .init(zone: zone.name, token: token.id) }
  }

  /// The zone of its path that a request may use; its connection is one of who has a token from then on.
  ///
  /// - Throws: as `admit(_:from:zone:verb:)`.
  func admit(
    _ request: Request, _ context: ServerContext, _ verb: Verbs
  ) async throws -> Admission {
    let admitted = try await admit(
      request.headers, from: context.address, zone: context.parameters.get("zone"), verb: verb)
    connections.admit(context.channel)
    context.notes.note(admitted.holder)
    return admitted
  }

  /// The zone that a request may use.
  ///
  /// A zone that does not exist is refused as one that the token is not for, so that names of zones
  /// cannot be tried out.
  ///
  /// - Parameter address: where the request comes from, as text.
  /// - Throws: `ServerError`: `.unauthorized`, `.forbidden`, `.tooOften`.
  func admit(
    _ headers: HTTPFields, from address: String, zone name: String?, verb: Verbs
  ) async throws -> Admission {
    guard let token = try await token(headers) else {
      if headers[.authorization] != nil { audit.note(from: address, to: "a zone") }
      if let seconds = refusals.secondsToWait(of: address) {
        throw ServerError.tooOften("this address", retryAfterSeconds: seconds)
      }
      throw Self.unauthorized
    }
    if let seconds = requests.secondsToWait(of: token.id) {
      throw ServerError.tooOften("this token", retryAfterSeconds: seconds)
    }
    return try await admission(token, zone: name, verb: verb)
  }

  /// Refuses who does not say which replica asks, where a token is one replica's.
  ///
  /// - Throws: `ServerError` (`.tokenBound`).
  func checkIsUnbound(_ token: TokenRecord) throws {
    guard token.binding == .none else { throw ServerError.tokenBoundToUnsaid(token.id) }
  }

  /// Has a token that is to be bound be the one of the replica that uses it first.
  ///
  /// - Throws: `ServerError` (`.tokenBound`) where it is another one's.
  func check(_ replica: UUID, mayUse token: TokenRecord) async throws {
    var binding = token.binding
    if binding == .first { binding = try await storage.bind(token, to: replica) }
    if let bound = binding.replica, bound != replica {
      throw ServerError.tokenBound(token.id, not: replica)
    }
  }

  /// Looks again at a request that was let in and has waited: an operator may have changed zones and tokens meanwhile.
  ///
  /// - Throws: as `admit`.
  func admitAgain(_ headers: HTTPFields, zone name: String?, verb: Verbs) async throws {
    guard let token = try await token(headers) else { throw Self.unauthorized }
    _ = try await admission(token, zone: name, verb: verb)
  }

  /// Looks again at a request whose body is there, where that took as long as waiting requests are not left alone for: a token may
  /// have been revoked meanwhile, or the process have been stopped.
  ///
  /// - Throws: as `admit`.
  func check(
    _ admitted: Admission, _ request: Request, _ context: ServerContext, _ verb: Verbs
  ) async throws {
    guard ContinuousClock.now - admitted.since > .seconds(limits.watchSeconds) else { return }
    try await admitAgain(request.headers, zone: context.parameters.get("zone"), verb: verb)
  }

  /// Counts somebody who shows a code, before anybody looks for it.
  ///
  /// - Throws: `ServerError` (`.tooOften`).
  func countCode(from address: String) throws {
    guard let seconds = codes.secondsToWait(of: address) else { return }
    throw ServerError.tooOften("this address", retryAfterSeconds: seconds)
  }

  /// Counts a code that is told its token once more.
  ///
  /// - Throws: `ServerError` (`.tooOften`).
  func countAgain(_ code: CodeRecord) throws {
    guard let seconds = codes.secondsToWait(of: "code " + code.id) else { return }
    throw ServerError.tooOften("this code", retryAfterSeconds: seconds)
  }

  /// What somebody hears who shows a code that opens nothing, as one who shows a wrong token.
  ///
  /// - Parameter isUsed: whether it is a code for which another token was made. Who knows that one is no stranger, and hears that
  ///   somebody was before them; all others hear one answer.
  func refuseCode(from address: String, isUsed: Bool = false) -> ServerError {
    audit.note(from: address, to: "a zone, by a code")
    if let seconds = refusals.secondsToWait(of: address) {
      return ServerError.tooOften("this address", retryAfterSeconds: seconds)
    }
    return isUsed
      ? ServerError(
        .codeUsed, "the code was used for another token",
        suggestion: "If that was not you, tell the operator, who sees by which token "
          + "(driftless-server code list) and can revoke it. Ask for another code.")
      : ServerError(
        .unauthorized, "the code is wrong, revoked or past its end, or is not for this zone",
        suggestion: "Check it and the zone's name, or ask the operator for another: "
          + "driftless-server code create ZONE")
  }

  private static var unauthorized: ServerError {
    ServerError(
      .unauthorized, "the token is missing, wrong, revoked or past its end",
      suggestion: "Ask the operator for a token (driftless-server token create --zone NAME), "
        + "and enroll again with it: syncctl enroll … --token-file FILE")
  }

  private func admission(
    _ token: TokenRecord, zone name: String?, verb: Verbs
  ) async throws -> Admission {
    let zone = try await storage.zone(named: token.zoneName)
    // Who knows the zone by its own UUID finds it whatever it is called by now.
    guard let name, ZoneName.isValid(name),
      name == token.zoneName || name == zone?.zoneID.uuidString.lowercased()
    else {
      throw ServerError(
        .forbidden, "the token is not for this zone: it is for \(token.zoneName)",
        suggestion: "Where that is the zone's name by now: syncctl enroll --store STORE --zone "
          + "\(token.zoneName). Else ask the operator for a token for the zone that is meant.")
    }
    guard token.verbs.isSuperset(of: verb) else {
      let wayOut =
        verb == .write ? "; or give up what was not sent: syncctl sync --give-up-unsent" : ""
      throw ServerError(
        .forbidden, "the token allows only \(token.verbs) in this zone, not \(verb)",
        suggestion:
          "Ask the operator: driftless-server token create --zone \(token.zoneName) --verbs "
          + "\(token.verbs.union(verb))\(wayOut)")
    }
    guard let zone else {
      throw ServerError(
        .noZone, "there is no zone \(token.zoneName)", suggestion: "Ask the operator for its name.")
    }
    return Admission(zone: zone, token: token)
  }

  /// The valid token of a request, if it has one.
  private func token(_ headers: HTTPFields) async throws -> TokenRecord? {
    let parts = (headers[.authorization] ?? "").split(separator: " ")
    guard parts.count == 2, parts[0].lowercased() == "bearer",
      let token = AccessToken(text: parts[1]), let record = try await storage.token(id: token.id),
      token.matches(record.hash), record.revokedMilliseconds == nil
    else { return nil }
    guard let end = record.expiresMilliseconds else { return record }
    return await storage.time() < UInt64(clamping: end) ? record : nil
  }
}
