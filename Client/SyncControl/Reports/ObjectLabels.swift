import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

/// Names of objects as people know them: the value of an attribute such as `name` or `title`; and the store's own, for the
/// commands that a text advises.
struct ObjectLabels {
  private static let attributes = ["name", "title", "label", "key", "code"]
  /// Characters of a name: enough to know an object by, and one line of a terminal.
  private static let charactersMax = 60

  private let context: ManagedObjectContext
  private let model: ManagedObjectModel
  private let own: (replica: UUID, name: String?)?
  private let store: String

  init(_ store: PersistentStore) {
    context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    model = store.model
    self.store = store.url?.path ?? "STORE"
    own = try? SyncEngine.ownReplica(of: store)
  }

  /// The store in the commands that a text advises.
  func advising(_ text: String) -> String { AdvisedCommand.naming(store: store, in: text) }

  /// A replica by its name, where that is known: of others the server alone knows it.
  func replica(_ replica: UUID) -> String {
    let id = replica.uuidString.lowercased()
    guard let own, own.replica == replica else { return "replica \(id)" }
    return "this replica" + (own.name.map { ", \($0)" } ?? "") + " (\(id))"
  }

  /// The value of a relationship by the names of its objects; nil for another property, or one that names no objects.
  func reference(_ text: String, _ property: String?, of entity: String) -> String? {
    guard let property, let entity = model.entitiesByName[entity],
      let destination = entity.relationshipsByName[property]?.destinationEntity,
      let value = try? JSONParser.parse(text)
    else { return nil }
    func named(_ value: JSONValue) -> String? {
      guard case .string(let id) = value, let identity = UUID(uuidString: id) else { return nil }
      let object = try? context.object(withIdentity: identity)
      return "\(object?.entity.name ?? destination.name)/\(id)\(label(identity))"
    }
    switch value {
    case .string: return named(value)
    case .array(let elements) where !elements.isEmpty:
      let names = elements.prefix(Self.objectsMax).compactMap(named)
      let rest = elements.count - Self.objectsMax
      return names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    default: return nil
    }
  }

  /// Objects of one value that are named; `--json` has all.
  private static let objectsMax = 20

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
