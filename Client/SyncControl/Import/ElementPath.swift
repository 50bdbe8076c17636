import Driftless
import Foundation
import SyncDaemon

/// A property of an object as a person names it: `Package/bash.reviews`.
struct ElementPath {
  var identity: UUID
  var property: String
  /// The object as it was named.
  var object: String

  init(_ text: String, model: ManagedObjectModel) throws(Failure) {
    guard let slash = text.firstIndex(of: "/") else { throw Self.malformed(text) }
    let name = String(text[..<slash])
    guard let entity = model.entitiesByName[name] else {
      throw Failure(
        .badData, code: "unknown-element", "The model has no entity \(name).",
        suggestion: "syncctl model show --store STORE")
    }
    let rest = text[text.index(after: slash)...]
    // IDs may hold dots, and so may properties (elements of composites): the longest property that
    // exists counts.
    let names = Set(entity.layout.slots.map(\.name))
    let dots = rest.indices.filter { rest[$0] == "." }
    guard
      let dot = dots.first(where: { names.contains(String(rest[rest.index(after: $0)...])) })
        ?? dots.last, dot != rest.startIndex
    else { throw Self.malformed(text) }
    property = String(rest[rest.index(after: dot)...])
    object = "\(name)/\(rest[..<dot])"
    identity = NamedIdentity.identity(String(rest[..<dot]), of: entity)
  }

  private static func malformed(_ text: String) -> Failure {
    Failure(
      .usage, code: "usage", "\(text) does not name a property of an object.",
      suggestion: "syncctl why --store STORE ENTITY/ID.PROPERTY")
  }
}
