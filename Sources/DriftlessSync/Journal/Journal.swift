import Driftless
import DriftlessSQLite
import Foundation

/// Owns `ZDL_JOURNAL`: every settled conflict.
enum Journal {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("number", 1...Int64.max), .identity("object"), .text("entity"),
    .text("property", orNull: true), .text("policy"), .text("base", orNull: true),
    .text("local", orNull: true), .text("remote", orNull: true), .text("kept", orNull: true),
    .text(
      "outcome", among: [JournalEntry.Outcome.local, .remote, .combined].map(\.rawValue)),
    .identity("origin"), .integer("local_time"), .integer("remote_time"),
    .natural("transaction_number"), .natural("sequence"), .text("explanation"),
    .bytes("local_value", orNull: true), .bytes("remote_value", orNull: true),
    .bytes("row", orNull: true),
    .text(
      "decision", orNull: true, among: [JournalEntry.Side.local, .remote].map(\.rawValue)),
    .seconds("decided_at", orNull: true),
  ]
  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_JOURNAL(
      number INTEGER PRIMARY KEY AUTOINCREMENT, object BLOB NOT NULL, entity TEXT NOT NULL,
      property TEXT, policy TEXT NOT NULL, base TEXT, local TEXT, remote TEXT, kept TEXT,
      outcome TEXT NOT NULL, origin BLOB NOT NULL, local_time INTEGER NOT NULL,
      remote_time INTEGER NOT NULL, transaction_number INTEGER NOT NULL,
      sequence INTEGER NOT NULL, explanation TEXT NOT NULL, local_value BLOB,
      remote_value BLOB, row BLOB, decision TEXT,
      decided_at REAL\(RowRule.constraints(rules)))
    """,
    "CREATE INDEX IF NOT EXISTS ZDL_JOURNAL_OBJECT ON ZDL_JOURNAL(object, property)",
  ]

  /// Brings the table of an earlier version to this one.
  static func complete(on connection: SQLiteConnection) throws {
    guard try !EngineTables.has(column: "decision", of: "ZDL_JOURNAL", on: connection) else {
      return
    }
    for column in [
      "local_value BLOB", "remote_value BLOB", "row BLOB", "decision TEXT", "decided_at REAL",
    ] {
      try connection.execute("ALTER TABLE ZDL_JOURNAL ADD COLUMN \(column)")
    }
  }

  /// What it takes to put a value back: the values themselves beside their texts.
  struct Values {
    var local: PropertyValue?
    var remote: PropertyValue?
    /// The whole row, when the conflict left the object deleted, or the zone deleted it while the conflict waited. Entries that
    /// one import makes of one object follow each other, and the first keeps it for all.
    var row: [PropertyValue]?
  }

  static func append(
    _ entries: [(JournalEntry, Values)], on connection: SQLiteConnection
  ) throws {
    for (entry, values) in entries {
      try connection.perform(
        """
        INSERT INTO ZDL_JOURNAL(object, entity, property, policy, base, local, remote, kept,
          outcome, origin, local_time, remote_time, transaction_number, sequence, explanation,
          local_value, remote_value, row)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .uuid(entry.object), .text(entry.entity), .optional(entry.property), .text(entry.policy),
          .optional(entry.base), .optional(entry.local), .optional(entry.remote),
          .optional(entry.kept), .text(entry.outcome.rawValue), .uuid(entry.origin),
          .unsigned(entry.localTime.rawValue), .unsigned(entry.remoteTime.rawValue),
          .integer(entry.transaction), .unsigned(entry.sequence), .text(entry.explanation),
          archive(values.local.map { [$0] }), archive(values.remote.map { [$0] }),
          archive(values.row),
        ])
      if let side = entry.decision, let time = entry.decidedAt {
        try decide(
          try connection.number("SELECT last_insert_rowid()"), side, at: time, on: connection)
      }
    }
  }

  private static func archive(_ values: [PropertyValue]?) -> SQLiteValue {
    values.map { .blob(RowArchive.encode($0)) } ?? .null
  }

  /// One entry with what it takes to put a value back.
  static func entry(
    _ number: Int64, on connection: SQLiteConnection
  ) throws -> (entry: JournalEntry, values: Values)? {
    guard
      let entry = try read("WHERE number = ?", [.integer(number)], on: connection).first
    else { return nil }
    var values = Values()
    try connection.forEachRow(
      """
      SELECT local_value, remote_value, coalesce(row,
        (SELECT former.row FROM ZDL_JOURNAL former
         WHERE former.object = entry.object AND former.number < entry.number
         AND former.transaction_number = entry.transaction_number AND former.row IS NOT NULL
         ORDER BY former.number DESC LIMIT 1))
      FROM ZDL_JOURNAL entry WHERE number = ?
      """, [.integer(number)]
    ) { row in
      func value(_ column: Int32) throws -> PropertyValue? {
        row.isNull(column) ? nil : try RowArchive.decodeValues(row.data(column)).first
      }
      values = Values(
        local: try value(0), remote: try value(1),
        row: row.isNull(2) ? nil : try RowArchive.decodeValues(row.data(2)))
    }
    return (entry, values)
  }

  /// The entries of what went with an object, in one transaction: they follow each other.
  struct Drop {
    fileprivate let transaction: Int64
    /// They have the numbers between these.
    fileprivate let after, before: Int64
  }

  /// - Parameter entry: one of an object that went.
  /// - Returns: nil for a conflict that waits for a person: it keeps the object as it went later, whenever that was.
  static func drop(of entry: JournalEntry, on connection: SQLiteConnection) throws -> Drop? {
    if entry.policy == ConflictPolicy.manual.text, entry.property != nil { return nil }
    let (object, transaction) = (SQLiteValue.uuid(entry.object), entry.transaction)
    let kept = try connection.number(
      """
      SELECT number FROM ZDL_JOURNAL WHERE object = ? AND row IS NOT NULL
        AND transaction_number = ? AND number <= ? ORDER BY number DESC LIMIT 1
      """, [object, .integer(transaction), .integer(entry.number)])
    // All migrations have one number: each of them keeps an object once.
    func bound(_ condition: String, _ order: String) throws -> Int64? {
      let number = try connection.number(
        """
        SELECT number FROM ZDL_JOURNAL WHERE number \(condition) ?
          AND (transaction_number <> ? OR object = ? AND row IS NOT NULL)
        ORDER BY number \(order) LIMIT 1
        """, [.integer(kept > 0 ? kept : entry.number), .integer(transaction), object])
      return number > 0 ? number : nil
    }
    return Drop(
      transaction: transaction, after: try bound("<", "DESC") ?? 0,
      before: try bound(">", "ASC") ?? .max)
  }

  /// The newest entry that keeps an object as it was, and on which nobody has decided.
  ///
  /// - Parameter drop: of these entries, and of conflicts that wait for a person, alone; nil for any.
  static func kept(
    of object: UUID, in drop: Drop?, on connection: SQLiteConnection
  ) throws -> (entry: JournalEntry, row: [PropertyValue])? {
    let number = try connection.number(
      """
      SELECT number FROM ZDL_JOURNAL WHERE object = ? AND row IS NOT NULL AND decision IS NULL
        AND outcome <> 'combined' AND (? IS NULL OR policy = ? AND property IS NOT NULL
          OR transaction_number = ? AND number > ? AND number < ?)
      ORDER BY number DESC LIMIT 1
      """,
      [.uuid(object), drop.map { .integer($0.transaction) } ?? .null]
        + [.text(ConflictPolicy.manual.text)]
        + [drop?.transaction, drop?.after, drop?.before].map { $0.map { .integer($0) } ?? .null })
    guard number > 0, let (entry, values) = try entry(number, on: connection), let row = values.row
    else { return nil }
    return (entry, row)
  }

  static func decide(
    _ number: Int64, _ side: JournalEntry.Side, at time: Date, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "UPDATE ZDL_JOURNAL SET decision = ?, decided_at = ? WHERE number = ?",
      [.text(side.rawValue), .real(time.timeIntervalSince1970), .integer(number)])
  }

  /// Says something of what became of a conflict, behind what it says already.
  static func tell(_ text: String, in number: Int64, on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_JOURNAL SET explanation = explanation || ' ' || ? WHERE number = ?",
      [.text(text), .integer(number)])
  }

  /// What a person keeps of a conflict that waited: what stood by then.
  static func keep(_ value: String, in number: Int64, on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_JOURNAL SET kept = ? WHERE number = ?", [.text(value), .integer(number)])
  }

  /// Keeps an object that is about to be deleted beside its conflicts that wait for a person: who decides on one may bring the
  /// object back.
  static func keep(
    _ row: [PropertyValue], of object: UUID, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      """
      UPDATE ZDL_JOURNAL SET row = ? WHERE object = ? AND policy = ? AND property IS NOT NULL
      AND decision IS NULL
      """, [archive(row), .uuid(object), .text(ConflictPolicy.manual.text)])
  }

  /// Conflicts that wait for a person, oldest first.
  static func waiting(on connection: SQLiteConnection) throws -> [JournalEntry] {
    try read(
      "WHERE policy = ? AND property IS NOT NULL AND decision IS NULL ORDER BY number",
      [.text(ConflictPolicy.manual.text)], on: connection)
  }

  /// How many conflicts wait for a person.
  static func waitingCount(on connection: SQLiteConnection) throws -> Int {
    Int(
      truncatingIfNeeded: try connection.number(
        """
        SELECT count(*) FROM ZDL_JOURNAL
        WHERE policy = ? AND property IS NOT NULL AND decision IS NULL
        """, [.text(ConflictPolicy.manual.text)]))
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    Int(truncatingIfNeeded: try connection.number("SELECT count(*) FROM ZDL_JOURNAL"))
  }

  /// Entries with a number above `number`, oldest first.
  static func entries(
    after number: Int64, limit: Int, on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    try read(
      "WHERE number > ? ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))],
      on: connection)
  }

  /// Every conflict of one property, and of its object as a whole, oldest first.
  static func entries(
    object: UUID, property: String, on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    try read(
      "WHERE object = ? AND (property = ? OR property IS NULL) ORDER BY number",
      [.uuid(object), .text(property)], on: connection)
  }

  /// Every conflict of a property in which one of the values names an object, oldest first.
  static func entries(
    naming object: UUID, property: String, on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    let name = object.uuidString.lowercased()
    return try read("WHERE property = ? ORDER BY number", [.text(property)], on: connection)
      .filter { entry in
        [entry.base, entry.local, entry.remote, entry.kept].contains {
          $0?.lowercased().contains(name) == true
        }
      }
  }

  /// Every conflict of an object and of its properties, oldest first.
  static func entries(object: UUID, on connection: SQLiteConnection) throws -> [JournalEntry] {
    try read("WHERE object = ? ORDER BY number", [.uuid(object)], on: connection)
  }

  /// The newest conflict that keeps an object as it was; nil where none does.
  static func wayBack(of object: UUID, on connection: SQLiteConnection) throws -> Int64? {
    let rows = try connection.rows(
      "SELECT number FROM ZDL_JOURNAL WHERE object = ? AND row IS NOT NULL ORDER BY number DESC LIMIT 1",
      .uuid(object))
    guard case .integer(let number)? = rows.first?.first else { return nil }
    return number
  }

  private static func read(
    _ condition: String, _ values: [SQLiteValue], on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    var entries: [JournalEntry] = []
    try connection.forEachRow(
      """
      SELECT number, object, entity, property, policy, base, local, remote, kept, outcome, origin,
        local_time, remote_time, transaction_number, sequence, explanation, decision, decided_at
      FROM ZDL_JOURNAL \(condition)
      """, values
    ) { row in
      guard let object = UUID(networkBytes: row.data(1)),
        let origin = UUID(networkBytes: row.data(10)),
        let outcome = JournalEntry.Outcome(rawValue: row.string(9))
      else { throw SyncError.damaged("a conflict in the journal") }
      func text(_ column: Int32) -> String? { row.isNull(column) ? nil : row.string(column) }
      entries.append(
        JournalEntry(
          number: row.int64(0), object: object, entity: row.string(2), property: text(3),
          policy: row.string(4), base: text(5), local: text(6), remote: text(7), kept: text(8),
          outcome: outcome, origin: origin,
          localTime: HybridTime(rawValue: row.unsigned(11)),
          remoteTime: HybridTime(rawValue: row.unsigned(12)),
          transaction: row.int64(13), sequence: row.unsigned(14),
          explanation: row.string(15), decision: text(16).flatMap { .init(rawValue: $0) },
          decidedAt: row.isNull(17) ? nil : Date(timeIntervalSince1970: row.double(17))))
    }
    return entries
  }
}
