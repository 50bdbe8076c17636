import Driftless
import DriftlessSQLite
import Foundation

/// What the zone says of objects that are pending here, kept beside them until the pull has reached
/// its head (`ZDL_ZONE`).
///
/// A later entry of the log replaces what an earlier one said, so that a conflict is settled once,
/// against what the zone says in the end, wherever pages and pulls were cut.
struct ZoneStates {
  /// What the log did last to the object as a whole.
  enum Life: Int64 {
    /// Another replica inserted an object of this identity.
    case inserted = 1
    case revived = 2
    case dead = 3
    /// Dead, and set aside by the mass-delete brake until a person allows it.
    case braked = 4
    /// Deleted before the zone, which was put back, heard of it.
    case buried = 5
    /// As `buried`, and set aside by the brake.
    case buriedBraked = 6

    var isBraked: Bool { self == .braked || self == .buriedBraked }
  }

  struct Mark {
    var life: Life
    var side: RemoteSide
    /// Of an insert: it is the very object whose insert the zone had lost, and is offered here. Of a tombstone: it is about
    /// the very object whose insert is pending here.
    var isOneAgain = false
    /// Of a delete: the snapshot that said it is all that is left of a purged log, so what was changed of the object before
    /// nobody can tell.
    var isUntold = false
    /// Of a delete: what it took here beside the object, as whoever made it had it.
    var cuts: [DeleteCuts.Cut] = []

    var isBuried: Bool { life == .buried || life == .buriedBraked }
    var isDead: Bool { life == .dead || life == .braked || isBuried }
  }

  /// One property as the zone has it.
  struct Value {
    /// The value; null for a set.
    var side: RemoteSide
    /// The zone's whole set, of a many-to-many relationship.
    var elements: [ObjectKey] = []
    /// Of a set: elements that were put in by name since, and when.
    var told: [ObjectKey: HybridTime] = [:]
    /// Of a set: elements that were taken out by name since, and when.
    var taken: [ObjectKey: HybridTime] = [:]
    /// An insert said it, so it may be nobody's edit.
    var isFromInsert = false
    /// It was said before the delete that is pending here, and is no edit against it.
    var isKnown = false
    /// Of a counter or a set that is offered here: the time of the latest one that the zone was offered. Of another value: its own
    /// time, where it is no edit but what is offered.
    var offered: HybridTime?
    /// Of a counter: what was counted beside offers.
    var counted = PropertyValue.null
    /// Of a counter: a part of `counted` is in what is offered here, and nobody can tell how much.
    var isCountedInPart = false
    /// Of a set: what it would be without what was changed beside offers.
    var offeredElements: [ObjectKey] = []
    /// Of a set: the snapshot that said it is all that is left of a purged log, so whether an element was put in again since it
    /// was taken out here nobody can tell.
    var isUntold = false

    /// What of it is in the row of it.
    fileprivate struct Kind: OptionSet {
      let rawValue: Int64
      static let fromInsert = Kind(rawValue: 1)
      static let offered = Kind(rawValue: 2)
      static let known = Kind(rawValue: 4)
      static let countedInPart = Kind(rawValue: 8)
      static let told = Kind(rawValue: 16)
      static let untold = Kind(rawValue: 32)
      /// All of them together.
      static let most: Int64 = 63
    }

    /// What it refers to.
    var targets: [ObjectKey] {
      guard case .reference(let target) = side.value else { return elements }
      return elements + [target]
    }
  }

  struct Object {
    var mark: Mark?
    var values: [String: Value] = [:]
  }

