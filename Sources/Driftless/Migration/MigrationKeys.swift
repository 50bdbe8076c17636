import DriftlessSQLite

/// Where the keys of objects go when hierarchies change: a hierarchy has one table and one row of keys. Keys stay, unless
/// two hierarchies become one: then those of the second come after those of the first.
struct MigrationKeys {
  /// The keys of one hierarchy, or of the entities that left it together.
  struct Way {
    let source: EntityDescription
    let destination: EntityDescription
    let offset: Int64
  }

  let ways: [Way]
  let plan: MigrationPlan
  let old: StoreSchema
  let new: StoreSchema
  /// The last key of each hierarchy of the old store, by its root's name.
  private let lastKeys: [String: Int64]

  /// - Parameter former: the database of the connection that is the old store.
  init(
    plan: MigrationPlan, old: StoreSchema, new: StoreSchema, connection: SQLiteConnection,
    former: String = "old"
  ) throws {
    self.plan = plan
    self.old = old
    self.new = new
    var lastKeys: [String: Int64] = [:]
    for entity in old.entities where entity.superentity == nil {
      let last = try PrimaryKeyTable.lastKey(
        of: old.entityNumber(of: entity), in: former, on: connection)
      guard last ?? 0 <= PrimaryKeyTable.greatestKey else {
        throw PrimaryKeyTable.tooManyKeys(of: entity.name)
      }
      lastKeys[entity.name] = last.map { max(0, $0) }
    }
    self.lastKeys = lastKeys
    var ways: [Way] = []
    for root in new.entities where root.superentity == nil {
      let members = plan.matches.filter { $0.destination.rootEntity === root }
      var sources: [String: EntityDescription] = [:]
      for match in members { sources[match.source.rootEntity.name] = match.source.rootEntity }
      let number = new.entityNumber(of: root)
      // The hierarchy that has the root's number keeps its keys, and with them the identities that follow from both.
      let ordered = sources.values.sorted {
        let (one, other) = (old.entityNumber(of: $0), old.entityNumber(of: $1))
        return (one == number ? 0 : 1, one) < (other == number ? 0 : 1, other)
      }
      var offset: Int64 = 0
      for source in ordered {
        ways.append(Way(source: source, destination: root, offset: offset))
        offset += lastKeys[source.name] ?? 0
        guard offset <= PrimaryKeyTable.greatestKey else {
          throw PrimaryKeyTable.tooManyKeys(of: source.name)
        }
      }
    }
    self.ways = ways
  }

  func lastKey(of source: EntityDescription) -> Int64 { lastKeys[source.name] ?? 0 }

  /// The last key of a hierarchy of the new store.
  func lastKey(ofDestination root: EntityDescription) -> Int64 {
    ways.filter { $0.destination === root }.map { $0.offset + lastKey(of: $0.source) }.max() ?? 0
  }

  /// What to add to the keys of an entity of the old store; nil when it is gone.
  func offset(of entity: EntityDescription) -> Int64? {
    guard let match = plan.match(ofSource: entity) else { return nil }
    return ways.first {
      $0.source === entity.rootEntity && $0.destination === match.destination.rootEntity
    }?.offset
  }

  /// Whether the objects of a way keep keys and the number of their root.
  func keeps(_ way: Way) -> Bool {
    way.offset == 0 && old.entityNumber(of: way.source) == new.entityNumber(of: way.destination)
  }

  /// The entities whose keys change, with what is added.
  var shifted: [(number: Int32, offset: Int64)] {
    plan.matches.compactMap { match in
      guard let offset = offset(of: match.source), offset != 0 else { return nil }
      return (new.entityNumber(of: match.destination), offset)
    }
  }

  /// A key as the new store has it; nil when its entity is gone.
  func key(_ former: ObjectKey) -> ObjectKey? {
    guard let entity = old.entity(numbered: former.entity), let offset = offset(of: entity),
      let match = plan.match(ofSource: entity)
    else { return nil }
    return ObjectKey(
      entity: new.entityNumber(of: match.destination), key: former.key &+ offset)
  }

  /// A value as the new store has it.
  func value(_ former: PropertyValue) -> PropertyValue {
    guard case .reference(let key) = former else { return former }
    return self.key(key).map { .reference($0) } ?? .null
  }

  /// A row of the old store, by slot, as the new one has it.
  func row(_ values: [PropertyValue], _ match: MigrationPlan.EntityMatch) -> [PropertyValue] {
    zip(match.destination.layout.slots, match.sourceSlots).map { slot, former in
      guard let former, former.index < values.count, slot.isToMany == former.isToMany else {
        return slot.isToMany ? .null : slot.defaultValue
      }
      let value = value(values[former.index])
      if MissingValue.isOne(value) { return value }
      guard case .attribute(_, let type) = slot.kind else { return value }
      return CompiledValueReader.fit(value, type) ?? slot.defaultValue
    }
  }

  /// SQL for a key of the new store, by that of the old one; null where the object is gone or is none of `destination`.
  ///
  /// - Parameters:
  ///   - entity: SQL for the number of the object's entity.
  ///   - target: what the object was: this entity, or one below it.
  func sql(
    _ key: String, entity: String, of target: EntityDescription, as destination: EntityDescription
  ) -> String {
    let members = destination.selfAndDescendants
    let cases = target.selfAndDescendants.filter { !$0.isAbstract }.map { former in
      let isThere = plan.match(ofSource: former).map { match in
        members.contains { $0 === match.destination }
      }
      let offset = isThere == true ? self.offset(of: former) : nil
      return (
        number: old.entityNumber(of: former),
        value: offset.map { $0 == 0 ? key : "(\(key) + \($0))" } ?? "NULL"
      )
    }
    let values = Set(cases.map(\.value))
    if values.count <= 1 { return values.first ?? "NULL" }
    let choices = cases.map { "WHEN \($0.number) THEN \($0.value)" }.joined(separator: " ")
    return "CASE \(entity) \(choices) END"
  }
}
