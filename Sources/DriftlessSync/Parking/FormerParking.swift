import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Parked entries of a log that is gone: the zone has nothing of them any more, so they are kept by the identities of
/// their objects, and offered once the model or the program has caught up. Owns `ZDL_PARKED_FORMER`.
enum FormerParking {
  private static let table = "ZDL_PARKED_FORMER"
  /// What `syncctl parked` calls them.
  static let code = "former-log"
  private static let isGone = "The log that it came from is gone."
  private static let isReplaced =
    "The zone was replaced on purpose since: import what the store held, sync, and only then give it a model that knows this; syncctl parked retry takes it in."
  /// In place of a level that was tried: nothing but a person's word has it taken in, since its zone was replaced on purpose.
  static let heldLevel = Int64(Int32.max)

  struct Entry {
    var id: Int64
    /// As it was parked in that log.
    var parked: Parking.Entry
    /// The identities of the objects that its zone knew before, in the order of their numbers; nil for one that nobody here
    /// knew.
    var objects: [UUID?]

    var reason: String {
      let isHeld = parked.triedLevel == FormerParking.heldLevel
      return "\(parked.reason) \(isHeld ? FormerParking.isReplaced : FormerParking.isGone)"
    }
  }

  /// Nobody wants the state of before any more: what is kept waits for a person's word, as all that the store held does.
  static func hold(on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED_FORMER SET tried_level = ?", [.integer(heldLevel)])
  }

