import Crypto
import Foundation
import Synchronization

/// Operators who are signed in at the status page. A session is known by a secret that a cookie holds; here is its hash alone.
final class Sessions: Sendable {
  private struct Session {
    let `operator`: String
    let began: ContinuousClock.Instant
  }

  private let sessions = Mutex<[Data: Session]>([:])
  private let limits: LiveLimits

  init(limits: LiveLimits) { self.limits = limits }

  static let cookie = "driftless_session"
  private static let secretLength = 64

  /// Begins a session; of too many the one that began first ends.
  ///
  /// - Returns: its secret.
  func begin(for id: String, at now: ContinuousClock.Instant = .now) -> String {
    let secret = AccessToken.mint().secret
    let (countMax, span) = bounds
    sessions.withLock { sessions in
      sessions = sessions.filter { now - $0.value.began < span }
      while sessions.count >= countMax,
        let first = sessions.min(by: { $0.value.began < $1.value.began })
      {
        sessions[first.key] = nil
      }
      sessions[Self.key(secret)] = Session(operator: id, began: now)
    }
    return secret
  }

  /// The operator of a session that has not ended.
  func `operator`(_ secret: String, at now: ContinuousClock.Instant = .now) -> String? {
    let span = bounds.span
    // The hash of what somebody sends is not his to choose: how long the look takes tells nothing.
    return sessions.withLock { sessions in
      guard let session = sessions[Self.key(secret)], now - session.began < span else { return nil }
      return session.operator
    }
  }

  func end(_ secret: String) { sessions.withLock { _ = $0.removeValue(forKey: Self.key(secret)) } }

  var count: Int { sessions.withLock { $0.count } }

  /// The secret in a request's cookies; nil where none has the form of one.
  static func secret(inCookies fields: [String]) -> String? {
    for field in fields {
      for pair in field.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        guard pair.hasPrefix(cookie + "=") else { continue }
        let value = pair.dropFirst(cookie.count + 1)
        if value.utf8.count == secretLength { return String(value) }
      }
    }
    return nil
  }

  private var bounds: (countMax: Int, span: Duration) {
    (max(1, limits.sessionsMax), .seconds(limits.sessionSeconds))
  }

  private static func key(_ secret: String) -> Data { Data(SHA256.hash(data: Data(secret.utf8))) }
}