  private static let columns = "property, kind, value, time, origin, sequence"
  private let connection: SQLiteConnection
  /// The objects that have rows: few, and none as a rule.
  private(set) var keys: Set<ObjectKey> = []

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    var keys: Set<ObjectKey> = []
    try connection.forEachRow("SELECT DISTINCT entity, key FROM ZDL_ZONE") { row in
      keys.insert(
        row.objectKey(0, 1))
    }
    self.keys = keys
  }

  /// Objects whose deletes are set aside by the mass-delete brake.
  static func braked(on connection: SQLiteConnection) throws -> Set<ObjectKey> {
    try marked(.braked, .buriedBraked, on: connection)
  }

  /// Objects that the zone has deleted, and whose deletes wait for the head of the log.
  static func deferred(on connection: SQLiteConnection) throws -> Set<ObjectKey> {
    try marked(.dead, .buried, on: connection)
  }

  /// Objects whose mark is one of two.
  private static func marked(
    _ life: Life, _ other: Life, on connection: SQLiteConnection
  ) throws -> Set<ObjectKey> {
    var keys: Set<ObjectKey> = []
    guard try EngineTables.has("ZDL_ZONE", on: connection) else { return [] }
    try connection.forEachRow(
      "SELECT entity, key FROM ZDL_ZONE WHERE property = '' AND kind IN (?, ?)",
      [.integer(life.rawValue), .integer(other.rawValue)]
    ) { row in
      keys.insert(
        row.objectKey(0, 1))
    }
    return keys
  }

  /// The deletes that are set aside by the mass-delete brake: of which object, who made each, and when.
  static func brakedDeletes(
    on connection: SQLiteConnection
  ) throws -> [(key: ObjectKey, side: RemoteSide)] {
    var deletes: [(key: ObjectKey, side: RemoteSide)] = []
    guard try EngineTables.has("ZDL_ZONE", on: connection) else { return [] }
    try connection.forEachRow(
      """
      SELECT entity, key, time, origin, sequence FROM ZDL_ZONE
      WHERE property = '' AND kind IN (?, ?)
      """,
      [.integer(Life.braked.rawValue), .integer(Life.buriedBraked.rawValue)]
    ) { row in
      guard let origin = UUID(networkBytes: row.data(3)) else {
        throw SyncError.damaged("who deleted what is set aside")
      }
      deletes.append(
        (
          row.objectKey(0, 1),
          RemoteSide(
            value: .null, time: HybridTime(rawValue: row.unsigned(2)), origin: origin,
            sequence: row.unsigned(4))
        ))
    }
    return deletes
  }

  func contains(_ key: ObjectKey) -> Bool { !keys.isEmpty && keys.contains(key) }

  func object(_ key: ObjectKey) throws -> Object {
    var object = Object()
    guard contains(key) else { return object }
    try connection.forEachRow(
      "SELECT \(Self.columns) FROM ZDL_ZONE WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)]
    ) { row in
      guard let origin = UUID(networkBytes: row.data(4)) else {
        throw SyncError.damaged("what the zone says of a pending object")
      }
      var side = RemoteSide(
        value: .null, time: HybridTime(rawValue: row.unsigned(3)), origin: origin,
        sequence: row.unsigned(5))
      let name = row.string(0)
      if name.isEmpty {
        let (notes, cuts) = try Self.notes(RowArchive.decodeValues(row.data(2))) ?? ([], [])
        object.mark = Life(rawValue: row.int64(1)).map {
          Mark(
            life: $0, side: side, isOneAgain: notes.contains(.oneAgain),
            isUntold: notes.contains(.untold), cuts: cuts)
        }
        return
      }
      var values = try RowArchive.decodeValues(row.data(2))
      if let first = values.first { side.value = first }
      values = Array(values.dropFirst())
      let kind = Value.Kind(rawValue: row.int64(1))
      var value = Value(side: side, isFromInsert: kind.contains(.fromInsert))
      value.isKnown = kind.contains(.known)
      value.isCountedInPart = kind.contains(.countedInPart)
      value.isUntold = kind.contains(.untold)
      if kind.contains(.told), case .integer(let pairs)? = values.first {
        let end = min(values.count, 1 + 2 * max(0, Int(clamping: min(pairs, 1 << 32))))
        for place in stride(from: 1, to: end - 1, by: 2) {
          guard case .reference(let element) = values[place],
            case .integer(let time) = values[place + 1]
          else { continue }
          // That of a removal is below zero.
          if time < 0 {
            value.taken[element] = HybridTime(rawValue: time.magnitude)
          } else {
            value.told[element] = HybridTime(rawValue: UInt64(time))
          }
        }
        values = Array(values.dropFirst(end))
      }
      var count = values.count
      if kind.contains(.offered), values.count > 2, case .integer(let time) = values[0],
        case .integer(let elements) = values[2]
      {
        value.offered = HybridTime(rawValue: UInt64(bitPattern: time))
        value.counted = values[1]
        count = max(0, Int(clamping: elements))
        values = Array(values.dropFirst(3))
      }
      let keys: [ObjectKey] = values.compactMap {
        if case .reference(let key) = $0 { key } else { nil }
      }
      value.elements = Array(keys.prefix(count))
      value.offeredElements = Array(keys.dropFirst(count))
      object.values[name] = value
    }
    return object
  }

  mutating func set(
    _ life: Life, of key: ObjectKey, _ side: RemoteSide, isOneAgain: Bool = false,
    isUntold: Bool = false, cuts: [DeleteCuts.Cut] = []
  ) throws {
    var mark = Mark(life: life, side: side, isOneAgain: isOneAgain, isUntold: isUntold, cuts: cuts)
    let former = try object(key).mark
    // What was not told before stays untold, whatever is told since.
    if former?.isUntold == true { mark.isUntold = true }
    // It was dead before, and is told to be so once more.
    if mark.isDead, cuts.isEmpty, let former, former.isDead { mark.cuts = former.cuts }
    var notes: Notes = mark.isOneAgain ? .oneAgain : []
    if mark.isUntold { notes.insert(.untold) }
    let values: [PropertyValue] =
      notes.isEmpty && mark.cuts.isEmpty
      ? [] : [.integer(notes.rawValue)] + mark.cuts.flatMap(\.values)
    try write(key, "", kind: life.rawValue, values: values, side)
  }

  /// What is kept beside a mark.
  private struct Notes: OptionSet {
    let rawValue: Int64
    static let oneAgain = Notes(rawValue: 1)
    static let untold = Notes(rawValue: 2)
    static let all: Notes = [.oneAgain, .untold]
  }

  /// - Returns: nil where the values are none that are kept beside a mark.
  private static func notes(
    _ values: [PropertyValue]
  ) -> (notes: Notes, cuts: [DeleteCuts.Cut])? {
    guard let first = values.first else { return ([], []) }
    guard case .integer(let notes) = first, notes >= 0, notes > 0 || values.count > 1,
      Notes.all.isSuperset(of: Notes(rawValue: notes)),
      let cuts = DeleteCuts.cuts(values.dropFirst())
    else { return nil }
    return (Notes(rawValue: notes), cuts)
  }

  /// Whether a mark may have such values beside it.
  static func isMark(_ values: [PropertyValue]) -> Bool { notes(values) != nil }

  mutating func set(_ value: Value, of key: ObjectKey, _ property: String) throws {
    var kind: Value.Kind = value.isFromInsert ? .fromInsert : []
    if value.isKnown { kind.insert(.known) }
    if value.isCountedInPart { kind.insert(.countedInPart) }
    if value.isUntold { kind.insert(.untold) }
    var values = [value.side.value]
    if !value.told.isEmpty || !value.taken.isEmpty {
      kind.insert(.told)
      values.append(.integer(Int64(value.told.count + value.taken.count)))
      let named =
        value.told.map { ($0, Int64(clamping: $1.rawValue)) }
        + value.taken.map { ($0, -Int64(clamping: $1.rawValue)) }
      for (element, time) in named.sorted(by: { $0.0.key < $1.0.key }) {
        values += [.reference(element), .integer(time)]
      }
    }
    if let offered = value.offered {
      kind.insert(.offered)
      values += [
        .integer(Int64(bitPattern: offered.rawValue)), value.counted,
        .integer(Int64(value.elements.count)),
      ]
    }
    values += (value.elements + value.offeredElements).map { .reference($0) }
    try write(key, property, kind: kind.rawValue, values: values, value.side)
  }

  private mutating func write(
    _ key: ObjectKey, _ property: String, kind: Int64, values: [PropertyValue], _ side: RemoteSide
  ) throws {
    keys.insert(key)
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_ZONE VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(Int64(key.entity)), .integer(key.key), .text(property), .integer(kind),
        .blob(RowArchive.encode(values)), .unsigned(side.time.rawValue), .uuid(side.origin),
        .unsigned(side.sequence),
      ])
  }

  mutating func remove(_ key: ObjectKey) throws {
    guard keys.remove(key) != nil else { return }
    try connection.perform(
      "DELETE FROM ZDL_ZONE WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)])
  }

  /// The log above a place is another one.
  static func remove(above sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_ZONE WHERE sequence > ?", [.unsigned(sequence)])
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_ZONE")
  }

  /// What the log did to the object as a whole is as if it had not been; what it says of properties stays.
  mutating func removeMark(_ key: ObjectKey) throws {
    guard contains(key) else { return }
    try connection.perform(
      "DELETE FROM ZDL_ZONE WHERE entity = ? AND key = ? AND property = ''",
      [.integer(Int64(key.entity)), .integer(key.key)])
    if try object(key).values.isEmpty { keys.remove(key) }
  }

  /// The zone's value of a property is the one on which the pending edit was made.
  mutating func removeValue(of key: ObjectKey, _ property: String) throws {
    guard contains(key) else { return }
    try connection.perform(
      "DELETE FROM ZDL_ZONE WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)])
    let rest = try object(key)
    if rest.mark == nil, rest.values.isEmpty { keys.remove(key) }
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("value"),
    RowRule(
      """
      typeof(kind) = 'integer' AND CASE property WHEN '' THEN kind BETWEEN
      \(Life.inserted.rawValue) AND \(Life.buriedBraked.rawValue)
      ELSE kind BETWEEN 0 AND \(Value.Kind.most) END
      """, "its kind is unknown", declared: "typeof(kind) = 'integer'"),
    .integer("time"), .identity("origin"), .natural("sequence"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_ZONE(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      kind INTEGER NOT NULL, value BLOB NOT NULL, time INTEGER NOT NULL, origin BLOB NOT NULL,
      sequence INTEGER NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """
}

extension RemoteSide {
  /// Whether an edit made here is the later one: by time, then by replica.
  func isEarlier(than local: HybridTime, of replica: UUID) -> Bool {
    guard time == local else { return time < local }
    return origin.precedes(replica)
  }
}
