import Driftless
import DriftlessProtocol

/// The partners that an object had when it was deleted, at the ends of one-to-one relationships that follow the other: whoever
/// deletes it has its partners let go of it with that, so that the object as it was deleted does not name them any more.
enum FormerPartners {
  /// Reads them from the entry that deleted the object, where that is kept, and from what the log had said before.
  ///
  /// - Parameter sequence: the place of that entry.
  /// - Returns: the partners by the slots of the object's own ends.
  static func find(
    of key: ObjectKey, _ entity: SyncSchema.Entity, deletedAt sequence: UInt64,
    _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> [Int: ObjectKey] {
    let ends = ends(of: entity)
    guard !ends.isEmpty, sequence > 0,
      let entry = try KeptFrames.entries(
        after: sequence - 1, bytesMax: 1, on: transaction.connection
      ).first, entry.sequence == sequence, let changeSet = try? ChangeSetDecoder().decode(entry)
    else { return [:] }
    let freed = try freed(
      by: changeSet, entry.firstObjectNumber, whereGone: schema.rooted(key), Set(ends.values),
      transaction, schema)
    let former = try PlaceValues.find(freed, upTo: sequence - 1, transaction, schema: schema)
    var partners: [Int: ObjectKey] = [:]
    for (slot, name) in ends {
      for (partner, said) in former {
        guard case .value(.reference(let target))? = said[name],
          schema.rooted(target) == schema.rooted(key)
        else { continue }
        partners[slot] = partner
      }
    }
    return partners
  }

  /// The names of the ends that own what an entity's ends follow, by the slots of these.
  private static func ends(of entity: SyncSchema.Entity) -> [Int: String] {
    var ends: [Int: String] = [:]
    for slot in entity.echoes.indexes {
      guard let inverse = entity.description.layout.slots[slot].relationship?.inverseRelationship,
        !inverse.isToMany
      else { continue }
      ends[slot] = inverse.name
    }
    return ends
  }

  /// The objects whose references of some names a change set sets to nothing; none where it does not delete the object.
  private static func freed(
    by changeSet: ChangeSet, _ firstNumber: UInt64, whereGone gone: ObjectKey, _ names: Set<String>,
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> PlaceValues.Names {
    let index = changeSet.index
    var directory = ObjectDirectory(transaction.connection)
    func key(_ object: Int, _ entity: SyncSchema.Entity) throws -> ObjectKey? {
      let isNew = object < index.newObjectCount
      let number =
        isNew
        ? firstNumber &+ UInt64(object) : index.knownNumbers[object - index.newObjectCount]
      return try directory.key(ofNumber: number)
        .map { ObjectKey(entity: entity.number, key: $0.key) }
    }
    var freed: PlaceValues.Names = [:]
    var isGone = false
    var columns = changeSet.columns[...]
    for group in index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      let told = index.entities[group.entity]
      guard let entity = schema.entity(namedNowOrBefore: told.name) else { continue }
      if group.kind == .delete {
        for object in group.objects where !isGone {
          isGone = try key(Int(object), entity).map(schema.rooted) == gone
        }
      }
      guard group.kind == .update else { continue }
      for (place, column) in zip(group.properties, own) {
        guard let property = entity.property(namedNowOrBefore: told.properties[place]),
          names.contains(property.name), case .toOne = property.kind,
          let reader = PropertyReader(property: property, column: column)
        else { continue }
        for (row, object) in group.objects.enumerated() where reader.reference(row) == nil {
          guard let key = try key(Int(object), entity) else { continue }
          freed[key, default: []].insert(property.name)
        }
      }
    }
    return isGone ? freed : [:]
  }
}
