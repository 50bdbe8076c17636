import DriftlessSQLite

/// Owns the tables `property` and `zone_property`: small numbers for the names of properties, and which zone has which, kept in the
/// database and, for the writer, in memory.
///
/// Confined to the writer's thread. After a rollback the memory may know names that the database
/// forgot:
/// `forget` empties it.
final class PropertyNames {
  /// Programs of before know nothing of it: names that they took count from the next time that somebody sets such a property.
  static let statement = """
    CREATE TABLE IF NOT EXISTS zone_property(
      zone INTEGER NOT NULL, property INTEGER NOT NULL, PRIMARY KEY(zone, property)) WITHOUT ROWID
    """

  private struct Key: Hashable {
    let zone: Int64
    let name: String
  }

  private var ids: [Key: UInt64] = [:]
  /// How many names zones have.
  private var counts: [Int64: Int] = [:]
  private static let cachedMax = 100_000

  func forget() {
    ids.removeAll(keepingCapacity: true)
    counts.removeAll(keepingCapacity: true)
  }

  /// - Parameter most: how many names the zone may have.
  /// - Throws: `ServerError` (`.zoneFull`) where this would be one more.
  func id(
    of name: String, zone: Int64, most: Int = .max, in connection: SQLiteConnection
  ) throws -> UInt64 {
    let key = Key(zone: zone, name: name)
    if let id = ids[key] { return id }
    let (known, isOfZone) = try look(key, connection)
    if let known, isOfZone { return remember(key, known) }
    let count = try counts[zone] ?? count(of: zone, connection)
    guard count < most else { throw ServerError.tooManyNames(most) }
    let id = try known ?? add(name, connection)
    try connection.run(
      "INSERT INTO zone_property VALUES(?, ?)", .integer(zone), .integer(id))
    counts[zone] = count + 1
    return remember(key, id)
  }

  private func look(
    _ key: Key, _ connection: SQLiteConnection
  ) throws -> (id: Int64?, isOfZone: Bool) {
    let select = try connection.prepare(
      """
      SELECT id, EXISTS(SELECT 1 FROM zone_property WHERE zone = ? AND property = id)
      FROM property WHERE name = ?
      """)
    defer { select.reset() }
    select.bind(key.zone, at: 1)
    select.bind(key.name, at: 2)
    return try select.step() ? (select.int64(0), select.int64(1) != 0) : (nil, false)
  }

  private func count(of zone: Int64, _ connection: SQLiteConnection) throws -> Int {
    let count = try connection.scalar(
      "SELECT count(*) FROM zone_property WHERE zone = ?", .integer(zone))
    guard case .integer(let count)? = count else { return 0 }
    return Int(clamping: count)
  }

  private func add(_ name: String, _ connection: SQLiteConnection) throws -> Int64 {
    let insert = try connection.prepare("INSERT INTO property(name) VALUES(?)")
    defer { insert.reset() }
    insert.bind(name, at: 1)
    try insert.run()
    return connection.lastInsertRowID
  }

  private func remember(_ key: Key, _ rowID: Int64) -> UInt64 {
    if ids.count >= Self.cachedMax { forget() }
    let id = UInt64(clamping: rowID)
    ids[key] = id
    return id
  }
}
