public import Foundation

/// Which replicas may use a token.
public enum TokenBinding: Sendable, Hashable {
  /// Any.
  case none
  /// The one that uses it first, and nobody has so far.
  case first
  /// This one alone.
  case to(UUID)

  /// What the binding of another token in the place of this one's is: to whom it is given, nobody knows yet.
  var renewed: TokenBinding { self == .none ? .none : .first }

  /// The replica that it is to; nil for none.
  public var replica: UUID? {
    if case .to(let replica) = self { replica } else { nil }
  }
}

extension ServerError {
  /// A token that is one replica's, shown by who does not say which it is.
  static func tokenBoundToUnsaid(_ id: String) -> ServerError {
    ServerError(
      .tokenBound, "the token \(id) is bound to one replica, and the pull does not say which asks",
      suggestion: "Say it by the parameter replica, or ask the operator for a token that is not "
        + "bound: driftless-server token create, without --bind")
  }

  /// A token that is another replica's.
  static func tokenBound(_ id: String, not other: UUID) -> ServerError {
    ServerError(
      .tokenBound,
      "the token \(id) is bound to another replica than \(other.wireText)",
      suggestion:
        "Use a token of this host's own. Where this store takes the place of that replica "
        + "(it was restored, copied or enrolled anew), ask the operator for another token in this "
        + "one's place (driftless-server token rotate \(id)), and enroll again with it: "
        + "syncctl enroll … --token-file FILE")
  }
}
