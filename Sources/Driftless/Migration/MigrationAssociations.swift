import DriftlessSQLite

/// What became of which object in a migration.
///
/// Of objects that are saved, the pairs of keys lie in a database of SQLite's on the disk, which has no name and goes with
/// the process: their number costs no memory. Of those that are not saved yet, the objects are here.
final class MigrationAssociations {
  /// An object of the destination.
  enum Place {
    case saved(ObjectKey)
    case unsaved(ManagedObject)
  }

  private struct Pair {
    let mapping: Int64
    let source: ObjectKey
    let destination: ManagedObject
  }

  private let connection: SQLiteConnection
  /// By name.
  private var mappings: [String: Int64] = [:]
  private var unsaved: [Pair] = []
  private var unsavedBySource: [ObjectKey: [Int]] = [:]
  private var unsavedByDestination: [ManagedObject: [Int]] = [:]

  init() throws {
    // An empty path: a file without a name.
    connection = try SQLiteConnection(path: "", mode: .readWriteCreate)
    try connection.execute(
      """
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
      CREATE TABLE pair (number INTEGER PRIMARY KEY, mapping INTEGER, source_entity INTEGER,
      source INTEGER, entity INTEGER, key INTEGER);
      CREATE INDEX pair_mapping ON pair (mapping);
      CREATE INDEX pair_source ON pair (source, source_entity);
      CREATE INDEX pair_key ON pair (key, entity)
      """)
  }

  func add(mapping name: String, source: ObjectKey, destination: ManagedObject) {
    let pair = Pair(mapping: mapping(name), source: source, destination: destination)
    unsavedBySource[source, default: []].append(unsaved.count)
    unsavedByDestination[destination, default: []].append(unsaved.count)
    unsaved.append(pair)
  }

  private func mapping(_ name: String) -> Int64 {
    if let number = mappings[name] { return number }
    let number = Int64(mappings.count)
    mappings[name] = number
    return number
  }

  // MARK: Looking up

  /// What became of an object by a mapping, or by any: in the order of becoming.
  func destinations(of source: ObjectKey, mapping name: String? = nil) throws -> [Place] {
    let wanted = name.map(mapping)
    let statement = try connection.prepare(
      "SELECT entity, key, mapping FROM pair WHERE source = ? AND source_entity = ? ORDER BY number"
    )
    statement.bind(source.key, at: 1)
    statement.bind(Int64(source.entity), at: 2)
    defer { statement.reset() }
    var places: [Place] = []
    while try statement.step() {
      guard wanted == nil || wanted == statement.int64(2) else { continue }
      places.append(
        .saved(
          statement.objectKey(0, 1)))
    }
    for index in unsavedBySource[source] ?? []
    where wanted == nil || wanted == unsaved[index].mapping {
      places.append(.unsaved(unsaved[index].destination))
    }
    return places
  }

  /// What an object was before a mapping.
  func sources(of destination: ManagedObject, mapping name: String) throws -> [ObjectKey] {
    let wanted = mapping(name)
    var keys: [ObjectKey] = []
    let key = destination.objectKey
    if key.key > 0 {
      let statement = try connection.prepare(
        "SELECT source_entity, source, mapping FROM pair WHERE key = ? AND entity = ? ORDER BY number"
      )
      statement.bind(key.key, at: 1)
      statement.bind(Int64(key.entity), at: 2)
      defer { statement.reset() }
      while try statement.step() {
        guard statement.int64(2) == wanted else { continue }
        keys.append(
          statement.objectKey(0, 1))
      }
    }
    for index in unsavedByDestination[destination] ?? [] where unsaved[index].mapping == wanted {
      keys.append(unsaved[index].source)
    }
    return keys
  }

  /// What a mapping made and saved, in its order.
  ///
  /// - Parameter number: of the last that is known; it becomes that of the last which is answered.
  func saved(by name: String, after number: inout Int64, limit: Int) throws -> [ObjectKey] {
    let statement = try connection.prepare(
      "SELECT number, entity, key FROM pair WHERE mapping = ? AND number > ? ORDER BY number LIMIT ?"
    )
    statement.bind(mapping(name), at: 1)
    statement.bind(number, at: 2)
    statement.bind(Int64(limit), at: 3)
    defer { statement.reset() }
    var keys: [ObjectKey] = []
    while try statement.step() {
      number = statement.int64(0)
      keys.append(
        statement.objectKey(1, 2))
    }
    return keys
  }

  /// What a mapping made and nobody saved yet, in its order.
  func unsaved(by name: String) -> [ManagedObject] {
    let wanted = mapping(name)
    return unsaved.filter { $0.mapping == wanted }.map(\.destination)
  }

  // MARK: Saving

  /// The objects were saved, and are known by their keys from now on. What was deleted before is known no more.
  func didSave() throws {
    let statement = try connection.prepare(
      """
      INSERT INTO pair (mapping, source_entity, source, entity, key) VALUES (?, ?, ?, ?, ?)
      """)
    try connection.transaction(.deferred) {
      for pair in unsaved where pair.destination.managedObjectContext != nil {
        let key = pair.destination.objectKey
        statement.bind(pair.mapping, at: 1)
        statement.bind(Int64(pair.source.entity), at: 2)
        statement.bind(pair.source.key, at: 3)
        statement.bind(Int64(key.entity), at: 4)
        statement.bind(key.key, at: 5)
        try statement.run()
      }
    }
    unsaved = []
    unsavedBySource = [:]
    unsavedByDestination = [:]
  }
}
