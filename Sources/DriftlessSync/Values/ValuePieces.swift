import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Large values on their way to the zone or from it, a piece at a time: those that the change set in flight names, and those
/// that were fetched for entries which are not applied yet. Owns `ZDL_VALUE`.
///
/// What goes out is a copy: an edit, or a delete, while a value is under way changes nothing about it.
enum ValuePieces {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .bytes("digest", count: LargeValue.digestSize), .natural("first"), .bytes("bytes"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_VALUE(
      digest BLOB NOT NULL, first INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY (digest, first)\(RowRule.constraints(rules)))
    """

  /// How much of a value is here, from its beginning on. Bytes.
  static func size(of value: LargeValue, on connection: SQLiteConnection) throws -> Int {
    Int(
      clamping: try connection.number(
        "SELECT coalesce(sum(length(bytes)), 0) FROM ZDL_VALUE WHERE digest = ?",
        [.blob(value.digest)]))
  }

  /// Whether all of it is here, as far as lengths tell.
  static func isWhole(_ value: LargeValue, on connection: SQLiteConnection) throws -> Bool {
    try size(of: value, on: connection) == Int(clamping: value.length)
  }

  static func add(
    _ bytes: Data, at first: Int, of value: LargeValue, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_VALUE VALUES (?, ?, ?)",
      [.blob(value.digest), .integer(Int64(first)), .blob(bytes)])
  }

  /// All of a value, unless something of it is here already.
  static func put(
    _ bytes: Data, as value: LargeValue, on connection: SQLiteConnection
  ) throws {
    guard try size(of: value, on: connection) == 0 else { return }
    var rest = bytes
    while !rest.isEmpty {
      try add(
        Data(rest.prefix(LargeValue.pieceBytesMax)), at: bytes.count - rest.count, of: value,
        on: connection)
      rest = rest.dropFirst(LargeValue.pieceBytesMax)
    }
  }

  /// The value's bytes from one on, up to a piece's length; fewer where they are not here.
  static func piece(
    of value: LargeValue, first: Int, on connection: SQLiteConnection
  ) throws -> Data {
    var piece = Data()
    while piece.count < LargeValue.pieceBytesMax {
      let place = first + piece.count
      var row: (first: Int, bytes: Data)?
      try connection.forEachRow(
        """
        SELECT first, bytes FROM ZDL_VALUE WHERE digest = ? AND first <= ?
        ORDER BY first DESC LIMIT 1
        """, [.blob(value.digest), .integer(Int64(place))]
      ) { row = (Int(clamping: $0.int64(0)), $0.data(1)) }
      guard let row, row.first + row.bytes.count > place else { break }
      piece += row.bytes.dropFirst(place - row.first)
        .prefix(LargeValue.pieceBytesMax - piece.count)
    }
    return piece
  }

  /// A value that is here and is what its digest says; else nil.
  static func bytes(of value: LargeValue, on connection: SQLiteConnection) throws -> Data? {
    var bytes = Data()
    try connection.forEachRow(
      "SELECT bytes FROM ZDL_VALUE WHERE digest = ? ORDER BY first", [.blob(value.digest)]
    ) { bytes.append($0.data(0)) }
    return LargeValue(of: bytes) == value ? bytes : nil
  }

  /// Whether a value that is here is what its digest says, a piece at a time.
  static func isGood(_ value: LargeValue, on connection: SQLiteConnection) throws -> Bool {
    var digest = LargeValue.Digest()
    while digest.count < value.length {
      let piece = try piece(of: value, first: Int(clamping: digest.count), on: connection)
      guard !piece.isEmpty else { break }
      digest.add(piece)
    }
    return digest.isOf(value)
  }

  static func drop(_ value: LargeValue, on connection: SQLiteConnection) throws {
    try drop(digest: value.digest, on: connection)
  }

  /// They are copies on their way.
  private static func drop(digest: Data, on connection: SQLiteConnection) throws {
    try connection.leavingPages {
      try connection.perform("DELETE FROM ZDL_VALUE WHERE digest = ?", [.blob(digest)])
    }
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.leavingPages { try connection.perform("DELETE FROM ZDL_VALUE") }
  }

  /// Values of which something is here.
  static func digests(on connection: SQLiteConnection) throws -> Set<Data> {
    var digests: Set<Data> = []
    try connection.forEachRow("SELECT DISTINCT digest FROM ZDL_VALUE") {
      digests.insert($0.data(0))
    }
    return digests
  }

  /// How many pieces are here.
  static func count(on connection: SQLiteConnection) throws -> Int {
    Int(clamping: try connection.number("SELECT count(*) FROM ZDL_VALUE"))
  }

  /// How many bytes of values are here.
  static func byteCount(on connection: SQLiteConnection) throws -> Int {
    Int(clamping: try connection.number("SELECT coalesce(sum(length(bytes)), 0) FROM ZDL_VALUE"))
  }

  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_VALUE)") != 0
  }

  /// Lets go of what neither the change set in flight names nor an entry that waits for others of its push, and what nobody asked for
  /// and is not missing: of that, what has come so far is not asked for twice.
  ///
  /// - Parameter kept: what entries name that wait for others of their push, or are applied.
  static func trim(_ transaction: ReadTransaction, keeping kept: [LargeValueSet]) throws {
    let connection = transaction.connection
    let sent = try named(byOutbox: Outbox.load(from: connection), on: connection)
    var digests = try Set(sent.map(\.digest)).union(WantedValues.digests(on: connection))
    if try transaction.setting(SyncEngine.missingSetting) != nil {
      let missing = try Set(
        ParkedValues.nameRows(on: connection).compactMap { LargeCell.value(in: $0.value) })
      // What has come whole was taken in, as far as there was room.
      digests.formUnion(try missing.filter { try !isWhole($0, on: connection) }.map(\.digest))
    }
    let others = try Self.digests(on: connection).subtracting(digests)
    guard !others.isEmpty else { return }
    let named = Set(kept.flatMap { $0.values.map(\.digest) })
    for digest in others.subtracting(named) {
      try drop(digest: digest, on: connection)
    }
  }

  /// Lets go of what is here of some values, unless the change set in flight names them.
  ///
  /// - Parameter kept: what entries name that wait for others of their push.
  static func dropUnneeded(
    _ values: some Sequence<LargeValue>, keeping kept: LargeValueSet,
    on connection: SQLiteConnection
  ) throws {
    let here = try values.filter { try size(of: $0, on: connection) > 0 }
    guard !here.isEmpty else { return }
    let sent = Set(try named(byOutbox: Outbox.load(from: connection), on: connection))
    for value in here where !sent.contains(value) && !kept.contains(value) {
      try drop(value, on: connection)
    }
  }

  // MARK: - Who names them

  /// The values that a push names, of all its parts.
  static func named(
    byOutbox outbox: Outbox?, on connection: SQLiteConnection
  ) throws -> [LargeValue] {
    guard let outbox else { return [] }
    var values: [LargeValue] = []
    var seen: Set<LargeValue> = []
    try outbox.forEachPart(on: connection) { part, _ in
      for value in named(by: part.frame) where seen.insert(value).inserted {
        values.append(value)
      }
    }
    return values
  }

  /// The values that an entry names and this replica may not have; none where its bytes cannot be read.
  static func named(by entry: PullPage.Entry) -> [LargeValue] {
    entry.isOwnHeaderOnly ? [] : named(by: entry.frame)
  }

  static func named(by frame: Data) -> [LargeValue] {
    let decoder = ChangeSetDecoder()
    guard let header = try? decoder.decodeHeader(frame), header.namesLargeValues else { return [] }
    return (try? decoder.decodeIndex(frame))?.index.values ?? []
  }
}
