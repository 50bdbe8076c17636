public import Foundation

/// A way to a zone that knows where it leads, so that a program says server and zone once.
///
/// An engine that is made with one enrols its store by itself, when the server answers.
public protocol ZoneTransport: SyncTransport {
  /// The server's address, which an enrolled store keeps.
  var server: URL { get }
  /// The zone's name.
  var zone: String { get }

  /// Has the server take this way's token, which the caller made itself (``ReplicaToken``) and has kept, for a code of its
  /// operator. Again with the same token it comes to the same.
  ///
  /// - Parameter code: As the operator gave it.
  /// - Throws: `ProtocolError`: `.codeUsed` where the code stands for another token, `.unauthorized` where it stands for none, or
  ///   for none any more, `.unsupported` where this way or the server knows no codes.
  func enroll(code: String) async throws

  /// Whether requests by another one would get the same answers: the same zone, asked with the same token in the same manner.
  ///
  /// - Parameter other: A way to some zone.
  func isInterchangeable(with other: any ZoneTransport) -> Bool

  /// Says which zone is meant, once that is known: where its operator gives it another name, the way finds it all the same.
  ///
  /// - Parameter zoneID: ``ZoneInfo/zoneID`` of the zone, as it answered before.
  func expect(zoneID: UUID)
}

extension ZoneTransport {
  /// It knows no codes.
  ///
  /// - Throws: `ProtocolError` (`.unsupported`).
  public func enroll(code: String) async throws { throw ProtocolError.knowsNoCodes }

  /// It knows the zone by its name alone.
  public func expect(zoneID: UUID) {}
}

extension ProtocolError {
  /// The server takes no codes for one use.
  public static let knowsNoCodes = ProtocolError(
    .unsupported, "The server takes no codes",
    suggestion: "Ask its operator for a token (driftless-server token create), or to update it.")
}

extension ZoneTransport where Self: AnyObject {
  /// Whether it is the same one.
  public func isInterchangeable(with other: any ZoneTransport) -> Bool {
    (other as? Self) === self
  }
}
