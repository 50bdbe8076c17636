public import Foundation

/// A way to a zone that knows where it leads, so that a program says server and zone once.
///
/// An engine that is made with one enrols its store by itself, when the server answers.
public protocol ZoneTransport: SyncTransport {
  /// The server's address, which an enrolled store keeps.
  var server: URL { get }
  /// The zone's name.
  var zone: String { get }

  /// Whether requests by another one would get the same answers: the same zone, asked with the same token in the same manner.
  ///
  /// - Parameter other: A way to some zone.
  func isInterchangeable(with other: any ZoneTransport) -> Bool
}

extension ZoneTransport where Self: AnyObject {
  /// Whether it is the same one.
  public func isInterchangeable(with other: any ZoneTransport) -> Bool {
    (other as? Self) === self
  }
}
