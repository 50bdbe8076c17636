import DriftlessSQLite
import Foundation

/// Keeps the identities of objects whose key, or whose hierarchy's number, is another now: an identity that followed from
/// both is written down.
struct MigrationIdentities {
  let keys: MigrationKeys
  let connection: SQLiteConnection
  /// Whether identities that follow from the keys are written down too: an object that is made anew finds its key by its
  /// identity.
  var writesMinted = false

  /// Keys that follow each other, and where they go.
  private struct Stretch {
    var first: Int64
    /// The first key after it.
    var end: Int64
    let way: MigrationKeys.Way
  }

  private struct Run {
    var first: Int64
    var count: Int64
    var number: Int64?
    var identity: UUID
    /// Whether it follows from the key, and is not written down.
    var isMinted = false
  }

  func run() throws {
    let roots = keys.old.entities.filter { $0.superentity == nil }
    let moved = roots.filter { !stays($0) }
    // What is in flight names objects by keys.
    if !moved.isEmpty, try has("ZDL_OUTBOX"),
      try connection.scalar("SELECT 1 FROM old.ZDL_OUTBOX") != nil
    {
      throw MigrationPlan.refusal(
        "hierarchies change, and a change set is on its way to the server",
        "Sync once with the old version, then migrate.")
    }
    let written = writesMinted ? roots : moved
    guard
      case .blob(let prefix)? = try connection.scalar(
        "SELECT value FROM main.ZDL_STORE WHERE key = 'mintPrefix'"), prefix.count == 6,
      try writesMinted || has("ZDL_IDENTITY")
    else { return }
    try dropEntities()
    for root in written {
      try connection.run(
        "DELETE FROM main.ZDL_IDENTITY WHERE root_entity = ?", .integer(number(of: root)))
    }
    for root in written {
      let stretches = try stretches(of: root)
      for run in try runs(of: root, prefix: [UInt8](prefix)) {
        for stretch in stretches { try write(run, within: stretch) }
      }
    }
  }

  /// Forgets the identities of hierarchies that are gone. Their numbers are given out again, and objects of the entities
  /// that get them would be known by those identities.
  func dropEntities() throws {
    for root in keys.old.entities
    where root.superentity == nil && !keys.ways.contains(where: { $0.source === root }) {
      try connection.run(
        "DELETE FROM main.ZDL_IDENTITY WHERE root_entity = ?", .integer(number(of: root)))
    }
  }

  /// Forgets what follows from the keys again.
  func dropMinted() throws {
    guard
      case .blob(let prefix)? = try connection.scalar(
        "SELECT value FROM main.ZDL_STORE WHERE key = 'mintPrefix'"), prefix.count == 6
    else { return }
    for row in try connection.rows(
      "SELECT root_entity, first_key, identity FROM main.ZDL_IDENTITY WHERE number IS NULL")
    {
      guard case .integer(let root) = row[0], case .integer(let key) = row[1],
        case .blob(let identity) = row[2],
        identity
          == MintedIdentity.identity(
            prefix: [UInt8](prefix), root: Int32(exactly: root) ?? -1, key: key
          ).networkBytes
      else { continue }
      try connection.run(
        "DELETE FROM main.ZDL_IDENTITY WHERE root_entity = ? AND first_key = ?", row[0], row[1])
    }
  }

  private func number(of root: EntityDescription) -> Int64 {
    Int64(keys.old.entityNumber(of: root))
  }

  /// Whether all objects of the hierarchy keep key and number.
  private func stays(_ root: EntityDescription) -> Bool {
    let ways = keys.ways.filter { $0.source === root }
    return ways.allSatisfy(keeps) && ways.count <= 1
  }

  private func keeps(_ way: MigrationKeys.Way) -> Bool {
    way.offset == 0
      && keys.old.entityNumber(of: way.source) == keys.new.entityNumber(of: way.destination)
  }

  private func has(_ table: String) throws -> Bool {
    try connection.scalar("SELECT 1 FROM old.sqlite_master WHERE name = ?", .text(table)) != nil
  }

  /// All keys of a hierarchy, in order. Keys that no trace is left of stay with most.
  private func stretches(of root: EntityDescription) throws -> [Stretch] {
    let ways = keys.ways.filter { $0.source === root }
    guard let main = ways.first(where: keeps) ?? ways.first else { return [] }
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
    if try has("ACHANGE") {
      sql += " UNION SELECT ZENTITYPK, ZENTITY FROM old.ACHANGE WHERE ZENTITY IN (\(numbers))"
    }
    for row in try connection.rows(sql + " ORDER BY 1") {
      guard case .integer(let key) = row[0], case .integer(let number) = row[1],
        let way = wayByNumber[number], key >= next
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

  /// What is written down, and between it what follows from the keys.
  private func runs(of root: EntityDescription, prefix: [UInt8]) throws -> [Run] {
    var runs: [Run] = []
    var next: Int64 = 1
    func addMinted(upTo end: Int64) {
      guard next < end else { return }
      let identity = MintedIdentity.identity(
        prefix: prefix, root: keys.old.entityNumber(of: root), key: next)
      runs.append(Run(first: next, count: end - next, identity: identity, isMinted: true))
    }
    let written =
      try has("ZDL_IDENTITY")
      ? connection.rows(
        """
        SELECT first_key, count, number, identity FROM old.ZDL_IDENTITY WHERE root_entity = ?
        ORDER BY first_key
        """, .integer(number(of: root))) : []
    for row in written {
      guard case .integer(let first) = row[0], case .integer(let count) = row[1],
        case .blob(let bytes) = row[3], let identity = UUID(networkBytes: bytes)
      else { continue }
      addMinted(upTo: first)
      var run = Run(first: first, count: count, identity: identity)
      if case .integer(let number) = row[2] { run.number = number }
      runs.append(run)
      next = max(next, first + count)
    }
    addMinted(upTo: keys.lastKey(of: root) + 1)
    return runs
  }

  private func write(_ run: Run, within stretch: Stretch) throws {
    let first = max(run.first, stretch.first)
    let count = min(run.first + run.count, stretch.end) - first
    guard count > 0, !(run.isMinted && keeps(stretch.way) && !writesMinted) else { return }
    let skipped = first - run.first
    try connection.run(
      "INSERT INTO main.ZDL_IDENTITY VALUES (?, ?, ?, ?, ?)",
      .integer(Int64(keys.new.entityNumber(of: stretch.way.destination))),
      .integer(first + stretch.way.offset), .integer(count),
      run.number.map { .integer($0 &+ skipped) } ?? .null,
      .blob(run.identity.following(by: UInt64(skipped)).networkBytes))
  }
}
