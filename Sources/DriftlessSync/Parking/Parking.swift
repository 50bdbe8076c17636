import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Entries of the log that were not taken in, whole or in part, and what later entries set of what
/// they say: owns `ZDL_PARKED` and `ZDL_STRUCK`.
///
/// The bytes are read only when an entry is tried again: when the model knows more names, when the
/// program reads more, or when a person asks for it.
enum Parking {
  enum Code: String {
    /// Parts name entities or properties that this model does not have.
    case unknownNames = "unknown-names"
    /// The bytes cannot be read by this program.
    case unreadable
    /// The bytes that the server has are not those that were pushed.
    case damaged
    /// The bytes are read, but what they say cannot be done here.
    case notApplicable = "not-applicable"
    /// Parts are about objects that a parked entry makes.
    case needsParked = "needs-parked"

    /// Nothing of the entry was applied.
    var isWhole: Bool { self == .unreadable || self == .damaged || self == .notApplicable }
  }

  /// What this program reads: an entry that an earlier one could not read is tried again. 2: sealed columns. 3: large values.
  static let level: Int64 = 3

  struct Entry {
    var sequence: UInt64
    var firstNumber: UInt64
    /// How many objects it makes; nil when that is not known.
    var newObjects: UInt64?
    var code: Code
    var reason: String
    var sender: UUID?
    var since: Date
    /// The format level of the program that tried it last; -1: a person asks for another try.
    var triedLevel: Int64
    var unknown: Set<ParkedName>
    var bytes: Int

    /// Whether it makes the object of this number, or may.
    func mayMake(_ number: UInt64) -> Bool {
      guard code.isWhole, number >= firstNumber else { return false }
      return newObjects.map { number &- firstNumber < $0 } ?? true
    }
  }

  /// An entry that was parked whole and is taken in, with the objects that it brings back.
  struct Taken {
    var entry: Entry
    var revived: Set<UInt64>
  }

