import DriftlessSQLite

/// Hierarchies whose objects get other keys, or whose roots get other numbers: where each key of them goes, also that of an object
/// that is deleted.
struct MovedHierarchies {
  /// Keys that follow each other, and where they go.
  struct Stretch {
    var first: Int64
    /// The first key after it.
    var end: Int64
    let way: MigrationKeys.Way
  }

  private let keys: MigrationKeys
  private let connection: SQLiteConnection
  /// The roots of the old model.
  let roots: [EntityDescription]
  private var stretchesByRoot: [Int32: [Stretch]] = [:]

  /// - Parameter connection: has the old store as `old` where hierarchies change.
  init(_ keys: MigrationKeys, _ connection: SQLiteConnection) throws {
    self.keys = keys
    self.connection = connection
    roots = keys.old.entities.filter { root in
      let ways = keys.ways.filter { $0.source === root }
      return root.superentity == nil && !(ways.allSatisfy(keys.keeps) && ways.count <= 1)
    }
    for root in roots {
      stretchesByRoot[keys.old.entityNumber(of: root)] = try stretches(of: root)
    }
  }

  var isEmpty: Bool { roots.isEmpty }

  /// Whether a hierarchy has no successor.
  var someAreGone: Bool {
    keys.old.entities.contains { $0.superentity == nil && isGone($0) }
  }

  private func isGone(_ root: EntityDescription) -> Bool {
    !keys.ways.contains { $0.source === root }
  }

  /// All keys of a hierarchy, in order. Keys that no trace is left of stay with most.
  func stretches(of root: EntityDescription) throws -> [Stretch] {
    let ways = keys.ways.filter { $0.source === root }
    guard let main = ways.first(where: keys.keeps) ?? ways.first else { return [] }
    let end = Int64.max
    var wayByNumber: [Int64: MigrationKeys.Way] = [:]
    for match in keys.plan.matches where match.source.rootEntity === root {
      let way = ways.first { $0.destination === match.destination.rootEntity }
      if let way, way.destination !== main.destination {
        wayByNumber[Int64(keys.old.entityNumber(of: match.source))] = way
      }
    }
    guard !wayByNumber.isEmpty else { return [Stretch(first: 1, end: end, way: main)] }
    let numbers = wayByNumber.keys.map { "\($0)" }.joined(separator: ", ")
    var stretches: [Stretch] = []
    var next: Int64 = 1
    var sql =
      "SELECT Z_PK, Z_ENT FROM old.\"\(keys.old.table(for: root).name)\" WHERE Z_ENT IN (\(numbers))"
    if let keys = try ChangeTable.keysSQL(ofEntities: numbers, in: "old", on: connection) {
      sql += " UNION " + keys
    }
    for row in try connection.rows(sql + " ORDER BY 1") {
      guard case .integer(let key) = row[0], case .integer(let number) = row[1],
        let way = wayByNumber[number], key >= next, key < end
      else { continue }
      if key > next { stretches.append(Stretch(first: next, end: key, way: main)) }
      if let last = stretches.last, last.end == key, last.way.destination === way.destination {
        stretches[stretches.count - 1].end = key + 1
      } else {
        stretches.append(Stretch(first: key, end: key + 1, way: way))
      }
      next = key + 1
    }
    if next < end { stretches.append(Stretch(first: next, end: end, way: main)) }
    return stretches
  }

  /// Where an object is, by its root's number and its key; nil where its hierarchy is gone.
  func rooted(_ former: ObjectKey) -> ObjectKey? {
    guard let all = stretchesByRoot[former.entity] else { return former }
    return way(of: former.key, in: all).map {
      ObjectKey(
        entity: keys.new.entityNumber(of: $0.destination), key: former.key &+ $0.offset)
    }
  }

  /// A value as the new store has it. A reference may name the root of its object's hierarchy in place of the object's entity.
  func value(_ former: PropertyValue) -> PropertyValue {
    guard case .reference(let key) = former else { return former }
    guard let all = stretchesByRoot[key.entity] else { return keys.value(former) }
    guard let way = way(of: key.key, in: all) else { return .null }
    // As long as the entity is in the object's hierarchy, it stands for it as before.
    let match = keys.old.entity(numbered: key.entity).flatMap { keys.plan.match(ofSource: $0) }
    let entity =
      match?.destination.rootEntity === way.destination ? match?.destination : way.destination
    return .reference(
      ObjectKey(
        entity: keys.new.entityNumber(of: entity ?? way.destination), key: key.key &+ way.offset))
  }

  /// A value that the journal keeps beside its text, which names objects by their identities. Nil for a reference into a hierarchy that
  /// is gone: keys of that are another one's, as soon as there is one.
  func told(_ former: PropertyValue) -> PropertyValue? {
    guard case .reference(let key) = former else { return former }
    guard let entity = keys.old.entity(numbered: key.entity), !isGone(entity.rootEntity) else {
      return nil
    }
    if isEmpty { return former }
    let value = value(former)
    return value.isNull ? nil : value
  }

  private func way(of key: Int64, in stretches: [Stretch]) -> MigrationKeys.Way? {
    var low = 0
    var high = stretches.count
    while low < high {
      let middle = (low + high) / 2
      if stretches[middle].end <= key { low = middle + 1 } else { high = middle }
    }
    return stretches.indices.contains(low) ? stretches[low].way : nil
  }
}
