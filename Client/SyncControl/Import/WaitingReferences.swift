import Driftless
import Foundation

/// References of lines that an import before this one has saved, to objects that later lines of the file insert: who goes on with
/// those sets them.
struct WaitingReferences {
  private typealias Place = AwaitedReference.Place

  private let store: PersistentStore
  private let shapes: ImportShapes
  /// The last word of the lines on each property.
  private var references: [Place: [AwaitedReference]] = [:]

  init(_ store: PersistentStore, _ shapes: ImportShapes) {
    self.store = store
    self.shapes = shapes
  }

  /// - Parameters:
  ///   - last: up to here the lines are saved.
  ///   - place: what is kept of them, which says whether some wait there.
  ///   - passedOver: those of them that said nothing.
  /// - Returns: in the order of the lines.
  static func all(
    of bytes: ImportBytes, through last: Int, at place: ImportPlace?, without passedOver: IndexSet,
    in store: PersistentStore, _ shapes: ImportShapes
  ) throws -> [AwaitedReference] {
    guard let first = place?.waitingLine else { return [] }
    var waiting = WaitingReferences(store, shapes)
    var reader = try LineReader(bytes)
    try reader.skip(first - 1)
    while reader.number < last, let line = try reader.next(), line.number <= last {
      if !passedOver.contains(line.number) { try waiting.read(line) }
    }
    return try waiting.open(in: reader)
  }

  private mutating func read(_ line: ImportLine) throws {
    let (name, id, members): (String, String, [JSONValue.Member])
    switch line.operation {
    case .insert(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .update(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .upsert(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .delete, .save: return
    }
    let shape = try shapes.shape(name, line.number)
    guard shape.hasRelationships else { return }
    let owner = NamedIdentity.identity(id, of: shape.entity)
    for member in members {
      let place = Place(owner: owner, property: member.name)
      func reference(_ id: String, to destination: EntityDescription) -> AwaitedReference {
        AwaitedReference(
          owner: shape.entity, ownerIdentity: owner, property: member.name,
          destination: destination, id: id, line: line.number,
          target: NamedIdentity.identity(id, of: destination))
      }
      var named: [AwaitedReference] = []
      switch (shape.properties[member.name], member.value) {
      case (.toOne(let destination, _), .string(let id)):
        named = [reference(id, to: destination)]
      case (.toMany(let destination, _), .array(let elements)):
        for case .string(let id) in elements { named.append(reference(id, to: destination)) }
      default: break
      }
      references[place] = try named.isEmpty ? nil : missing(named)
      // The object at the other end is told another one, where it has one alone.
      guard let inverse = shape.entity.relationshipsByName[member.name]?.inverseRelationship,
        !inverse.isToMany
      else { continue }
      for reference in named {
        references[Place(owner: reference.target, property: inverse.name)] = nil
      }
    }
  }

  /// Those whose objects are not there; nil where all are.
  private func missing(_ named: [AwaitedReference]) throws -> [AwaitedReference]? {
    let missing = try store.read { transaction in
      try named.filter { reference in
        guard let key = try transaction.key(of: reference.target) else { return true }
        return try transaction.concreteKey(root: key) == nil
      }
    }
    return missing.isEmpty ? nil : missing
  }

  /// Those that the rest of the file inserts: the others were there, and are deleted.
  private func open(in rest: LineReader) throws -> [AwaitedReference] {
    var rest = rest
    var open = Dictionary(grouping: references.values.joined(), by: \.target)
    var found: [AwaitedReference] = []
    while !open.isEmpty, let line = try? rest.next() {
      guard let made = line.operation.insertion,
        let entity = try? shapes.shape(made.entity, line.number).entity
      else { continue }
      found += open.removeValue(forKey: NamedIdentity.identity(made.id, of: entity)) ?? []
    }
    return try store.read { transaction in
      try found.map { try standing($0, transaction) }.sorted { $0.line < $1.line }
    }
  }

  /// With what is in the place of it as long as it waits.
  private func standing(
    _ reference: AwaitedReference, _ transaction: ReadTransaction
  ) throws -> AwaitedReference {
    var reference = reference
    guard let owner = try reference.ownerIdentity.flatMap({ try transaction.key(of: $0) }),
      let living = try transaction.concreteKey(root: owner),
      let slot = transaction.schema.entity(numbered: living.entity)?.layout.index(
        named: reference.property),
      case .reference(let target)? = try transaction.row(living)?.values[slot]
    else { return reference }
    reference.former = try transaction.identity(of: target)
    return reference
  }
}