  /// The log is gone above a place: keeps what was parked of it, while the objects still have their numbers, and what its entries
  /// say under names that a migration took away. The rows have nothing of that, and the zone has it no more either.
  static func keep(above place: UInt64 = 0, _ transaction: ReadTransaction) throws {
    let connection = transaction.connection
    let parked = try Parking.entries(on: connection)
    let dropped = try droppedParts(above: place, beside: parked, transaction)
    let isDropped = Set(dropped.map(\.sequence))
    guard !dropped.isEmpty || parked.contains(where: { $0.sequence > place }) else { return }
    // What parked entries make has no key here.
    var made: [(first: UInt64, identities: ChangeSetIndex.Identities)] = []
    for entry in parked {
      let frame = try Parking.frame(of: entry.sequence, on: connection)
      var first = entry.firstNumber
      for run in (try? ChangeSetDecoder().decodeIndex(frame))?.1.newObjects ?? [] {
        made.append((first, run.identities))
        first &+= UInt64(run.count)
      }
    }
    let parts = (dropped + parked).sorted { $0.sequence < $1.sequence }
    var directory = ObjectDirectory(connection)
    // Bytes that are not those that were pushed say nothing where nobody has others.
    // SQLite gives the number of a row that is gone again, and one that was accepted stands for that entry alone.
    let numbered = try connection.number("SELECT coalesce(max(id), 0) FROM ZDL_PARKED_FORMER")
    var id = max(numbered, try AcceptedParking.load(transaction).former.max() ?? 0)
    for entry in parts where entry.sequence > place && entry.code != .damaged {
      let isOfKept = isDropped.contains(entry.sequence) && entry.code == .unknownNames
      let kept =
        isOfKept
        ? try KeptFrames.entries(after: entry.sequence - 1, bytesMax: 1, on: connection).first : nil
      let frame = try kept?.frame ?? Parking.frame(of: entry.sequence, on: connection)
      // A log that comes back, and is lost again, brings it once more.
      guard try !isKept(frame, entry.unknown, on: connection) else { continue }
      var index = (try? ChangeSetDecoder().decodeIndex(frame))?.1 ?? ChangeSetIndex()
      index.number(from: entry.firstNumber)
      let numbers = index.knownNumbers
      // Whose maker was not taken in is tried whole: what is here already is known by its time.
      let code = entry.code == .needsParked ? Parking.Code.notApplicable : entry.code
      var objects = Data()
      for number in numbers {
        let run = made.last {
          $0.first <= number && number &- $0.first < UInt64($0.identities.count)
        }
        let identity =
          try directory.key(ofNumber: number).map { try transaction.identity(of: $0) }
          ?? run.map { $0.identities[Int(number &- $0.first)] }
        objects.append((identity ?? nobody).networkBytes)
      }
      id += 1
      try connection.perform(
        """
        INSERT INTO ZDL_PARKED_FORMER(id, sequence, code, reason, sender, since, tried_level, unknown,
          objects, frame) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .integer(id), .unsigned(entry.sequence), .text(code.rawValue), .text(entry.reason),
          entry.sender.map { .uuid($0) } ?? .null, .real(entry.since.timeIntervalSince1970),
          .integer(entry.triedLevel), .text(Parking.text(entry.unknown)), .blob(objects),
          .blob(frame),
        ])
    }
  }

  /// What the kept entries above a place say under names that a migration took away, and that were not taken from the zone since.
  private static func droppedParts(
    above place: UInt64, beside parked: [Parking.Entry], _ transaction: ReadTransaction
  ) throws -> [Parking.Entry] {
    let connection = transaction.connection
    let gone = try ModelMeaning.Notes(transaction).gone
    guard !gone.isEmpty else { return [] }
    var parts: [Parking.Entry] = []
    try KeptFrames.forEach(after: place, on: connection) { entry in
      let isWhole = parked.contains { $0.sequence == entry.sequence && $0.code.isWhole }
      guard !isWhole, let (header, index) = try? ChangeSetDecoder().decodeIndex(entry.frame) else {
        return
      }
      var names: Set<ParkedName> = []
      for group in index.groups where group.kind != .delete {
        let entity = index.entities[group.entity]
        if gone.contains(entity.name) { names.insert(ParkedName(entity.name)) }
        for property in group.properties.map({ "\(entity.name).\(entity.properties[$0])" })
        where gone.contains(PlaceName.property(ofPlace: property) ?? property) {
          names.insert(ParkedName(property))
        }
      }
      guard !names.isEmpty else { return }
      parts.append(
        Parking.Entry(
          sequence: entry.sequence, firstNumber: entry.firstObjectNumber, newObjects: nil,
          code: .unknownNames, reason: ParkedName.reason(names), sender: header.replica,
          since: index.transactions.map { HybridTime(rawValue: $0.hybridTime) }.max()?.date
            ?? .now,
          triedLevel: Parking.level, unknown: names, bytes: entry.frame.count))
    }
    return parts
  }

  private static func isKept(
    _ frame: Data, _ unknown: Set<ParkedName>, on connection: SQLiteConnection
  ) throws -> Bool {
    guard try EngineTables.has(table, on: connection) else { return false }
    var isKept = false
    try connection.forEachRow(
      "SELECT 1 FROM ZDL_PARKED_FORMER WHERE length(frame) = ? AND unknown = ? AND frame = ? LIMIT 1",
      [.integer(Int64(frame.count)), .text(Parking.text(unknown)), .blob(frame)]
    ) { _ in isKept = true }
    return isKept
  }

  private static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// What is kept, in the order of the logs, without the bytes.
  static func entries(on connection: SQLiteConnection) throws -> [Entry] {
    guard try EngineTables.has(table, on: connection) else { return [] }
    var entries: [Entry] = []
    try connection.forEachRow(
      """
      SELECT id, sequence, code, reason, sender, since, tried_level, unknown, objects,
        length(frame) FROM ZDL_PARKED_FORMER ORDER BY id
      """
    ) { row in
      guard let code = Parking.Code(rawValue: row.string(2)) else {
        throw SyncError.damaged("a parked entry of a log that is gone")
      }
      let objects = row.data(8)
      entries.append(
        Entry(
          id: row.int64(0),
          parked: Parking.Entry(
            sequence: row.unsigned(1), firstNumber: 0, newObjects: nil, code: code,
            reason: row.string(3), sender: row.isNull(4) ? nil : UUID(networkBytes: row.data(4)),
            since: Date(timeIntervalSince1970: row.double(5)), triedLevel: row.int64(6),
            unknown: Set(row.string(7).split(separator: "\n").map { ParkedName(text: String($0)) }),
            bytes: row.count(9)),
          objects: stride(from: 0, to: objects.count, by: 16).map { place in
            let bytes = objects.dropFirst(place).prefix(16)
            return UUID(networkBytes: Data(bytes)).flatMap { $0 == nobody ? nil : $0 }
          }))
    }
    return entries
  }

  static func frame(of id: Int64, on connection: SQLiteConnection) throws -> Data {
    var frame = Data()
    try connection.forEachRow(
      "SELECT frame FROM ZDL_PARKED_FORMER WHERE id = ?", [.integer(id)]
    ) { frame = $0.data(0) }
    return frame
  }

  /// An entry is taken in, but for these names.
  static func settle(
    _ entry: Entry, _ unknown: Set<ParkedName>, on connection: SQLiteConnection
  ) throws {
    guard !unknown.isEmpty else {
      return try connection.perform(
        "DELETE FROM ZDL_PARKED_FORMER WHERE id = ?", [.integer(entry.id)])
    }
    try connection.perform(
      """
      UPDATE ZDL_PARKED_FORMER SET unknown = ?, code = ?, reason = ?, tried_level = ? WHERE id = ?
      """,
      [
        .text(Parking.text(unknown)), .text(Parking.Code.unknownNames.rawValue),
        .text(ParkedName.reason(unknown)), .integer(Parking.level), .integer(entry.id),
      ])
  }

  /// It was tried once more, in vain.
  static func note(_ reason: String, of id: Int64, on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED_FORMER SET reason = ?, tried_level = ? WHERE id = ?",
      [.text(reason), .integer(Parking.level), .integer(id)])
  }

  /// Asks for another try.
  ///
  /// - Returns: how many entries that are.
  static func ask(_ sequence: UInt64?, on connection: SQLiteConnection) throws -> Int {
    guard try EngineTables.has(table, on: connection) else { return 0 }
    let asked: SQLiteValue = sequence.map { .unsigned($0) } ?? .null
    try connection.perform(
      "UPDATE ZDL_PARKED_FORMER SET tried_level = -1 WHERE sequence = ? OR ? IS NULL",
      [asked, asked])
    return Int(connection.changes)
  }

  /// The same of one alone.
  static func ask(id: Int64, on connection: SQLiteConnection) throws {
    try connection.perform(
      "UPDATE ZDL_PARKED_FORMER SET tried_level = -1 WHERE id = ?", [.integer(id)])
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    guard try EngineTables.has(table, on: connection) else { return 0 }
    return Int(
      truncatingIfNeeded: try connection.number("SELECT count(*) FROM ZDL_PARKED_FORMER"))
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PARKED_FORMER")
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .place("sequence"), Parking.codeRule, .text("reason"), .identity("sender", orNull: true),
    .seconds("since"), .integer("tried_level", -1...Int64(Int32.max)), .text("unknown"),
    .bytes("objects"), .bytes("frame"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED_FORMER(
      id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL,
      sender BLOB, since REAL NOT NULL, tried_level INTEGER NOT NULL, unknown TEXT NOT NULL,
      objects BLOB NOT NULL, frame BLOB NOT NULL\(RowRule.constraints(rules)))
    """
}
