import Driftless
import Foundation

/// Names of objects as people know them: the value of an attribute such as `name` or `title`.
struct ObjectLabels {
  private static let attributes = ["name", "title", "label", "key", "code"]
  /// Characters of a name: enough to know an object by, and one line of a terminal.
  private static let charactersMax = 60

  private let context: ManagedObjectContext

  init(_ store: PersistentStore) {
    context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
  }

  /// The name in quotes with a space before it, or nothing.
  func label(_ identity: UUID) -> String {
    guard let object = try? context.object(withIdentity: identity) else { return "" }
    for name in Self.attributes {
      guard let attribute = object.entity.attributesByName[name], attribute.type == .string,
        let text = object[Attribute<ManagedObject, String?>(name)], !text.isEmpty
      else { continue }
      let isLong = text.count > Self.charactersMax
      return " \"\(text.prefix(Self.charactersMax))\(isLong ? "…" : "")\""
    }
    return ""
  }
}