  static func park(
    _ entry: PullPage.Entry, _ code: Code, _ unknown: Set<ParkedName> = [], reason: String,
    at time: Date, on connection: SQLiteConnection
  ) throws {
    let header = try? ChangeSetDecoder().decodeHeader(entry.frame)
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_PARKED VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .unsigned(entry.sequence), .unsigned(entry.firstObjectNumber),
        header.map { .integer(Int64($0.newObjectCount)) } ?? .null, .text(code.rawValue),
        .text(reason), header.map { .uuid($0.replica) } ?? .null,
        .real(time.timeIntervalSince1970), .integer(level),
        .text(text(unknown)), .blob(entry.frame),
      ])
  }

  /// What is parked, in the order of the log, without the bytes.
  static func entries(on connection: SQLiteConnection) throws -> [Entry] {
    var entries: [Entry] = []
    try connection.forEachRow(
      """
      SELECT sequence, first_number, new_objects, code, reason, sender, since, tried_level, unknown,
        length(frame) FROM ZDL_PARKED ORDER BY sequence
      """
    ) { row in
      guard let code = Code(rawValue: row.string(3)) else {
        throw SyncError.damaged("a parked entry")
      }
      entries.append(
        Entry(
          sequence: row.unsigned(0), firstNumber: row.unsigned(1),
          newObjects: row.isNull(2) ? nil : row.unsigned(2), code: code,
          reason: row.string(4), sender: row.isNull(5) ? nil : UUID(networkBytes: row.data(5)),
          since: Date(timeIntervalSince1970: row.double(6)), triedLevel: row.int64(7),
          unknown: Set(row.string(8).split(separator: "\n").map { ParkedName(text: String($0)) }),
          bytes: row.count(9)))
    }
    return entries
  }

  static func frame(of sequence: UInt64, on connection: SQLiteConnection) throws -> Data {
    var frame = Data()
    try connection.forEachRow(
      "SELECT frame FROM ZDL_PARKED WHERE sequence = ?", [.unsigned(sequence)]
    ) { frame = $0.data(0) }
    return frame
  }

  /// An entry is taken in, but for these names, and for what waits for other parked entries.
  static func settle(
    _ entry: Entry, _ unknown: Set<ParkedName>, waits: Bool = false,
    on connection: SQLiteConnection
  ) throws {
    guard !waits else {
      return try connection.perform(
        "UPDATE ZDL_PARKED SET unknown = ? WHERE sequence = ?",
        [.text(text(unknown)), .unsigned(entry.sequence)])
    }
    guard !unknown.isEmpty else { return try forget(entry.sequence, on: connection) }
    try connection.perform(
      "UPDATE ZDL_PARKED SET unknown = ?, code = ?, reason = ?, tried_level = ? WHERE sequence = ?",
      [
        .text(text(unknown)), .text(Code.unknownNames.rawValue),
        .text(ParkedName.reason(unknown)), .integer(level), .unsigned(entry.sequence),
      ])
  }

  static func forget(_ sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PARKED WHERE sequence = ?", [.unsigned(sequence)])
  }

  /// The log is another one above a place: neither its numbers nor its entries are those that were noted.
  static func forget(above sequence: UInt64, on connection: SQLiteConnection) throws {
    for table in ["ZDL_PARKED", "ZDL_STRUCK"] {
      try connection.perform("DELETE FROM \(table) WHERE sequence > ?", [.unsigned(sequence)])
    }
  }

  static func forgetAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PARKED")
    try forgetStruck(on: connection)
  }

  /// The server has the entry whole by now: it waits for its first try.
  static func replace(
    _ frame: Data, of sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED SET frame = ?, code = ?, tried_level = -1 WHERE sequence = ?",
      [.blob(frame), .text(Code.unreadable.rawValue), .unsigned(sequence)])
  }

  /// It was tried once more, in vain.
  static func note(
    _ reason: String, of sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED SET reason = ?, tried_level = ? WHERE sequence = ?",
      [.text(reason), .integer(level), .unsigned(sequence)])
  }

  /// Asks for another try at the next pull, which tries single values unasked.
  ///
  /// - Returns: how many entries and values that are.
  static func ask(_ sequence: UInt64?, on connection: SQLiteConnection) throws -> Int {
    try connection.perform(
      "UPDATE ZDL_PARKED SET tried_level = -1 WHERE sequence = ? OR ? IS NULL",
      [sequence.map { .unsigned($0) } ?? .null, sequence.map { .unsigned($0) } ?? .null])
    let entries = try Int(connection.changes) + FormerParking.ask(sequence, on: connection)
    return try entries + ParkedValues.count(of: sequence, on: connection)
  }

  /// The same of one entry alone.
  static func ask(entry sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED SET tried_level = -1 WHERE sequence = ?", [.unsigned(sequence)])
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    let entries = try connection.number("SELECT count(*) FROM ZDL_PARKED")
    return try Int(truncatingIfNeeded: entries) + FormerParking.count(on: connection)
      + ParkedValues.count(on: connection)
  }

  static func text(_ names: Set<ParkedName>) -> String {
    names.map(\.text).sorted().joined(separator: "\n")
  }

  // MARK: Struck

  /// What parked entries set, and later ones may set anew: everything, where one of them is parked
  /// whole, else the names that they are parked for.
  struct Watched {
    private var isAll = false
    private var names: Set<String> = []
    private var entities: Set<String> = []

    init(_ entries: [Entry]) {
      isAll = entries.contains { $0.code.isWhole }
      for entry in entries { add(entry.unknown) }
    }

    var isEmpty: Bool { !isAll && names.isEmpty }

    mutating func add(_ unknown: Set<ParkedName>) {
      for name in unknown {
        names.insert(name.name)
        entities.insert(String(name.name.prefix { $0 != "." }))
      }
    }

    /// Those of a group's properties that are watched; the empty name stands for the object's life, which is watched where
    /// something of its entity is. An update says nothing of that: of what is deleted in the log it is none.
    func properties(of entity: ChangeSetIndex.Entity, _ group: ChangeSetIndex.Group) -> [String] {
      let properties = group.properties.map { entity.properties[$0] }
      guard isAll || names.contains(entity.name) else {
        let watched = properties.filter { names.contains("\(entity.name).\($0)") }
        let saysLife = group.kind != .update && entities.contains(entity.name)
        return saysLife ? watched + [Parking.life] : watched
      }
      return group.kind == .update ? properties : properties + [Parking.life]
    }
  }

  /// Notes what an entry sets: it strikes that from parked entries before it.
  static func strike(
    _ watched: Watched, _ index: ChangeSetIndex, sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    guard !watched.isEmpty else { return }
    let newCount = index.newObjectCount
    for group in index.groups where group.kind != .insert {
      let properties = watched.properties(of: index.entities[group.entity], group)
      guard !properties.isEmpty else { continue }
      for object in group.objects where object >= newCount {
        let number = index.knownNumbers[object - newCount]
        for property in properties {
          try connection.perform(
            "INSERT OR REPLACE INTO ZDL_STRUCK VALUES (?, ?, ?)",
            [.unsigned(number), .text(property), .unsigned(sequence)])
        }
      }
    }
  }

  /// In place of a property: whether an object lives.
  static let life = ""

  /// What entries after one set of an object, its `life` among it.
  static func struck(
    _ number: UInt64, after sequence: UInt64, on connection: SQLiteConnection
  ) throws -> Set<String> {
    var names: Set<String> = []
    try connection.forEachRow(
      "SELECT property FROM ZDL_STRUCK WHERE number = ? AND sequence > ?",
      [.unsigned(number), .unsigned(sequence)]
    ) { names.insert($0.string(0)) }
    return names
  }

  /// Nothing is parked any more that could be struck.
  static func forgetStruck(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_STRUCK")
  }

  // MARK: Tables

  static func hasTable(on connection: SQLiteConnection) throws -> Bool {
    try EngineTables.has("ZDL_PARKED", on: connection)
  }

  static let codeRule = RowRule.text(
    "code",
    among: [Code.unknownNames, .unreadable, .damaged, .notApplicable, .needsParked]
      .map(\.rawValue))
  /// What each row keeps by itself. Where the objects of an entry begin, its sender says.
  static let rules: [RowRule] = [
    .place("sequence"), .integer("first_number"), .natural("new_objects", orNull: true),
    codeRule, .text("reason"), .identity("sender", orNull: true), .seconds("since"),
    .integer("tried_level", -1...Int64(Int32.max)), .text("unknown"), .bytes("frame"),
  ]
  /// The same for what later entries set.
  static let struckRules: [RowRule] = [
    .place("number"), .text("property"), .place("sequence"),
  ]
  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, new_objects INTEGER,
      code TEXT NOT NULL, reason TEXT NOT NULL, sender BLOB, since REAL NOT NULL,
      tried_level INTEGER NOT NULL, unknown TEXT NOT NULL,
      frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """,
    """
    CREATE TABLE IF NOT EXISTS ZDL_STRUCK(
      number INTEGER NOT NULL, property TEXT NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY (number, property)\(RowRule.constraints(struckRules))) WITHOUT ROWID
    """,
  ]
}
