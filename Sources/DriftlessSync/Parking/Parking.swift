import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Entries of the log that were not taken in, whole or in part (`ZDL_PARKED`), and what later
/// entries set of what they say (`ZDL_STRUCK`).
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

  /// What this program reads: an entry that an earlier one could not read is tried again.
  static let level = Int64(ChangeSetHeader.formatLevel)

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
    /// Names of entities ("Entity") and properties ("Entity.property").
    var unknown: Set<String>
    var bytes: Int

    /// Whether it makes the object of this number, or may.
    func mayMake(_ number: UInt64) -> Bool {
      guard code.isWhole, number >= firstNumber else { return false }
      return newObjects.map { number &- firstNumber < $0 } ?? true
    }
  }

  static func park(
    _ entry: PullPage.Entry, _ code: Code, _ unknown: Set<String> = [], reason: String,
    on connection: SQLiteConnection
  ) throws {
    let header = try? ChangeSetDecoder().decodeHeader(entry.frame)
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_PARKED VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .unsigned(entry.sequence), .unsigned(entry.firstObjectNumber),
        header.map { .integer(Int64($0.newObjectCount)) } ?? .null, .text(code.rawValue),
        .text(reason), header.map { .uuid($0.replica) } ?? .null,
        .real(Date().timeIntervalSince1970), .integer(level),
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
          sequence: UInt64(bitPattern: row.int64(0)), firstNumber: UInt64(bitPattern: row.int64(1)),
          newObjects: row.isNull(2) ? nil : UInt64(bitPattern: row.int64(2)), code: code,
          reason: row.string(4), sender: row.isNull(5) ? nil : UUID(networkBytes: row.data(5)),
          since: Date(timeIntervalSince1970: row.double(6)), triedLevel: row.int64(7),
          unknown: Set(row.string(8).split(separator: "\n").map(String.init)),
          bytes: Int(truncatingIfNeeded: row.int64(9))))
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

  /// Entries of which nothing was applied.
  static func whole(on connection: SQLiteConnection) throws -> [Entry] {
    guard
      try connection.number(
        "SELECT EXISTS (SELECT 1 FROM ZDL_PARKED WHERE code IN (?, ?, ?))",
        [
          .text(Code.unreadable.rawValue), .text(Code.damaged.rawValue),
          .text(Code.notApplicable.rawValue),
        ]) != 0
    else { return [] }
    return try entries(on: connection).filter(\.code.isWhole)
  }

  /// Names that are known by now are parked no more.
  static func forget(
    _ names: Set<String>, of entry: Entry, on connection: SQLiteConnection
  ) throws {
    let rest = entry.unknown.subtracting(names)
    if rest.isEmpty {
      try forget(entry.sequence, on: connection)
    } else {
      try connection.perform(
        "UPDATE ZDL_PARKED SET unknown = ?, code = ? WHERE sequence = ?",
        [.text(text(rest)), .text(Code.unknownNames.rawValue), .unsigned(entry.sequence)])
    }
  }

  /// An entry that was parked whole is taken in, but for names that the model does not have.
  static func settle(
    _ entry: Entry, _ unknown: Set<String>, on connection: SQLiteConnection
  ) throws {
    var entry = entry
    entry.unknown = unknown
    try forget([], of: entry, on: connection)
  }

  static func forget(_ sequence: UInt64, on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PARKED WHERE sequence = ?", [.unsigned(sequence)])
  }

  /// The server has the entry whole by now.
  static func replace(
    _ frame: Data, of sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED SET frame = ?, code = ? WHERE sequence = ?",
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

  /// Asks for another try at the next pull.
  ///
  /// - Returns: how many entries that are.
  static func ask(_ sequence: UInt64?, on connection: SQLiteConnection) throws -> Int {
    try connection.perform(
      "UPDATE ZDL_PARKED SET tried_level = -1 WHERE sequence = ? OR ? IS NULL",
      [sequence.map { .unsigned($0) } ?? .null, sequence.map { .unsigned($0) } ?? .null])
    return Int(connection.changes)
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    let entries = try connection.number("SELECT count(*) FROM ZDL_PARKED")
    return try Int(truncatingIfNeeded: entries) + ParkedValues.count(on: connection)
  }

  private static func text(_ names: Set<String>) -> String {
    names.sorted().joined(separator: "\n")
  }

  // MARK: Struck

  /// Notes what an entry sets: it strikes that from whole entries before it.
  static func strike(
    _ index: ChangeSetIndex, sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    let newCount = index.newObjectCount
    for group in index.groups where group.kind != .insert {
      let names = index.entities[group.entity].properties
      for object in group.objects where object >= newCount {
        let number = index.knownNumbers[object - newCount]
        for property in group.properties.map({ names[$0] }) + [""] {
          try connection.perform(
            "INSERT OR REPLACE INTO ZDL_STRUCK VALUES (?, ?, ?)",
            [.unsigned(number), .text(property), .unsigned(sequence)])
        }
      }
    }
  }

  /// What entries after one set of an object; the empty name stands for the object itself.
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

  static let entryStatement = """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED(
      sequence INTEGER PRIMARY KEY, first_number INTEGER NOT NULL, new_objects INTEGER,
      code TEXT NOT NULL, reason TEXT NOT NULL, sender BLOB, since REAL NOT NULL,
      tried_level INTEGER NOT NULL, unknown TEXT NOT NULL, frame BLOB NOT NULL)
    """
  static let struckStatement = """
    CREATE TABLE IF NOT EXISTS ZDL_STRUCK(
      number INTEGER NOT NULL, property TEXT NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY (number, property)) WITHOUT ROWID
    """
}
