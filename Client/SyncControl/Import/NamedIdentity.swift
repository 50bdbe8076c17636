import Crypto
public import Driftless
public import Foundation

/// How the `id` of an import line becomes an object's identity.
public enum NamedIdentity {
  /// The namespace of identities by name: the UUID v5 of "driftless.import" in the DNS namespace of
  /// RFC 9562. It is part of the import format and never changes: two replicas that import one key
  /// must mean one object.
  public static let namespace: UUID = {
    // 6ba7b810-9dad-11d1-80b4-00c04fd430c8, RFC 9562 §6.6
    let dns = UUID(
      uuid: (
        0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30,
        0xc8
      ))
    return version5(namespace: dns, name: "driftless.import")
  }()

  /// The identity of `id` for an entity: a UUID is itself; any other text is hashed with the name
  /// of the entity's root.
  ///
  /// - Parameters:
  ///   - id: The `id` of a line.
  ///   - rootEntity: The name of the topmost entity of the hierarchy, so that one key means one
  ///     object whatever the subentity.
  /// - Returns: The UUID itself, or the UUID v5 of `rootEntity + ":" + id` in `namespace`.
  public static func identity(_ id: String, rootEntity: String) -> UUID {
    if id.utf8.count == 36, let uuid = UUID(uuidString: id) { return uuid }
    return version5(namespace: namespace, name: "\(rootEntity):\(id)")
  }

  /// The identity of `id` for an entity of a model: of one that was renamed by the first name of all (`renamingIdentifier`, `driftless.formerNames`), so that
  /// a key means one object to programs of both models.
  ///
  /// - Parameters:
  ///   - id: The `id` of a line.
  ///   - entity: The entity; its root's name counts.
  public static func identity(_ id: String, of entity: EntityDescription) -> UUID {
    let root = entity.rootEntity
    // A new entity may have taken a name over.
    let taken = root.managedObjectModel?.entitiesByName ?? [:]
    let first = root.formerNames.last { taken[$0] == nil }
    return identity(id, rootEntity: first ?? root.name)
  }

  /// RFC 9562 §5.5: the first 16 bytes of SHA-1 over namespace and name, with version and variant
  /// set.
  static func version5(namespace: UUID, name: String) -> UUID {
    var hash = Insecure.SHA1()
    withUnsafeBytes(of: namespace.uuid) { hash.update(bufferPointer: $0) }
    var name = name
    name.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    var bytes = hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
    bytes.6 = bytes.6 & 0x0F | 0x50
    bytes.8 = bytes.8 & 0x3F | 0x80
    return UUID(uuid: bytes)
  }
}
