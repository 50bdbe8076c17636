import Driftless
import DriftlessSQLite

/// Properties with edits of which a store that forgets its zone does not know whether the zone has them: they were not sent, or
/// never answered. Until the zone was read anew, what such a property is before another edit is no base.
struct UnsentBases {
  private struct Base {
    var key: ObjectKey
    var property: String
    /// Of a set: what is in it, and what was taken out of it.
    var elements: [ObjectKey]
  }

  private var bases: [Base] = []

  /// What is pending, beside what is kept of its bases.
  init(_ pending: PendingSet, _ transaction: ReadTransaction, schema: SyncSchema) throws {
    for (key, object) in pending.objects where object.whole != .delete {
      guard let entity = schema.entity(numbered: key.entity),
        try transaction.concreteKey(root: key) == key
      else { continue }
      for property in entity.properties where property.needsBase {
        // What an insert tells is what the zone has of it, where it has it.
        guard let edit = object.transaction(of: property.slot),
          object.whole != .insert || edit != object.wholeTransaction
        else { continue }
        switch property.kind {
        case .place: continue
        case .attribute, .toOne:
          bases.append(Base(key: key, property: property.name, elements: []))
        case .elements(let relationship):
          var elements = try transaction.toManyKeys(of: key, relationship)
          var known = Set(elements)
          let set = try BaseValues.set(of: key, property.name, on: transaction.connection)
          for element in (set?.elements ?? []) + (set?.asserted ?? [])
          where known.insert(element).inserted { elements.append(element) }
          bases.append(Base(key: key, property: property.name, elements: elements))
        }
      }
    }
  }

  /// What was edited after a transaction, while nothing was kept of it.
  init(after number: Int64, _ transaction: ReadTransaction, schema: SyncSchema) throws {
    var pending = PendingSet(through: number)
    try PendingLoader.extend(&pending, transaction, schema: schema)
    try self.init(pending, transaction, schema: schema)
  }

  /// Keeps that nothing is known. Of a set each element is told as it is here, whatever the zone has.
  func save(on connection: SQLiteConnection) throws {
    for base in bases where try !BaseValues.isKept(of: base.key, base.property, on: connection) {
      try BaseValues.replace(
        base.key, base.property, with: [], asserting: base.elements, on: connection)
    }
  }
}
