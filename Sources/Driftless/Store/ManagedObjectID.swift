public import Foundation
import Synchronization

/// What tells one object from all others, in any context and thread.
///
/// An object has a temporary ID until its first save. The UUID that replicas know an object by is
/// ``ManagedObject/identity``.
public final class ManagedObjectID: Hashable, Sendable {
  /// The entity of the object.
  public let entity: EntityDescription
  /// The identifier of the object's store.
  public let storeIdentifier: String
  /// The object's place in the store.
  public let key: ObjectKey

  /// Of a temporary ID: tells the context how long somebody may come with the key.
  private let trace: TemporaryKeyTrace?

  package convenience init(entity: EntityDescription, storeIdentifier: String, key: ObjectKey) {
    self.init(entity: entity, storeIdentifier: storeIdentifier, key: key, trace: nil)
  }

  init(
    entity: EntityDescription, storeIdentifier: String, key: ObjectKey, trace: TemporaryKeyTrace?
  ) {
    self.entity = entity
    self.storeIdentifier = storeIdentifier
    self.key = key
    self.trace = trace
  }

  deinit { trace?.end() }

  /// Whether the object has not been saved.
  public var isTemporaryID: Bool { key.key < 0 }

  /// `x-coredata://STORE/Entity/p12`, or `x-coredata:///Entity/t12` while temporary.
  public func uriRepresentation() -> URL {
    var parts = URLComponents()
    parts.scheme = "x-coredata"
    parts.host = isTemporaryID ? "" : storeIdentifier
    parts.path = "/" + entity.name + (isTemporaryID ? "/t" : "/p") + "\(key.key.magnitude)"
    return parts.url ?? URL(filePath: parts.path)
  }

  public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
    left === right || (left.key == right.key && left.storeIdentifier == right.storeIdentifier)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension ManagedObjectID: CustomStringConvertible {
  public var description: String { uriRepresentation().absoluteString }
}

extension ManagedObjectID: ObjectKeyProviding {
  package var providedObjectKey: ObjectKey {
    var key = key
    key.store = StoreTags.tag(of: storeIdentifier)
    trace?.copy()
    return key
  }
}

/// Whether somebody may come with a temporary key after the object has another: who has the ID, or what the key was copied to,
/// such as a predicate.
final class TemporaryKeyTrace: Sendable {
  private let hasEnded = Atomic(false)
  private let isCopied: Atomic<Bool>

  init(isCopied: Bool = false) { self.isCopied = Atomic(isCopied) }

  var isLive: Bool {
    isCopied.load(ordering: .relaxed) || !hasEnded.load(ordering: .relaxed)
  }

  /// The ID is no more.
  fileprivate func end() { hasEnded.store(true, ordering: .relaxed) }

  /// The key goes on without the ID.
  func copy() { isCopied.store(true, ordering: .relaxed) }
}
