public import Foundation

/// A piece of a large value did not come whole: what came of it, and why the rest did not.
///
/// A transport may throw it in place of the reason alone, also where the task that asked was cancelled: then the rest is asked for from
/// there on. No check of the answer covers the bytes. The digest of the whole value tells whether they are right.
///
/// ```swift
/// throw PartOfValue(bytes: received, reason: error)
/// ```
public struct PartOfValue: Error, Sendable {
  /// The first bytes of the piece.
  public var bytes: Data
  /// Why the rest did not come.
  public var reason: any Error

  /// - Parameters:
  ///   - bytes: The first bytes of the piece.
  ///   - reason: Why the rest did not come.
  public init(bytes: Data, reason: any Error) {
    self.bytes = bytes
    self.reason = reason
  }
}
