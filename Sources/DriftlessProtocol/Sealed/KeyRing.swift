import Crypto
import Foundation

/// The keys that the encrypted properties of one set of replicas are sealed with: new values with the newest, all are read.
///
/// ```swift
/// let ring = KeyRing()
/// let same = try KeyRing(text: ring.text)
/// ```
///
/// Its text is the secret. What describes it has the names of the keys alone.
public struct KeyRing: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  private struct Key: Hashable, Sendable {
    var id: KeyID
    var root: [UInt8]
  }

  private static let magic = "driftless-keys 1"
  private static let rootSize = 32
  private static let domainSize = 16
  /// More keys than anybody makes.
  private static let keysMax = 1_000
  /// The longest text that a ring is read from. Bytes.
  public static let textBytesMax = 256 << 10

  private let domain: [UInt8]
  /// The oldest first.
  private let keys: [Key]
  private let valueKeys: [KeyID: SymmetricKey]

  /// A ring of one new key.
  public init() {
    self.init(domain: Self.random(Self.domainSize), keys: [Self.newKey()])
  }

  /// Reads the text of a ring: what ``text`` gives. Empty lines and such as begin with `#` say nothing.
  ///
  /// - Throws: `ProtocolError` (`malformed`), without a word of what the text has.
  public init(text: String) throws(ProtocolError) {
    guard text.utf8.count <= Self.textBytesMax else {
      throw Self.malformed("has more than \(Self.textBytesMax) bytes")
    }
    let lines = text.split(whereSeparator: \.isNewline).map {
      $0.trimmingCharacters(in: .whitespaces)
    }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    guard lines.first == Self.magic else {
      throw Self.malformed("does not begin with the line \(Self.magic)")
    }
    var domain: [UInt8]?
    var keys: [Key] = []
    for (place, line) in lines.enumerated().dropFirst() {
      let words = line.split(separator: " ")
      switch (words.first, words.count) {
      case ("domain", 2) where domain == nil:
        guard let bytes = Hexadecimal.bytes(words[1]), bytes.count == Self.domainSize else {
          throw Self.malformed("has a domain that is not 32 hexadecimal digits")
        }
        domain = bytes
      case ("key", 3):
        guard let id = Hexadecimal.bytes(words[1]).flatMap({ KeyID(bytes: $0) }),
          let root = Hexadecimal.bytes(words[2]), root.count == Self.rootSize
        else {
          throw Self.malformed(
            "has a key, in line \(place + 1) of those that say something, that is not 16 hexadecimal digits and 64"
          )
        }
        guard !keys.contains(where: { $0.id == id }) else {
          throw Self.malformed("has the key \(id) twice")
        }
        keys.append(Key(id: id, root: root))
      default: throw Self.malformed("has a line that says neither one domain nor a key")
      }
    }
    guard let domain else { throw Self.malformed("has no domain") }
    guard !keys.isEmpty, keys.count <= Self.keysMax else {
      throw Self.malformed("has \(keys.count) keys; a ring has 1 to \(Self.keysMax)")
    }
    self.init(domain: domain, keys: keys)
  }

  private init(domain: [UInt8], keys: [Key]) {
    self.domain = domain
    self.keys = keys
    valueKeys = Dictionary(
      keys.map { ($0.id, Self.derived($0, "driftless value 1", domain)) },
      uniquingKeysWith: { first, _ in first })
  }

  private static func malformed(_ what: String) -> ProtocolError {
    ProtocolError(
      .malformed, "The key file \(what)",
      suggestion: "Use the file that syncctl key create made, whole, or a copy of it.")
  }

  private static func newKey() -> Key {
    Key(id: KeyID.random, root: random(rootSize))
  }

  private static func random(_ count: Int) -> [UInt8] {
    SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
  }

  private static func derived(_ key: Key, _ purpose: String, _ domain: [UInt8]) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: key.root), salt: domain,
      info: Array(purpose.utf8) + key.id.bytes, outputByteCount: rootSize)
  }

  // MARK: Looking

  /// The ring as a file keeps it. It is the secret.
  public var text: String {
    let lines =
      [Self.magic, "domain \(Hexadecimal.text(domain))"]
      + keys.map { "key \($0.id) \(Hexadecimal.text($0.root))" }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The names of the keys, the oldest first.
  public var keyIDs: [KeyID] { keys.map(\.id) }

  /// The key that new values are sealed with.
  public var newest: KeyID { keys[keys.count - 1].id }

  /// Whether a key is there.
  public func has(_ key: KeyID) -> Bool { valueKeys[key] != nil }

  public var description: String {
    "key ring \(keyIDs.map(\.description).joined(separator: ", "))"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["keyIDs": keyIDs]) }

  public static func == (left: KeyRing, right: KeyRing) -> Bool {
    left.domain == right.domain && left.keys == right.keys
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(domain)
    hasher.combine(keys)
  }

  /// The ring with one more key, which new values are sealed with from now on.
  public func rotated() -> KeyRing { KeyRing(domain: domain, keys: keys + [Self.newKey()]) }

  // MARK: Values

  /// Seals a value with the newest key.
  ///
  /// - Parameters:
  ///   - plaintext: The bytes of the value.
  ///   - place: Where it stands.
  ///   - nonce: 12 bytes; nil for random ones.
  package func seal(
    _ plaintext: [UInt8], at place: SealedPlace, nonce: [UInt8]? = nil
  ) throws -> SealedCell {
    guard let key = valueKeys[newest] else { throw CryptoKitError.incorrectKeySize }
    return SealedCell(
      newest,
      sealed: try ValueCipher.seal(
        plaintext, with: key, nonce: nonce, authenticating: authenticated(newest, place)))
  }

  /// The bytes of a value. Nil where its key is not in the ring, it was sealed for another place or domain, or it was changed.
  package func open(_ cell: SealedCell, at place: SealedPlace) -> [UInt8]? {
    guard let key = valueKeys[cell.key] else { return nil }
    return ValueCipher.open(
      cell.sealed, with: key, authenticating: authenticated(cell.key, place))
  }

  private func authenticated(_ key: KeyID, _ place: SealedPlace) -> [UInt8] {
    var bytes = ByteWriter(capacity: 128)
    bytes.append(SealedCell.version)
    bytes.append(contentsOf: domain)
    bytes.append(contentsOf: key.bytes)
    withUnsafeBytes(of: place.object.uuid) { bytes.append(contentsOf: $0) }
    for name in [place.entity, place.property] {
      bytes.append(UInt64(name.utf8.count))
      bytes.append(contentsOf: name.utf8)
    }
    return bytes.bytes
  }

  // MARK: Claims

  /// The hash of a unique key one of whose values is sealed: 16 bytes of an HMAC-SHA256 by a key that the server never has. It
  /// comes of the ring's oldest key, so that it is one and the same before and after a rotation.
  package func claim(
    entity: String, properties: [String], values: [[UInt8]]
  ) -> KeyHash {
    KeyHash.of(
      entity: entity, properties: properties, values: values,
      secret: Self.derived(keys[0], "driftless claim 1", domain))
  }
}
