import Driftless
import Foundation

/// Which key an object has whose store knows it by a reference object of its own: a number, a text, a UUID.
///
/// A key follows from the reference, so that an object has the same ID and URI whenever its store is opened: a number of at
/// most 40 bits is the key itself, another reference a hash of its words above those. Where two meet, the later one moves on.
struct ReferenceTable {
  private static let numbers: ClosedRange<Int64> = 1...(1 << 40)

  private struct Place: Hashable {
    let root: String
    let key: Int64
  }

  private struct Reference: Hashable {
    let entity: String
    let object: AnyHashable
  }

  private var keys: [Reference: Int64] = [:]
  private var references: [Place: Any] = [:]

  /// The key of the object that the reference names.
  mutating func key(of reference: Any, _ entity: EntityDescription) -> Int64 {
    let known = Reference(entity: entity.knownName, object: Self.hashable(reference))
    if let key = keys[known] { return key }
    let root = entity.rootEntity.knownName
    var key = Self.preferred(reference, entity.knownName)
    while references[Place(root: root, key: key)] != nil { key = Self.hash("\(root) \(key)") }
    keys[known] = key
    references[Place(root: root, key: key)] = reference
    return key
  }

  /// What the store knows the object by; nil for one that it does not know.
  func reference(of id: ManagedObjectID) -> Any? {
    references[Place(root: id.entity.rootEntity.knownName, key: id.key.key)]
  }

  private static func hashable(_ reference: Any) -> AnyHashable {
    (reference as? AnyHashable) ?? AnyHashable("\(reference)")
  }

  private static func preferred(_ reference: Any, _ entity: String) -> Int64 {
    if let number = (reference as? NSNumber)?.int64Value, numbers.contains(number) { return number }
    return hash("\(entity) \(reference)")
  }

  /// FNV-1a, folded to 40 bits, above all numbers.
  private static func hash(_ text: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return numbers.upperBound + 1 + Int64((hash ^ (hash >> 40)) & (1 << 40 - 1))
  }
}
