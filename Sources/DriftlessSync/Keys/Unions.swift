import Driftless
import DriftlessSQLite
import Foundation

/// Makes one object of two that claim one unique key: a pending one becomes one with the zone's.
///
/// What was set here are edits of the zone's object, references follow, and the identity that went is kept as an alias
/// (`ZDL_ALIAS`). While what came of it is pending, the alias keeps the object that went: when the zone's object dies
/// before the zone heard of it, that one is an object again.
struct Unions {
  let applier: PageApplier
  /// When the properties of objects that stay were edited.
  private var times = EditHistory()
  var transaction: WriteTransaction { applier.transaction }
  private var schema: SyncSchema { applier.schema }

  init(_ applier: PageApplier) { self.applier = applier }

  // MARK: Uniting

  /// Reads what the history knows of objects that others are to become one with: once, for it is read from its beginning.
  mutating func readTimes(of objects: [ObjectKey]) throws {
    times = try EditHistory(transaction, schema: schema, of: Set(objects))
  }

  /// - Parameter side: the zone's change that brought the two together.
  func unite(_ lost: ObjectKey, into stayed: ObjectKey, _ side: RemoteSide, _ bond: Bond) throws {
    guard let entity = schema.entity(numbered: lost.entity), let object = applier.pending[lost]
    else { return }
    let values = try applier.currentValues(of: lost)
    let followed = Self.values(values, replacing: lost, by: stayed)
    let identity = try transaction.identity(of: lost)
    let sets = try elements(of: lost, entity)
    let places = try places(of: lost, entity)
    let sources = try referrersOnceUnited(of: lost, entity, object)
    let isSame = try hasAll(stayed, entity, of: lost, object, followed, sets)
    if !isSame { try journal(identity, stayed, entity, object, values, side, bond) }
    try remember(identity, lost, stayed, entity, object, values)
    try remove(lost, places, entity)
    try applier.keptKeys.writeFree()
    try edit(stayed, entity, by: object, followed, places, side)
    try add(sets, from: lost, to: stayed, by: object)
    try point(sources, from: lost, to: stayed)
    try keepOnePartner(sources, of: stayed, side)
    if !isSame { applier.report.conflicts += 1 }
  }

  /// Its row is in the alias, and its places are kept beside that.
  private func remove(
    _ lost: ObjectKey, _ places: [Int: Int64], _ entity: SyncSchema.Entity
  ) throws {
    try transaction.delete(lost, expectedVersion: nil)
    try BaseValues.drop(lost, on: transaction.connection)
    for place in entity.places {
      guard let value = places[place.slot] else { continue }
      try BaseValues.replace(lost, place.name, with: .integer(value), on: transaction.connection)
    }
    try transaction.dropDeltas(of: lost)
    try applier.parkedValues.strike(lost)
    applier.setPending(lost) { $0 = PendingObject() }
  }

  // MARK: Values

  /// Makes the values that were set here edits of the object that stayed, by each property's policy.
  private func edit(
    _ stayed: ObjectKey, _ entity: SyncSchema.Entity, by object: PendingObject,
    _ values: [PropertyValue], _ places: [Int: Int64], _ side: RemoteSide
  ) throws {
    let current = try applier.currentValues(of: stayed)
    var written = current
    var mask = PropertyMask()
    for property in entity.properties where !property.isCollective {
      let slot = property.slot
      guard let number = object.transaction(of: slot),
        object.whole != .insert || isNamed(values[slot], entity, slot),
        case let remote = try applier.known(property, of: stayed, current[slot]),
        values[slot] != remote
      else { continue }
      let before = applier.pending[stayed]?.transaction(of: slot)
      let time = try before.map(transaction.editTime) ?? times.time(of: stayed, slot)
      var conflict = PropertyConflict(
        policy: property.policy, base: nil, local: values[slot], remote: remote,
        localTime: try transaction.editTime(number), remoteTime: time ?? side.time,
        localReplica: applier.replica,
        remoteReplica: before == nil ? side.origin : applier.replica, isOfTwoCreations: true)
      if case .attribute(let attribute, let type) = entity.description.layout.slots[slot].kind {
        (conflict.attribute, conflict.type) = (attribute, type)
      }
      let verdict =
        applier.notHeld(conflict, property) ?? settle(conflict, entity, property, stayed)
      try applier.journal.add(
        conflict, verdict, entity: entity, property: property, key: stayed,
        sequence: side.sequence)
      switch verdict.settlement {
      case .same, .sameButLater, .remote: continue
      case .local: written[slot] = values[slot]
      case .combined(remote): continue
      case .combined(let value): written[slot] = value
      }
      mask.insert(slot)
      if before == nil, property.needsBase {
        try BaseValues.replace(
          stayed, property.name, with: remote, on: transaction.connection)
      }
      applier.setPending(stayed) { $0.set(PropertyMask([slot]), by: max(number, before ?? number)) }
      if let place = places[slot],
        let relationship = entity.description.layout.slots[slot].relationship
      {
        if before == nil, property.mayGoBack {
          let former = try transaction.place(of: stayed, in: relationship)
          try BaseValues.replace(
            stayed, PlaceName.of(property.name), with: former.map { .integer($0) } ?? .null,
            on: transaction.connection)
        }
        try applier.setPlace(of: stayed, after: place, in: relationship, values[slot])
      }
    }
    guard !mask.isEmpty else { return }
    try transaction.update(stayed, mask, values: written, expectedVersion: nil)
    applier.report.updated += 1
  }

