import DriftlessSQLite
import Foundation

extension Administration {
  /// The server's time, by which ends of tokens are judged: it may be ahead of the host's clock.
  package func serverMilliseconds() throws -> Int64 {
    max(Self.hostMilliseconds, try GivenTimes.last(connection))
  }

  package func tokens() throws -> [TokenRecord] { try connection.tokens() }

  /// Makes a token. Its text is known only now: the database keeps a hash of it.
  ///
  /// - Parameters:
  ///   - label: what the operator calls it.
  ///   - expiresMilliseconds: when it ends, by the server's time; nil for never.
  ///   - binds: whether the replica that uses it first is the only one that may.
  ///   - handOut: gives it to whoever asked, once it is one. Where this throws, it is taken back: one that nobody has could not
  ///     be told from a lost one.
  /// - Throws: `ServerError` (`.noZone`, `.badName`), and what `handOut` throws.
  @discardableResult package func createToken(
    zone name: String, verbs: Verbs, label: String? = nil, expiresMilliseconds: Int64? = nil,
    binds: Bool = false, handOut: (AccessToken) throws -> Void = { _ in }
  ) throws -> AccessToken {
    _ = try existingZone(name, orThrow: ServerError.zoneToCreate)
    try TokenNotes.check(label)
    let token = AccessToken.mint()
    try write {
      try insert(
        token, zone: existingZone(name).id, verbs: verbs, label: label,
        expiresMilliseconds: expiresMilliseconds, binding: binds ? .first : .none)
      try note(
        .tokenCreated, zone: name, token.id, AuditEvent.detail(verbs, label, binds: binds))
    }
    try hand(token, handOut)
    return token
  }

  /// Hands out a token that is made. Not within its transaction: pushes would wait for a terminal that was stopped.
  private func hand(_ token: AccessToken, _ handOut: (AccessToken) throws -> Void) throws {
    do {
      try handOut(token)
    } catch {
      do {
        try writeAtNeed {
          try connection.run("DELETE FROM token WHERE id = ?", .text(token.id))
          try TokenNotes.remove(token.id, on: connection)
          try TokenBindings.remove(token.id, on: connection)
          try note(.tokenRevoked, zone: nil, token.id, "nobody was given it")
        }
      } catch { throw ServerError.unheldToken(token.id, error) }
      throw error
    }
  }

  /// Makes a token in the place of another: of the same zone, verbs and name. Where that is bound to a replica, the new one is
  /// to be bound to who uses it first.
  ///
  /// - Parameters:
  ///   - grace: milliseconds for which the old one goes on being one, so that hosts can be given the new one; 0 revokes it.
  ///   - expiresMilliseconds: when the new one ends; nil for never.
  /// - Throws: `ServerError` (`.notFound` for one that there is not, or that was revoked), and what `handOut` throws.
  @discardableResult package func rotateToken(
    id: String, grace: Int64, expiresMilliseconds: Int64?,
    handOut: (AccessToken) throws -> Void = { _ in }
  ) throws -> AccessToken {
    _ = try validToken(id)
    let token = AccessToken.mint()
    try writeAtNeed {
      let old = try validToken(id)
      try insert(
        token, zone: old.zoneID, verbs: old.verbs, label: old.name,
        expiresMilliseconds: expiresMilliseconds, binding: old.binding.renewed)
    }
    // The old one goes on being one until somebody has the new one.
    try hand(token, handOut)
    return try writeAtNeed {
      let old = try validToken(id)
      let now = try serverMilliseconds()
      if grace > 0 {
        try TokenNotes.set(
          id, name: old.name,
          expiresMilliseconds: min(old.expiresMilliseconds ?? .max, now + grace), on: connection)
      } else {
        try connection.run(
          "UPDATE token SET revoked_ms = ? WHERE id = ?", .integer(now), .text(id))
      }
      try note(.tokenRotated, zone: old.zoneName, id, "by \(token.id)")
      return token
    }
  }

  private func validToken(_ id: String) throws -> TokenRecord {
    guard let token = try connection.token(id: id), token.revokedMilliseconds == nil else {
      throw ServerError.noValidToken(id)
    }
    return token
  }

  private func insert(
    _ token: AccessToken, zone: Int64, verbs: Verbs, label: String?, expiresMilliseconds: Int64?,
    binding: TokenBinding
  ) throws {
    try connection.run(
      "INSERT INTO token VALUES(?, ?, ?, ?, ?, NULL)", .text(token.id), .blob(token.hash),
      .integer(zone), .integer(verbs.rawValue), .integer(try serverMilliseconds()))
    try TokenNotes.set(
      token.id, name: label, expiresMilliseconds: expiresMilliseconds, on: connection)
    try TokenBindings.set(binding, of: token.id, on: connection)
  }

  /// Makes a token worthless from the next request on.
  ///
  /// - Throws: `ServerError` (`.notFound`).
  package func revokeToken(id: String) throws {
    try writeAtNeed {
      guard let token = try connection.token(id: id) else { throw ServerError.noSuchToken(id) }
      try connection.run(
        "UPDATE token SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?",
        .integer(try serverMilliseconds()), .text(id))
      try note(.tokenRevoked, zone: token.zoneName, id)
    }
  }
}
