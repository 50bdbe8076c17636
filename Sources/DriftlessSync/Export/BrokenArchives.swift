import Driftless
import Foundation

/// Values of an entity's transformable attributes whose bytes are no archive, though they are to be one or begin as one. Nothing reads
/// them here but an application; so they are kept and handed on byte for byte.
struct BrokenArchives {
  private let places: [(slot: Int, name: String, isArchive: Bool)]
  private static let transformers: Set<String> = [
    "NSKeyedUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformerName",
    "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformerName",
  ]

  /// Nil where the entity has no such attribute.
  init?(_ entity: SyncSchema.Entity) {
    places = entity.description.layout.slots.enumerated().compactMap { index, slot in
      guard case .attribute(let attribute, _) = slot.kind, attribute.type == .transformable
      else { return nil }
      return (
        index, "\(entity.name).\(slot.name)",
        Self.transformers.contains(attribute.valueTransformerName ?? "")
      )
    }
    if places.isEmpty { return nil }
  }

  /// The attributes of an object whose values are broken.
  func names(in values: [PropertyValue]) -> [String] {
    places.compactMap { place in
      guard case .data(let bytes) = values[place.slot],
        place.isArchive || bytes.starts(with: Array("bplist".utf8)), !Self.isArchive(bytes)
      else { return nil }
      return place.name
    }
  }

  private static func isArchive(_ bytes: Data) -> Bool {
    let root = BoundedPropertyList.values(bytes) as? [String: Any]
    return root?["$objects"] is [Any] && root?["$top"] is [String: Any]
  }
}