  /// Whether a new object's value was set: what the model sets by itself is no edit.
  func isNamed(_ value: PropertyValue, _ entity: SyncSchema.Entity, _ slot: Int) -> Bool {
    !value.isNull && value != entity.description.layout.slots[slot].defaultValue
  }

  private func settle(
    _ conflict: PropertyConflict, _ entity: SyncSchema.Entity, _ property: SyncSchema.Property,
    _ key: ObjectKey
  ) -> Verdict {
    // Nobody set the other side: there is nothing to weigh.
    if conflict.remote.isNull { return Verdict(.local) }
    return MergeTable.settle(conflict) { name, conflict in
      guard let policy = applier.options.customPolicies[name],
        let identity = try? transaction.identity(of: key)
      else { return nil }
      return policy(
        SyncOptions.Conflict(
          entity: entity.name, property: property.name, identity: identity, base: conflict.base,
          local: conflict.local, remote: conflict.remote, localTime: conflict.localTime,
          remoteTime: conflict.remoteTime))
    }
  }

  private func places(of key: ObjectKey, _ entity: SyncSchema.Entity) throws -> [Int: Int64] {
    var places: [Int: Int64] = [:]
    for place in entity.places {
      places[place.slot] = try transaction.place(of: key, in: place.relationship)
    }
    return places
  }

