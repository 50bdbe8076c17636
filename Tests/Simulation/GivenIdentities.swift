import Driftless
import Foundation

/// One identity under two entities is two objects: people speak of them by identity and entity, replicas show one of the two
/// under an identity that they derive.
struct GivenIdentities {
  /// The zone's own UUID; nil where a scenario has no identity of two entities.
  var zone: UUID?
  let entities: [String]

  static func isGiven(_ id: UUID) -> Bool { id.uuidString.hasPrefix("00000000-0000-5000-8000-") }

  /// What the ledger calls the object that is shown under an identity.
  func name(_ id: UUID, _ entity: String) -> UUID {
    guard let zone, Self.isGiven(id) else { return id }
    return DerivedIdentity.identity(id, of: entity, in: zone)
  }

  /// What the ledger calls the objects that an identity may stand for.
  func names(_ id: UUID) -> [UUID] {
    zone == nil || !Self.isGiven(id) ? [id] : entities.map { name(id, $0) }
  }

  /// An image with the ledger's names.
  func named(_ image: Image) -> Image {
    guard zone != nil else { return image }
    let given = image.things.filter { Self.isGiven($0.key) }.map { id, thing in
      (id, name(id, thing.entity))
    }
    guard !given.isEmpty else { return image }
    var named = Image()
    for (id, thing) in image.things {
      var thing = thing
      for (property, value) in thing.values where value.contains("00000000-0000-5000-8000-") {
        thing.values[property] = Self.replacing(given, in: value)
      }
      named.things[name(id, thing.entity)] = thing
    }
    return named
  }

  /// A text of a journal with each of the names that an identity in it may have.
  func named(_ text: String) -> [String] {
    guard zone != nil, text.contains("00000000-0000-5000-8000-") else { return [text] }
    return entities.map { entity in
      Self.replacing(
        Image.identities(in: text).filter(Self.isGiven).map { ($0, name($0, entity)) }, in: text)
    }
  }

  private static func replacing(_ names: [(UUID, UUID)], in text: String) -> String {
    var text = text
    for (id, name) in names {
      text = text.replacingOccurrences(
        of: id.uuidString.lowercased(), with: name.uuidString.lowercased())
    }
    return text
  }
}
