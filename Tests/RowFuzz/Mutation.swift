import DriftlessSQLite
import Foundation
import TestSupport

/// One change of one row of a table, drawn by a seed.
struct Mutation {
  /// What is done.
  enum Kind: String, CaseIterable {
    case null, zero, one, negative, greatest, least, big, otherNumber, fraction, text, emptyText
    case hugeText, brokenText, emptyBytes, bytes, hugeBytes, changedByte, cutBytes, otherValue, swap
    case delete, duplicate

    /// Whether it is about the row, and not a column of it.
    var isOfRow: Bool { self == .delete || self == .duplicate }
  }

  let table: String
  let column: String
  let kind: Kind
  let row: Int64
  private let noise: UInt64

  /// Whether a text that is written says a number, which a column of numbers keeps as one.
  var isNumberInText: Bool { kind == .text && noise % 2 != 0 }

  var description: String { "\(kind.rawValue) of \(table).\(column), row \(row)" }

  /// The tables of a file with their columns, in an order that does not change.
  struct Layout {
    var tables: [(name: String, columns: [String], isKeyed: Bool)] = []

    init(_ connection: SQLiteConnection) throws {
      let names = try connection.rows(
        """
        SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
        AND name NOT GLOB 'Z_RT_*' ORDER BY name
        """)
      for row in names {
        guard case .text(let name) = row[0], case .text(let sql) = row[1] else { continue }
        let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name))
        let list = columns.compactMap { if case .text(let column) = $0[0] { column } else { nil } }
        tables.append((name, list, sql.contains("WITHOUT ROWID")))
      }
    }
  }

  init(seed: UInt64, _ layout: Layout) {
    var numbers = SeededNumbers(seed: seed)
    let table = layout.tables[numbers.number(below: layout.tables.count)]
    self.table = table.name
    column = table.columns[numbers.number(below: table.columns.count)]
    kind = Kind.allCases[numbers.number(below: Kind.allCases.count)]
    row = Int64(numbers.number(below: 1000))
    noise = numbers.next()
  }

  // MARK: Doing it

  /// Changes the row. False when nothing is another than before: the table is empty, or the value was so already.
  ///
  /// - Throws: `SQLiteError` when the file's own rules refuse it.
  func apply(_ layout: Layout, on connection: SQLiteConnection) throws -> Bool {
    guard let shape = layout.tables.first(where: { $0.name == table }),
      case .integer(let count)? = try connection.scalar("SELECT COUNT(*) FROM \"\(table)\""),
      count > 0
    else { return false }
    // As a disk does it, which knows no rules.
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
    let place = row % count
    let order = shape.columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let key = shape.isKeyed ? self.key() : "rowid"
    let picked = Self.pick(key, table, order, place)
    switch kind {
    case .delete:
      try connection.execute("DELETE FROM \"\(table)\" WHERE (\(key)) IN (\(picked))")
      return true
    case .duplicate: return try duplicate(shape.columns, key, picked, connection)
    case .swap, .otherValue:
      let other = Self.pick(key, table, order, (place + 1) % count)
      return try takeOver(from: other, by: picked, shape.columns, key, connection)
    default:
      let old = try connection.rows(
        "SELECT \"\(column)\" FROM \"\(table)\" WHERE (\(key)) IN (\(picked))")
      guard let old = old.first?.first, let new = value(instead: old), new != old else {
        return false
      }
      return try set(new, key, picked, connection)
    }
  }

  private func key() -> String {
    // A table without rowids has its key's columns.
    switch table {
    case "ZDL_STORE": "key"
    case "ZDL_IDENTITY": "root_entity, first_key"
    case "ZDL_HISTORY_READER": "name"
    case "ZDL_DANGLING": "target_root, target_key, entity, key, property"
    case "ZDL_DELTA": "entity, key, property, transaction_number"
    case "ZDL_ALIAS", "ZDL_DELETED", "ZDL_DELETED_SINCE": "identity"
    case "ZDL_STRUCK": "number, property"
    case "ZDL_GRAVE", "ZDL_FORMER", "ZDL_PENDING", "ZDL_QUARANTINE": "entity, key"
    default: "entity, key, property"
    }
  }

  private func set(
    _ value: SQLiteValue, _ key: String, _ picked: String, _ connection: SQLiteConnection
  ) throws -> Bool {
    let before = try connection.rows(
      "SELECT \"\(column)\" FROM \"\(table)\" WHERE (\(key)) IN (\(picked))")
    let row = try connection.rows(picked)
    try connection.run(
      "UPDATE \"\(table)\" SET \"\(column)\" = ? WHERE (\(key)) IN (\(picked))", value)
    // Where the column is no key, the row is there under it; a type may have made the old value of the new one.
    guard let row = row.first, !key.contains(column), column != "Z_PK" else { return true }
    let condition = key.split(separator: ", ").map { "\($0) = ?" }.joined(separator: " AND ")
    let statement = try connection.prepareUncached(
      "SELECT \"\(column)\" FROM \"\(table)\" WHERE \(condition)")
    statement.bind(row)
    return try statement.step() ? [[statement.value(0)]] != before : true
  }

  private static func pick(
    _ key: String, _ table: String, _ order: String, _ place: Int64
  ) -> String {
    "SELECT \(key) FROM \"\(table)\" ORDER BY \(order) LIMIT 1 OFFSET \(place)"
  }

  /// Gives a row the value of another one; for a swap, that one gets its value. Both are written anew, so that keys can
  /// change places.
  private func takeOver(
    from other: String, by picked: String, _ columns: [String], _ key: String,
    _ connection: SQLiteConnection
  ) throws -> Bool {
    let list = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    func rows(_ pick: String) throws -> [[SQLiteValue]] {
      try connection.rows("SELECT \(list) FROM \"\(table)\" WHERE (\(key)) IN (\(pick))")
    }
    guard let place = columns.firstIndex(of: column), var mine = try rows(picked).first,
      var theirs = try rows(other).first, mine[place] != theirs[place]
    else { return false }
    let before = mine[place]
    mine[place] = theirs[place]
    if kind == .swap { theirs[place] = before }
    let keys = try connection.rows(picked) + connection.rows(other)
    let condition = key.split(separator: ", ").map { "\($0) IS ?" }.joined(separator: " AND ")
    for key in keys {
      let statement = try connection.prepareUncached("DELETE FROM \"\(table)\" WHERE \(condition)")
      statement.bind(key)
      try statement.run()
    }
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    for row in [theirs, mine] {
      let statement = try connection.prepareUncached(
        "INSERT INTO \"\(table)\" (\(list)) VALUES (\(places))")
      statement.bind(row)
      try statement.run()
    }
    return true
  }

  private func duplicate(
    _ columns: [String], _ key: String, _ picked: String, _ connection: SQLiteConnection
  ) throws -> Bool {
    // Under another key where the row has one of its own.
    let list = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let new = columns.map { name -> String in
      let isNumber = [
        "Z_PK", "Z_ENT", "number", "sequence", "push_number", "id", "version", "Z_VERSION",
        "first_change",
      ]
      .contains(name)
      return isNumber && name == columns[0]
        ? "(SELECT MAX(\"\(name)\") + 1 FROM \"\(table)\")" : "\"\(name)\""
    }.joined(separator: ", ")
    try connection.execute(
      "INSERT INTO \"\(table)\" (\(list)) SELECT \(new) FROM \"\(table)\" WHERE (\(key)) IN (\(picked))"
    )
    return true
  }

  /// The value in place of another; nil where it would be none.
  private func value(instead old: SQLiteValue) -> SQLiteValue? {
    switch kind {
    case .null: return .null
    case .zero: return .integer(0)
    case .one: return .integer(1)
    case .negative: return .integer(-Int64(noise % 1000) - 1)
    case .greatest: return .integer(.max)
    case .least: return .integer(.min)
    case .big: return .integer(Int64(1) << Int64(20 + noise % 43))
    case .otherNumber:
      if case .integer(let number) = old { return .integer(number &+ Int64(noise % 5) - 2) }
      return .integer(Int64(noise % 20))
    case .fraction: return .real(noise % 2 == 0 ? 0.5 : 1e300)
    case .text: return .text(noise % 2 == 0 ? "abc" : "-1")
    case .emptyText: return .text("")
    case .hugeText: return .text(String(repeating: "x", count: 1_000_000))
    case .brokenText: return .text("{\"whole\":\"insert\",\"edits\":7}")
    case .emptyBytes: return .blob(Data())
    case .bytes: return .blob(Data((0..<UInt8(noise % 40)).map { $0 &* UInt8(noise >> 8 & 0xff) }))
    case .hugeBytes: return .blob(Data(repeating: 0xff, count: 1_000_000))
    case .changedByte:
      switch old {
      case .blob(var bytes) where !bytes.isEmpty:
        bytes[bytes.startIndex + Int(noise % UInt64(bytes.count))] ^= UInt8(1 << (noise >> 32 & 7))
        return .blob(bytes)
      case .text(let text) where !text.isEmpty:
        var bytes = Array(text.utf8)
        bytes[Int(noise % UInt64(bytes.count))] ^= 1
        return .text(String(decoding: bytes, as: UTF8.self))
      default: return nil
      }
    case .cutBytes:
      guard case .blob(let bytes) = old, !bytes.isEmpty else { return nil }
      return .blob(bytes.prefix(Int(noise % UInt64(bytes.count))))
    case .otherValue, .swap, .delete, .duplicate: return nil
    }
  }
}
