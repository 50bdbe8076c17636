import Driftless
import Foundation
import SyncDaemon

/// A property of an object as a person names it: `Package/bash.reviews`.
struct ElementPath {
  var identity: UUID
  var property: String
  /// The object as it was named.
  var object: String
  /// What may be meant: the object before a dot, and, as identities may hold dots and no property may be named, the whole.
  var objects: [(identity: UUID, name: String)]

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
    let dot = dots.first { names.contains(String(rest[rest.index(after: $0)...])) } ?? dots.last
    guard dot != rest.startIndex, !rest.isEmpty else { throw Self.malformed(text) }
    let id = dot.map { String(rest[..<$0]) } ?? String(rest)
    property = dot.map { String(rest[rest.index(after: $0)...]) } ?? ""
    object = "\(name)/\(id)"
    identity = NamedIdentity.identity(id, of: entity)
    objects = [(identity, object)]
    if dot != nil, !names.contains(property) {
      objects.append((NamedIdentity.identity(String(rest), of: entity), text))
    }
  }

  /// - Throws: `Failure` where no property was named.
  func requireProperty(of model: ManagedObjectModel) throws(Failure) {
    guard property.isEmpty else { return }
    let name = object.prefix { $0 != "/" }
    let names = model.entitiesByName[String(name)]?.layout.slots.map(\.name) ?? []
    throw Failure(
      .usage, code: "usage", "\(object) does not name a property of an object.",
      suggestion: names.isEmpty
        ? "syncctl why --store STORE ENTITY/ID.PROPERTY"
        : "name one of \(names.joined(separator: ", ")): \(object).\(names[0])")
  }

  private static func malformed(_ text: String) -> Failure {
    Failure(
      .usage, code: "usage", "\(text) does not name a property of an object.",
      suggestion: "syncctl why --store STORE ENTITY/ID.PROPERTY")
  }
}
