public import Driftless
public import Foundation

/// A place in the history of stores. It can be archived, as a secure object.
public final class NSPersistentHistoryToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// As the library has it.
  let known: PersistentHistoryToken

  init(_ known: PersistentHistoryToken) { self.known = known }

  private static let key = "driftless.token"

  /// Tokens are archived as secure objects.
  public static var supportsSecureCoding: Bool { true }

  /// Reads a token that was archived; nil for data that are none.
  public init?(coder: NSCoder) {
    guard let data = coder.decodeObject(of: NSData.self, forKey: Self.key),
      let known = try? JSONDecoder().decode(
        PersistentHistoryToken.self, from: Data(referencing: data))
    else { return nil }
    self.known = known
  }

  /// Writes the token.
  public func encode(with coder: NSCoder) {
    guard let data = try? JSONEncoder().encode(known) else { return }
    coder.encode(data as NSData, forKey: Self.key)
  }

  /// The token itself: it does not change.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether both mean the same place.
  public override func isEqual(_ object: Any?) -> Bool {
    known == (object as? NSPersistentHistoryToken)?.known
  }

  public override var hash: Int { known.hashValue }

  public override var description: String {
    "<NSPersistentHistoryToken \(known.numbers.sorted { $0.key < $1.key })>"
  }
}

// A notification of the library has its own token, which a cast gives as this class: `.NSPersistentStoreRemoteChange`.
extension PersistentHistoryToken: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSPersistentHistoryToken { NSPersistentHistoryToken(self) }

  public static func _forceBridgeFromObjectiveC(
    _ source: NSPersistentHistoryToken, result: inout PersistentHistoryToken?
  ) {
    result = source.known
  }

  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSPersistentHistoryToken, result: inout PersistentHistoryToken?
  ) -> Bool {
    result = source.known
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(
    _ source: NSPersistentHistoryToken?
  ) -> PersistentHistoryToken {
    source?.known ?? PersistentHistoryToken(numbers: [:])
  }
}
