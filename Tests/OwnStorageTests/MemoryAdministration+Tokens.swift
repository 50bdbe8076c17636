import DriftlessServer
import Foundation
import Synchronization

/// Tokens of zones and of operators.
extension MemoryAdministration {
  func tokens() throws -> [TokenRecord] {
    shared.memory.withLock { memory in memory.tokens.keys.compactMap { memory.token($0) } }
      .sorted { ($0.zoneName, $0.id) < ($1.zoneName, $1.id) }
  }

  func operators() throws -> [OperatorRecord] {
    shared.memory.withLock { Array($0.operators.values) }.sorted { $0.name < $1.name }
  }

  private func check(_ label: String?) throws {
    guard label?.contains(where: \.isNewline) ?? false else { return }
    throw ServerError(.badName, "a name is one line", suggestion: "Use another one.")
  }

  private static func noToken(_ id: String) -> ServerError {
    ServerError(.notFound, "there is no token \(id)", suggestion: "See which there are.")
  }

  /// Hands out what is a token by then; one that nobody takes is none.
  private func hand(
    _ token: AccessToken, _ handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken {
    do {
      try handOut(token)
      return token
    } catch {
      shared.memory.withLock { memory in
        memory.tokens[token.id] = nil
        memory.operators[token.id] = nil
      }
      throw error
    }
  }

  @discardableResult func createToken(
    zone name: String, verbs: Verbs, label: String?, expiresMilliseconds: Int64?, binds: Bool,
    handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken {
    try check(label)
    let token = AccessToken.mint()
    try shared.memory.withLock { memory in
      let zone = try memory.zone(named: name).record
      memory.tokens[token.id] = TokenRecord(
        id: token.id, hash: token.hash, zoneID: zone.id, zoneName: name, verbs: verbs,
        createdMilliseconds: MemoryStorage.now, revokedMilliseconds: nil, name: label,
        expiresMilliseconds: expiresMilliseconds, binding: binds ? .first : .none)
      memory.audit.append(
        AuditEvent(.tokenCreated, zone: name, subject: token.id, at: MemoryStorage.now))
    }
    return try hand(token, handOut)
  }

  @discardableResult func rotateToken(
    id: String, grace: Int64, expiresMilliseconds: Int64?, handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken {
    let token = AccessToken.mint()
    try shared.memory.withLock { memory in
      guard let old = memory.token(id), old.revokedMilliseconds == nil else {
        throw Self.noToken(id)
      }
      memory.tokens[token.id] = TokenRecord(
        id: token.id, hash: token.hash, zoneID: old.zoneID, zoneName: old.zoneName,
        verbs: old.verbs, createdMilliseconds: MemoryStorage.now, revokedMilliseconds: nil,
        name: old.name, expiresMilliseconds: expiresMilliseconds,
        binding: old.binding == .none ? .none : .first)
    }
    _ = try hand(token, handOut)
    try shared.memory.withLock { memory in
      guard let old = memory.token(id), old.revokedMilliseconds == nil else {
        throw Self.noToken(id)
      }
      let now = MemoryStorage.now
      memory.tokens[id] =
        grace > 0
        ? old.with(expires: min(old.expiresMilliseconds ?? .max, now + grace))
        : old.with(revoked: now)
      memory.audit.append(
        AuditEvent(.tokenRotated, zone: old.zoneName, subject: id, at: now))
    }
    return token
  }

  func revokeToken(id: String) throws {
    try shared.memory.withLock { memory in
      guard let token = memory.token(id) else { throw Self.noToken(id) }
      memory.tokens[id] = token.with(revoked: MemoryStorage.now)
      memory.audit.append(
        AuditEvent(.tokenRevoked, zone: token.zoneName, subject: id, at: MemoryStorage.now))
    }
  }

  @discardableResult func createOperator(
    name: String, expiresMilliseconds: Int64?, handOut: (AccessToken) throws -> Void
  ) throws -> AccessToken {
    try check(name)
    let token = AccessToken.mint()
    shared.memory.withLock { memory in
      memory.operators[token.id] = OperatorRecord(
        id: token.id, hash: token.hash, name: name, createdMilliseconds: MemoryStorage.now,
        expiresMilliseconds: expiresMilliseconds, revokedMilliseconds: nil)
      memory.audit.append(
        AuditEvent(.operatorCreated, subject: token.id, detail: name, at: MemoryStorage.now))
    }
    return try hand(token, handOut)
  }

  func revokeOperator(id: String) throws {
    try shared.memory.withLock { memory in
      guard let known = memory.operators[id] else { throw Self.noToken(id) }
      memory.operators[id] = known.with(revoked: MemoryStorage.now)
      memory.audit.append(AuditEvent(.operatorRevoked, subject: id, at: MemoryStorage.now))
    }
  }
}
