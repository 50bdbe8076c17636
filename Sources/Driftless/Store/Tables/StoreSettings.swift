package import DriftlessSQLite

/// Owns `ZDL_STORE`: what a store notes of itself, by name. What a value means is the business of
/// whoever sets it.
enum StoreSettings {
  static let table = "ZDL_STORE"
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("key"), RowRule("value IS NOT NULL", "it has no value"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_STORE (key TEXT PRIMARY KEY,
    value\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// The six random bytes of minted identities.
  static let mintPrefix = "mintPrefix"
  /// There once identities were written down: those of the objects that were there then are the same in all copies.
  static let identitiesKept = "identitiesKept"
  /// There in a replica.
  static let syncing = "syncing"
  /// There in a store that left its zone: counters keep what they had there, and what was counted since.
  static let counting = "counting"
  /// The history up to this transaction number is purged.
  static let historyFloor = "historyFloor"

  /// Whether the file has the table: one that Core Data wrote has none.
  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try StoreFile.hasTable(table, connection)
  }

  static func value(of name: String, on connection: SQLiteConnection) throws -> SQLiteValue? {
    let statement = try connection.prepare("SELECT value FROM ZDL_STORE WHERE key = ?")
    defer { statement.reset() }
    statement.bind(name, at: 1)
    return try statement.step() ? statement.value(0) : nil
  }

  /// Up to three settings by one question.
  static func values(
    of first: String, _ second: String, _ third: String? = nil, on connection: SQLiteConnection
  ) throws -> (first: SQLiteValue?, second: SQLiteValue?, third: SQLiteValue?) {
    let statement = try connection.prepare(
      "SELECT key, value FROM ZDL_STORE WHERE key IN (?, ?, ?)")
    defer { statement.reset() }
    statement.bind(first, at: 1)
    statement.bind(second, at: 2)
    statement.bind(third ?? second, at: 3)
    var values: (first: SQLiteValue?, second: SQLiteValue?, third: SQLiteValue?)
    while try statement.step() {
      switch statement.string(0) {
      case first: values.first = statement.value(1)
      case second: values.second = statement.value(1)
      default: values.third = statement.value(1)
      }
    }
    return values
  }

  /// Sets a value, or removes it.
  static func set(
    _ name: String, _ value: SQLiteValue?, on connection: SQLiteConnection
  ) throws {
    if let value {
      try connection.run("INSERT OR REPLACE INTO ZDL_STORE VALUES (?, ?)", .text(name), value)
    } else {
      try connection.run("DELETE FROM ZDL_STORE WHERE key = ?", .text(name))
    }
  }

  /// The values of all settings whose names begin so, in the order of the names.
  static func values(
    beginning prefix: String, on connection: SQLiteConnection
  ) throws -> [SQLiteValue] {
    try connection.rows(
      "SELECT value FROM ZDL_STORE WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key",
      .text(prefix)
    ).map { $0[0] }
  }

  /// The names that begin so, in their order.
  static func names(beginning prefix: String, on connection: SQLiteConnection) throws -> [String] {
    try connection.rows(
      "SELECT key FROM ZDL_STORE WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key",
      .text(prefix)
    ).compactMap { row in
      guard case .text(let name) = row[0] else { return nil }
      return name
    }
  }

  static func remove(beginning prefix: String, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM ZDL_STORE WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1", .text(prefix))
  }

  /// Sets a value where there is none.
  static func setIfMissing(
    _ name: String, _ value: SQLiteValue, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT INTO ZDL_STORE VALUES (?, ?) ON CONFLICT DO NOTHING", .text(name), value)
  }

  /// Takes a value over from a file that is attached under a name.
  static func copy(
    _ name: String, from file: String, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO main.ZDL_STORE SELECT * FROM \(file).ZDL_STORE WHERE key = ?",
      .text(name))
  }

  /// The six bytes that begin minted identities; nil where the file does not say them.
  static func mintPrefix(on connection: SQLiteConnection) throws -> [UInt8]? {
    // Asked for each identity that follows from a key: the name is part of the text, and nothing is bound.
    let statement = try connection.prepare("SELECT value FROM ZDL_STORE WHERE key = 'mintPrefix'")
    defer { statement.reset() }
    guard try statement.step(), case .blob(let bytes) = statement.value(0), bytes.count == 6 else {
      return nil
    }
    return [UInt8](bytes)
  }

  /// What a connection runs that reads a file without the table, and may not add it.
  static func overlay(mintPrefix prefix: some Sequence<UInt8>) -> String {
    let digits = prefix.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "INSERT INTO temp.ZDL_STORE VALUES ('\(mintPrefix)', x'\(digits)')"
  }
}

extension ReadTransaction {
  /// The six bytes that begin the identities made here.
  func mintPrefix() throws -> [UInt8] {
    guard let prefix = try StoreSettings.mintPrefix(on: connection) else {
      throw StoreError(
        .damaged, "The store does not say how it makes identities.",
        suggestion: "Restore the file from a copy.")
    }
    return prefix
  }

  /// Whether the store is enrolled for sync.
  package var isReplica: Bool { get throws { try setting(StoreSettings.syncing) != nil } }

  /// A flag or text of the store's own.
  package func setting(_ name: String) throws -> SQLiteValue? {
    try StoreSettings.value(of: name, on: connection)
  }

  /// What is set by names that begin so, in the order of the names.
  package func settings(beginning prefix: String) throws -> [SQLiteValue] {
    try StoreSettings.values(beginning: prefix, on: connection)
  }

  /// The names of settings that begin so, in their order.
  package func settingNames(beginning prefix: String) throws -> [String] {
    try StoreSettings.names(beginning: prefix, on: connection)
  }
}

extension WriteTransaction {
  /// Sets or removes a flag or text of the store's own.
  package func setSetting(_ name: String, _ value: SQLiteValue?) throws {
    try StoreSettings.set(name, value, on: connection)
  }

  /// Makes a write that changes no row one that counts (`ContentState`).
  package func countWrite() throws {
    try setSetting(
      ContentState.setting, .integer(ContentState.writeCount(connection) &+ 1))
  }

  /// Removes what is set by names that begin so.
  package func removeSettings(beginning prefix: String) throws {
    try StoreSettings.remove(beginning: prefix, on: connection)
  }

  /// Whether deletes keep their rows and counters their bases from now on.
  package func setSyncing(_ isSyncing: Bool) throws {
    try setSetting(StoreSettings.syncing, isSyncing ? .integer(1) : nil)
  }

  /// Whether counters keep their bases, and what is added to them, in a store that is no replica.
  package func setCounting(_ isCounting: Bool) throws {
    try setSetting(StoreSettings.counting, isCounting ? .integer(1) : nil)
  }
}