  /// The objects that became one with others of which something is pending.
  static func undoable(on connection: SQLiteConnection) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    try connection.forEachRow("SELECT entity, former_key FROM ZDL_ALIAS WHERE row IS NOT NULL") {
      keys.append($0.objectKey(0, 1))
    }
    return keys
  }

  // MARK: Relationships

  private func elements(
    of key: ObjectKey, _ entity: SyncSchema.Entity
  ) throws -> [(SyncSchema.Property, RelationshipDescription, [ObjectKey])] {
    try entity.properties.compactMap { property in
      guard case .elements(let relationship) = property.kind else { return nil }
      let elements = try transaction.toManyKeys(of: key, relationship)
      try transaction.removePairs(relationship, key, elements)
      return elements.isEmpty ? nil : (property, relationship, elements)
    }
  }

  private func add(
    _ sets: [(SyncSchema.Property, RelationshipDescription, [ObjectKey])], from lost: ObjectKey,
    to stayed: ObjectKey, by object: PendingObject
  ) throws {
    for (property, relationship, elements) in sets {
      let had = try transaction.toManyKeys(of: stayed, relationship)
      let new = Self.elements(elements, replacing: lost, by: stayed).without(had)
      guard !new.isEmpty else { continue }
      if applier.pending[stayed]?.transaction(of: property.slot) == nil {
        try BaseValues.replace(stayed, property.name, with: had, on: transaction.connection)
      }
      try transaction.addPairs(relationship, stayed, new)
      try transaction.recordUpdate(stayed, PropertyMask([property.slot]))
      let number = object.transaction(of: property.slot) ?? object.lastTransaction
      applier.setPending(stayed) { $0.set(PropertyMask([property.slot]), by: number) }
    }
  }

  /// What an object that holds itself holds once it is another one.
  static func elements(
    _ elements: [ObjectKey], replacing lost: ObjectKey, by other: ObjectKey
  ) -> [ObjectKey] {
    guard elements.contains(lost) else { return elements }
    return elements.filter { $0 != other }.map { $0 == lost ? other : $0 }
  }

  private static func values(
    _ values: [PropertyValue], replacing lost: ObjectKey, by other: ObjectKey
  ) -> [PropertyValue] {
    values.map { $0 == .reference(lost) ? .reference(other) : $0 }
  }

  private func referrers(
    of key: ObjectKey, _ entity: SyncSchema.Entity
  ) throws -> [(SyncSchema.Referrer, [ObjectKey])] {
    var found: [(SyncSchema.Referrer, [ObjectKey])] = []
    for referrer in schema.referrers(of: entity) {
      let sources = try transaction.keys(referring: referrer.relationship, to: key)
      // Its own values are settled with the other's.
      found.append((referrer, sources.filter { $0 != key }))
    }
    for holder in schema.holders(of: entity) {
      found.append((holder, try transaction.sources(holding: key, in: holder.relationship)))
    }
    return found.filter { !$0.1.isEmpty }
  }

  /// What refers to an object that becomes one with another. Of one that the zone had, and deleted, references that are
  /// not pending are cut there: they are here as well.
  private func referrersOnceUnited(
    of lost: ObjectKey, _ entity: SyncSchema.Entity, _ object: PendingObject
  ) throws -> [(SyncSchema.Referrer, [ObjectKey])] {
    let all = try referrers(of: lost, entity)
    guard object.isDeadInZone else { return all }
    let pending = all.map { referrer, sources in
      (
        referrer,
        sources.filter { applier.pending[$0]?.transaction(of: referrer.property.slot) != nil }
      )
    }
    try applier.cutReferences(to: lost, entity)
    for (referrer, sources) in pending where !referrer.relationship.isToMany {
      for source in sources {
        try applier.dangling.removeAll(
          of: DanglingReferences.Source(key: source, property: referrer.property.name))
      }
    }
    return pending
  }

  /// Points what refers to one object at another. Whatever refers to an object that the zone does not know is pending.
  private func point(
    _ referrers: [(SyncSchema.Referrer, [ObjectKey])], from lost: ObjectKey, to other: ObjectKey
  ) throws {
    for (referrer, sources) in referrers {
      let slot = referrer.property.slot
      for source in sources {
        if referrer.relationship.isToMany {
          try transaction.removePairs(referrer.relationship, source, [lost])
          try transaction.addPairs(referrer.relationship, source, [other])
          try transaction.recordUpdate(source, PropertyMask([slot]))
        } else {
          var values = try applier.currentValues(of: source)
          values[slot] = .reference(other)
          try transaction.update(
            source, PropertyMask([slot]), values: values, expectedVersion: nil)
        }
        applier.report.updated += 1
      }
    }
  }

  // MARK: Aliases

  /// What each row keeps by itself.
  static let aliasRules: [RowRule] = [
    .identity("identity"), .bytes("row", orNull: true), .bytes("state", orNull: true),
    RowRule("(row IS NULL) = (state IS NULL)", "it keeps half of the object that went"),
  ]
  static let aliasStatements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_ALIAS(
      identity BLOB PRIMARY KEY, entity INTEGER NOT NULL, key INTEGER NOT NULL,
      former_key INTEGER NOT NULL, row BLOB,
      state BLOB\(RowRule.constraints(aliasRules))) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_ALIAS_OBJECT ON ZDL_ALIAS(entity, key)",
  ]

  private func remember(
    _ identity: UUID, _ lost: ObjectKey, _ stayed: ObjectKey, _ entity: SyncSchema.Entity,
    _ object: PendingObject, _ values: [PropertyValue]
  ) throws {
    let connection = transaction.connection
    let target: [SQLiteValue] = [.integer(Int64(stayed.entity)), .integer(stayed.key)]
    try connection.perform(
      "UPDATE ZDL_ALIAS SET entity = ?, key = ?, row = NULL, state = NULL WHERE entity = ? AND key = ?",
      target + [.integer(Int64(lost.entity)), .integer(lost.key)])
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_ALIAS VALUES (?, ?, ?, ?, ?, ?)",
      [.uuid(identity)] + target + [
        .integer(lost.key), .blob(RowArchive.encode(values)),
        .blob(try PendingState.encode(object, entity: entity)),
      ])
  }

  static func aliases(_ transaction: ReadTransaction) throws -> [UUID: ObjectKey] {
    var aliases: [UUID: ObjectKey] = [:]
    try transaction.connection.forEachRow("SELECT identity, entity, key FROM ZDL_ALIAS") { row in
      if let identity = UUID(networkBytes: row.data(0)) { aliases[identity] = row.objectKey(1, 2) }
    }
    return aliases
  }

  static func removeAliases(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_ALIAS")
  }

  /// What nothing is pending of is one for good, whoever settled it: a push, a pull, or that both sides had the same.
  static func confirm(_ pending: PendingSet, on connection: SQLiteConnection) throws {
    var confirmed: [UUID] = []
    try connection.forEachRow("SELECT identity, entity, key FROM ZDL_ALIAS WHERE row IS NOT NULL") {
      row in
      let key = row.objectKey(1, 2)
      if pending[key] == nil, let identity = UUID(networkBytes: row.data(0)) {
        confirmed.append(identity)
      }
    }
    for identity in confirmed {
      try connection.perform(
        "UPDATE ZDL_ALIAS SET row = NULL, state = NULL WHERE identity = ?", [.uuid(identity)])
    }
  }

  /// Nothing is pending any more: all of them are one for good.
  static func confirmAll(on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_ALIAS SET row = NULL, state = NULL WHERE row IS NOT NULL")
  }

  /// The object is about to be deleted because the log says so: what became one with it, and the zone did not hear of,
  /// is an object of its own again.
  func undo(before stayed: ObjectKey, _ entity: SyncSchema.Entity) throws {
    guard let now = applier.pending[stayed] else { return }
    var lost: [(identity: UUID, key: ObjectKey, row: [PropertyValue], object: PendingObject)] = []
    try transaction.connection.forEachRow(
      """
      SELECT identity, former_key, row, state FROM ZDL_ALIAS
      WHERE entity = ? AND key = ? AND row IS NOT NULL ORDER BY former_key
      """, [.integer(Int64(stayed.entity)), .integer(stayed.key)]
    ) { row in
      guard let identity = UUID(networkBytes: row.data(0)) else { return }
      lost.append(
        (
          identity, ObjectKey(entity: stayed.entity, key: row.int64(1)),
          try transaction.archivedRow(row.data(2), of: stayed.entity),
          try PendingState.decode(row.data(3), entity: entity)
        ))
    }
    guard let first = lost.first else { return }
    let values = try applier.currentValues(of: stayed)
    let sets = try elements(of: stayed, entity)
    let places = try places(of: stayed, entity)
    for (identity, key, row, object) in lost {
      var row = row
      entity.echoes.forEach { row[$0] = .null }
      // What was set since, of the one that they were.
      for property in entity.properties where !property.isCollective {
        if key == first.key, now.transaction(of: property.slot) != nil {
          row[property.slot] = values[property.slot]
          if row[property.slot] == .reference(stayed) { row[property.slot] = .reference(key) }
        } else if case .reference(let target) = row[property.slot], target != key,
          try transaction.concreteKey(root: target) == nil
        {
          row[property.slot] = .null
        }
      }
      try transaction.insert(entity.description, key.key, values: row)
      for place in entity.places where !row[place.slot].isNull {
        let isSetSince = key == first.key && now.transaction(of: place.slot) != nil
        try applier.placeAgain(
          key, place.name, place.relationship, isSetSince ? places[place.slot] : nil)
      }
      applier.setPending(key) { $0 = object }
      try transaction.connection.perform(
        "DELETE FROM ZDL_ALIAS WHERE identity = ?", [.uuid(identity)])
      applier.report.inserted += 1
    }
    for (property, relationship, elements) in sets
    where now.transaction(of: property.slot) != nil {
      try transaction.addPairs(
        relationship, first.key, Self.elements(elements, replacing: stayed, by: first.key))
    }
    let pointing = try referrers(of: stayed, entity).map { referrer, sources in
      (
        referrer,
        sources.filter { applier.pending[$0]?.transaction(of: referrer.property.slot) != nil }
      )
    }
    try point(pointing, from: stayed, to: first.key)
    applier.setPending(stayed) { $0 = PendingObject() }
    try journalUndo(first.key, stayed, entity)
  }
}
