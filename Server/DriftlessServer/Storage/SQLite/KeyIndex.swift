import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Which living object of a zone holds which unique key.
///
/// An object holds one key a constraint. It lets it go when it is deleted or revived, when it claims
/// another, or when a property of the constraint is set without a claim. Within a push all that is
/// let go of goes before anything is taken. A zone without claims costs one look.
struct KeyIndex {
  let connection: SQLiteConnection
  let zone: Int64
  /// What the pushing replica knows of objects.
  let objects: ObjectIndex

  /// - Parameter firstNumber: The number of the push's first new object.
  func apply(
    _ contents: Push.Contents, firstNumber: UInt64, stale: inout StaleObjects
  ) throws {
    let hasClaims = try holdsAny()
    guard hasClaims || !contents.claims.isEmpty else { return }
    if hasClaims { try release(contents) }
    try claim(contents, firstNumber: firstNumber, &stale)
  }

  private func holdsAny() throws -> Bool {
    let statement = try connection.prepare("SELECT 1 FROM claim WHERE zone = ? LIMIT 1")
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    return try statement.step()
  }

  // MARK: - Letting go

  private func release(_ contents: Push.Contents) throws {
    for touch in contents.touches {
      let set = Set(touch.properties)
      for object in touch.objects {
        for held in try keys(of: object)
        where touch.kind != .update || !set.isDisjoint(with: held.constraint.properties) {
          try letGo(held.hash)
        }
      }
    }
    for claims in contents.claims {
      for case (.known(let object), _) in claims.keys {
        for held in try keys(of: object) where held.constraint == claims.constraint {
          try letGo(held.hash)
        }
      }
    }
  }

  private func keys(of object: UInt64) throws -> [(hash: Data, constraint: ZoneConstraint)] {
    let statement = try connection.prepare(
      """
      SELECT claim.hash, key_rule.name FROM claim JOIN key_rule ON key_rule.id = claim.rule
      WHERE claim.zone = ? AND claim.object = ?
      """)
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    statement.bind(Int64(clamping: object), at: 2)
    var keys: [(Data, ZoneConstraint)] = []
    while try statement.step() {
      keys.append((statement.data(0), try Self.constraint(statement.string(1))))
    }
    return keys
  }

  private func letGo(_ hash: Data) throws {
    let statement = try connection.prepare("DELETE FROM claim WHERE zone = ? AND hash = ?")
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    statement.bind(hash, at: 2)
    try statement.run()
  }

  // MARK: - Taking

  private func claim(
    _ contents: Push.Contents, firstNumber: UInt64, _ stale: inout StaleObjects
  ) throws {
    let insert = try connection.prepare("INSERT OR IGNORE INTO claim VALUES(?, ?, ?, ?)")
    for claims in contents.claims {
      let rule = try rule(of: claims.constraint)
      for (holder, hash) in claims.keys {
        let object =
          switch holder {
          case .new(let place): firstNumber + place
          case .known(let number): number
          }
        insert.bind(zone, at: 1)
        insert.bind(hash, at: 2)
        insert.bind(Int64(clamping: object), at: 3)
        insert.bind(rule, at: 4)
        try insert.run()
        let isTaken = connection.changes == 0
        insert.reset()
        guard isTaken, let other = try self.holder(of: hash) else { continue }
        // The entry that gave it the key names it.
        stale.add(
          other, isNews: try objects.hasNews(of: other),
          "Object \(other) holds a key that the push claims")
      }
    }
  }

  private func holder(of hash: Data) throws -> UInt64? {
    let statement = try connection.prepare("SELECT object FROM claim WHERE zone = ? AND hash = ?")
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    statement.bind(hash, at: 2)
    return try statement.step() ? UInt64(clamping: statement.int64(0)) : nil
  }

  // MARK: - Constraints

  private func rule(of constraint: ZoneConstraint) throws -> Int64 {
    let name = String(
      decoding: try JSONEncoder().encode([constraint.entity] + constraint.properties),
      as: UTF8.self)
    let select = try connection.prepare("SELECT id FROM key_rule WHERE name = ?")
    defer { select.reset() }
    select.bind(name, at: 1)
    if try select.step() { return select.int64(0) }
    let insert = try connection.prepare("INSERT INTO key_rule(name) VALUES(?)")
    defer { insert.reset() }
    insert.bind(name, at: 1)
    try insert.run()
    return connection.lastInsertRowID
  }

  private static func constraint(_ name: String) throws -> ZoneConstraint {
    guard let names = try? JSONDecoder().decode([String].self, from: Data(name.utf8)),
      let entity = names.first
    else {
      throw ServerError(
        .storage, "a constraint in the index is damaged",
        suggestion: "Check the database: sqlite3 driftless.sqlite 'PRAGMA integrity_check'.")
    }
    return ZoneConstraint(entity: entity, properties: Array(names.dropFirst()))
  }
}
