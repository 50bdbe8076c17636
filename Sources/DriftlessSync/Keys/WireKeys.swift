import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The unique keys that objects of an entity hold, as a zone knows them.
struct WireKey: Hashable, Sendable {
  /// The topmost entity that has all the properties: the store's index holds for all below it, whichever declares it.
  var entity: String
  var properties: [String]
  /// Where the properties are in an object of the entity that was asked.
  var slots: [Int]

  /// Those of uniqueness constraints, and those of one-to-one relationships that the entity owns.
  static func all(of description: EntityDescription, number: Int32, _ schema: StoreSchema)
    -> [WireKey]
  {
    let slots = description.layout.slots
    let owned = schema.ownedEnds(numbered: number).indexes.map { [$0] }
    var seen: Set<WireKey> = []
    return (schema.uniqueSlots(numbered: number) + owned).compactMap { places in
      let names = places.map { slots[$0].name }
      var entity = description
      while let above = entity.superentity,
        names.allSatisfy({ above.layout.index(named: $0) != nil })
      {
        entity = above
      }
      let key = WireKey(entity: entity.name, properties: names, slots: places)
      return seen.insert(key).inserted ? key : nil
    }
  }
}

/// The bytes of a value that a key is made of: two values have the same ones when the store's index takes them for equal.
enum KeyBytes {
  /// - Parameter identity: of the object that a reference refers to.
  static func of(
    _ value: PropertyValue, identity: (ObjectKey) throws -> UUID
  ) rethrows -> [UInt8]? {
    func bytes(_ word: some FixedWidthInteger) -> [UInt8] {
      word.littleEndianBytes
    }
    switch value {
    case .null: return nil
    case .bool(let value): return [value ? 1 : 0]
    case .integer(let value): return bytes(value)
    // The store keeps the two zeros apart, and its index with them.
    case .double(let value): return bytes(value.bitPattern)
    case .date(let date): return bytes(date.timeIntervalSinceReferenceDate.bitPattern)
    case .string(let text): return Array(text.utf8)
    case .data(let data): return Array(data)
    case .decimal(let number): return Array(number.description.utf8)
    case .uri(let uri): return Array(uri.absoluteString.utf8)
    case .uuid(let uuid): return Array(uuid.networkBytes)
    case .reference(let key): return Array(try identity(key).networkBytes)
    }
  }
}

/// Collects the keys that the objects of a change set hold from now on.
struct KeyClaimsDraft {
  /// One object's claim.
  struct Claim {
    var object: ObjectKey
    var key: WireKey
    var hash: KeyHash
    /// Which secret the hash is made with.
    var secret: UInt32
  }

  /// The zone's identity, which the server knows as well.
  static let zoneSecret: UInt32 = 0
  /// That of the key ring, for keys with values that the server cannot read.
  static let ringSecret: UInt32 = 1

  private let transaction: ReadTransaction
  private let zone: UUID
  private let ring: KeyRing?
  private var keys: [Int32: [WireKey]] = [:]
  private(set) var claims: [Claim] = []
  private var hashes: Set<KeyHash> = []

  init(_ transaction: ReadTransaction, zone: UUID, ring: KeyRing?) {
    self.transaction = transaction
    self.ring = ring
    self.zone = zone
  }

  /// Claims what the zone will have of the object's keys.
  ///
  /// - Parameters:
  ///   - mask: what the change set sets of the object; nil for all that it has.
  ///   - unsent: what it leaves out of that.
  mutating func add(
    _ object: ObjectKey, _ entity: SyncSchema.Entity, _ values: [PropertyValue],
    setting mask: PropertyMask? = nil, leaving unsent: PropertyMask? = nil
  ) throws {
    var mask = mask
    if let unsent { mask?.subtract(unsent) }
    if keys[entity.number] == nil {
      keys[entity.number] = WireKey.all(
        of: entity.description, number: entity.number, transaction.schema)
    }
    for key in keys[entity.number] ?? [] {
      if let mask, !key.slots.contains(where: mask.contains) { continue }
      let isSealed = key.slots.contains { entity.property(at: $0)?.isSealed == true }
      var isOpen = true
      let parts = try key.slots.compactMap { slot in
        var value = values[slot]
        if let mask, !mask.contains(slot) {
          // Edited here as well, and not told yet.
          value = try zoneValue(of: object, entity, slot) ?? value
        } else if unsent?.contains(slot) == true {
          value = .null
        }
        if SealedValue.cell(in: value) != nil || LargeCell.value(in: value) != nil {
          isOpen = false
        }
        return try KeyBytes.of(value) { try transaction.identity(of: $0) }
      }
      // Of what nobody here can open nobody here can say the key.
      guard parts.count == key.slots.count, isOpen, let hash = hash(key, parts, isSealed) else {
        continue
      }
      // A log of programs without claims may have two holders: one of them claims.
      guard hashes.insert(hash).inserted else { continue }
      claims.append(
        Claim(
          object: object, key: key, hash: hash,
          secret: isSealed ? Self.ringSecret : Self.zoneSecret))
    }
  }

  private func hash(_ key: WireKey, _ parts: [[UInt8]], _ isSealed: Bool) -> KeyHash? {
    guard isSealed else {
      return KeyHash.of(
        entity: key.entity, properties: key.properties, values: parts, zone: zone)
    }
    return ring?.claim(entity: key.entity, properties: key.properties, values: parts)
  }

  private func zoneValue(
    of object: ObjectKey, _ entity: SyncSchema.Entity, _ slot: Int
  ) throws -> PropertyValue? {
    guard let property = entity.property(at: slot) else { return nil }
    return try BaseValues.value(of: object, property.name, on: transaction.connection)
  }
}
