import Driftless
import DriftlessSQLite

/// References of the zone's log whose target is deleted: owns `ZDL_DANGLING`.
///
/// A reference to a deleted object reads as null, and comes back when an edit that wins brings the
/// object back. So what a replica shows depends on the log alone, not on when it heard of the
/// delete.
struct DanglingReferences {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .integer("state"), .natural("place", orNull: true),
  ]
  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_DANGLING(
      target_root INTEGER NOT NULL, target_key INTEGER NOT NULL, entity INTEGER NOT NULL,
      key INTEGER NOT NULL, property TEXT NOT NULL, state INTEGER NOT NULL, place INTEGER,
      PRIMARY KEY (target_root, target_key, entity, key,
      property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_DANGLING_SOURCE ON ZDL_DANGLING(entity, key, property)",
  ]

  /// Brings the table of an earlier version to this one.
  static func complete(on connection: SQLiteConnection) throws {
    guard try !EngineTables.has(column: "place", of: "ZDL_DANGLING", on: connection) else { return }
    try connection.execute("ALTER TABLE ZDL_DANGLING ADD COLUMN place INTEGER")
  }

  struct Source: Hashable {
    var key: ObjectKey
    var property: String
    /// When the pending edit was made whose reference it is; nil for the log's.
    var edit: HybridTime?

    init(key: ObjectKey, property: String) {
      self.key = key
      self.property = property
    }
  }

  /// Whose reference it is: the log's, in one of these states, or that of a pending edit, by its time
  /// in their place.
  private enum State: Int64 {
    /// The log's, since the target was deleted here or after.
    case news = 0
    /// As above, and the journal says so.
    case told = 1
  }

  private let connection: SQLiteConnection
  /// Whether there may be any: most stores never have one, and then nothing is asked.
  private var mayHaveAny: Bool

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    mayHaveAny = try Self.exist(on: connection)
  }

  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_DANGLING)") != 0
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_DANGLING")
  }

  /// - Parameters:
  ///   - root: the target's root entity.
  ///   - edit: when the pending edit was made whose reference it is; nil for the log's.
  mutating func add(
    _ source: Source, root: Int32, target: Int64, edit: HybridTime? = nil
  ) throws {
    mayHaveAny = true
    try connection.perform(
      """
      INSERT \(edit == nil ? "" : "OR REPLACE ")INTO ZDL_DANGLING
        (target_root, target_key, entity, key, property, state) VALUES (?, ?, ?, ?, ?, ?)
        \(edit == nil ? "ON CONFLICT DO NOTHING" : "")
      """,
      [
        .integer(Int64(root)), .integer(target), .integer(Int64(source.key.entity)),
        .integer(source.key.key), .text(source.property),
        edit.map { .unsigned($0.rawValue) } ?? .integer(State.news.rawValue),
      ])
  }

  /// Notes where a deleted element is in an ordered relationship, counted with those that are deleted.
  func note(place: Int, of element: ObjectKey, in source: Source) throws {
    try connection.perform(
      """
      UPDATE ZDL_DANGLING SET place = ?
      WHERE target_root = ? AND target_key = ? AND entity = ? AND key = ? AND property = ?
      """,
      [
        .integer(Int64(place)), .integer(Int64(element.entity)), .integer(element.key),
        .integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property),
      ])
  }

  /// The deleted elements of a to-many relationship with their places in the zone's sequence of it, ascending; one that was
  /// never given a place comes last.
  func places(in source: Source) throws -> [(place: Int, element: ObjectKey)] {
    guard mayHaveAny else { return [] }
    var places: [(place: Int, element: ObjectKey)] = []
    try connection.forEachRow(
      """
      SELECT place, target_root, target_key FROM ZDL_DANGLING
      WHERE entity = ? AND key = ? AND property = ?
      ORDER BY place IS NULL, place, target_root, target_key
      """,
      [.integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property)]
    ) {
      let element = $0.objectKey(1, 2)
      places.append(($0.isNull(0) ? .max : $0.count(0), element))
    }
    return places
  }

  /// Forgets what a property referred to: it has a new value.
  func removeAll(of source: Source) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_DANGLING WHERE entity = ? AND key = ? AND property = ?",
      [
        .integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property),
      ])
  }

  /// Forgets one element of a to-many relationship.
  func remove(_ source: Source, root: Int32, target: Int64) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      """
      DELETE FROM ZDL_DANGLING
      WHERE target_root = ? AND target_key = ? AND entity = ? AND key = ? AND property = ?
      """,
      [
        .integer(Int64(root)), .integer(target), .integer(Int64(source.key.entity)),
        .integer(source.key.key), .text(source.property),
      ])
  }

  /// What a pending edit refers to that is deleted; nil when there is no such.
  func target(of source: Source, editedAt time: HybridTime) throws -> ObjectKey? {
    guard mayHaveAny else { return nil }
    var target: ObjectKey?
    try connection.forEachRow(
      """
      SELECT target_root, target_key FROM ZDL_DANGLING
      WHERE entity = ? AND key = ? AND property = ? AND state = ?
      """,
      [
        .integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property),
        .unsigned(time.rawValue),
      ]
    ) { target = $0.objectKey(0, 1) }
    return target
  }

  /// The pending edits whose references are cut, with their transactions: what names them when their times are moved.
  func edits(
    _ pending: PendingSet, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> [(source: Source, transaction: Int64)] {
    guard mayHaveAny else { return [] }
    var sources: [Source] = []
    try connection.forEachRow(
      "SELECT entity, key, property, state FROM ZDL_DANGLING WHERE state NOT IN (?, ?)",
      [.integer(State.news.rawValue), .integer(State.told.rawValue)]
    ) { row in
      var source = Source(key: row.objectKey(0, 1), property: row.string(2))
      source.edit = HybridTime(rawValue: row.unsigned(3))
      sources.append(source)
    }
    return try sources.compactMap { source in
      let entity = schema.entity(numbered: source.key.entity)
      guard let slot = entity?.property(named: source.property)?.slot,
        let edit = pending[source.key]?.transaction(of: slot),
        try transaction.editTime(edit) == source.edit
      else { return nil }
      return (source, edit)
    }
  }

  /// A pending edit has another time from now on.
  func move(_ source: Source, to time: HybridTime) throws {
    guard let former = source.edit, former != time else { return }
    try connection.perform(
      """
      UPDATE ZDL_DANGLING SET state = ?
      WHERE entity = ? AND key = ? AND property = ? AND state = ?
      """,
      [
        .unsigned(time.rawValue), .integer(Int64(source.key.entity)), .integer(source.key.key),
        .text(source.property), .unsigned(former.rawValue),
      ])
  }

  /// The log has what an edit referred to.
  func acknowledge(_ source: Source) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "UPDATE ZDL_DANGLING SET state = ? WHERE entity = ? AND key = ? AND property = ?",
      [
        .integer(State.told.rawValue), .integer(Int64(source.key.entity)),
        .integer(source.key.key), .text(source.property),
      ])
  }

  /// Whether anything came to refer to a deleted object that the journal does not tell.
  func hasNews(root: Int32, target: Int64) throws -> Bool {
    guard mayHaveAny else { return false }
    return try connection.number(
      """
      SELECT EXISTS (SELECT 1 FROM ZDL_DANGLING
      WHERE target_root = ? AND target_key = ? AND state = ?)
      """, [.integer(Int64(root)), .integer(target), .integer(State.news.rawValue)]) != 0
  }

  /// The journal says of everything that refers to a deleted object that it is cut.
  func markTold(root: Int32, target: Int64) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "UPDATE ZDL_DANGLING SET state = ? WHERE target_root = ? AND target_key = ?",
      [.integer(State.told.rawValue), .integer(Int64(root)), .integer(target)])
  }

  /// What refers to a deleted object, and is not told by the journal.
  func sources(root: Int32, target: Int64) throws -> [Source] {
    try sources(root, target, where: "AND state = \(State.news.rawValue)")
  }

  /// Everything that refers to the object.
  func all(root: Int32, target: Int64) throws -> [Source] { try sources(root, target, where: "") }

  /// The objects, by root entity, that a property referred to and that were deleted since.
  func targets(of source: Source) throws -> [ObjectKey] {
    guard mayHaveAny else { return [] }
    var targets: [ObjectKey] = []
    try connection.forEachRow(
      """
      SELECT target_root, target_key FROM ZDL_DANGLING
      WHERE entity = ? AND key = ? AND property = ? ORDER BY target_root, target_key
      """,
      [.integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property)]
    ) {
      targets.append(
        $0.objectKey(0, 1))
    }
    return targets
  }

  /// The properties that referred to what is deleted since.
  func sources() throws -> Set<Source> {
    guard mayHaveAny else { return [] }
    var sources: Set<Source> = []
    try connection.forEachRow("SELECT DISTINCT entity, key, property FROM ZDL_DANGLING") {
      sources.insert(Source(key: $0.objectKey(0, 1), property: $0.string(2)))
    }
    return sources
  }

  private func sources(
    _ root: Int32, _ target: Int64, where condition: String
  ) throws -> [Source] {
    guard mayHaveAny else { return [] }
    var sources: [Source] = []
    try connection.forEachRow(
      """
      SELECT entity, key, property, state FROM ZDL_DANGLING
      WHERE target_root = ? AND target_key = ? \(condition) ORDER BY entity, key, property
      """, [.integer(Int64(root)), .integer(target)]
    ) { row in
      var source = Source(
        key: row.objectKey(0, 1),
        property: row.string(2))
      if State(rawValue: row.int64(3)) == nil {
        source.edit = HybridTime(rawValue: row.unsigned(3))
      }
      sources.append(source)
    }
    return sources
  }
}
