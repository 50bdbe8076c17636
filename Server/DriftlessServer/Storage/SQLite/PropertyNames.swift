import DriftlessSQLite

/// Small numbers for the names of properties, kept in the database and, for the writer, in memory.
///
/// Confined to the writer's thread. After a rollback the memory may know names that the database
/// forgot:
/// `forget` empties it.
final class PropertyNames {
  private var ids: [String: UInt64] = [:]
  private static let cachedMax = 100_000

  func forget() { ids.removeAll(keepingCapacity: true) }

  func id(of name: String, in connection: SQLiteConnection) throws -> UInt64 {
    if let id = ids[name] { return id }
    let select = try connection.prepare("SELECT id FROM property WHERE name = ?")
    defer { select.reset() }
    select.bind(name, at: 1)
    if try select.step() { return remember(name, select.int64(0)) }
    let insert = try connection.prepare("INSERT INTO property(name) VALUES(?)")
    defer { insert.reset() }
    insert.bind(name, at: 1)
    try insert.run()
    return remember(name, connection.lastInsertRowID)
  }

  private func remember(_ name: String, _ rowID: Int64) -> UInt64 {
    if ids.count >= Self.cachedMax { forget() }
    let id = UInt64(clamping: rowID)
    ids[name] = id
    return id
  }
}
