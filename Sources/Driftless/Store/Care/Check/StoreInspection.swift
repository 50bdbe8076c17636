package import DriftlessSQLite

/// A look at all of a store's file, on one snapshot: what the checks of its tables share.
package final class StoreInspection {
  package let transaction: ReadTransaction
  let file: StoreFile
  private var result = StoreCheck()
  /// The greatest key that was given out in the hierarchy of each entity, by the entity's number.
  private let lastKeys: [Int32: Int64]
  private let present: Set<String>
  /// Whether the file has been written here, and not by Core Data alone.
  let isOurs: Bool

  package var connection: SQLiteConnection { transaction.connection }
  package var schema: StoreSchema { transaction.schema }

  /// How many rows of a kind are named.
  private static let namedMax = 3

  init(_ transaction: ReadTransaction, file: StoreFile) throws {
    self.transaction = transaction
    self.file = file
    let names = try transaction.connection.rows(
      "SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master")
    let present = Set(names.compactMap { if case .text(let name) = $0[0] { name } else { nil } })
    self.present = present
    let metadata = try? MetadataTable.read(on: transaction.connection, path: file.name).1
    isOurs = metadata.map { $0.format > 0 } ?? present.contains("ZDL_MODEL")
    var keys: [Int32: Int64] = [:]
    for (entity, number) in transaction.schema.numbers where present.contains("Z_PRIMARYKEY") {
      let root = transaction.schema.entityNumber(of: entity.rootEntity)
      keys[number] = try PrimaryKeyTable.lastKey(of: Int64(root), on: transaction.connection)
    }
    lastKeys = keys
  }

  func run(_ checks: [any TableCheck]) throws -> StoreCheck {
    for text in try pageDamage() { report(.damage, "", "SQLite: \(text)") }
    // Nothing else can be told of pages that cannot be trusted.
    guard result.isSound else { return result }
    for check in checks where try check.isWanted(self) {
      let missing = check.tables.filter { !present.contains($0) }
      for table in missing { report(.damage, table, "\(table) is missing.") }
      guard missing.isEmpty else { continue }
      do {
        try check.check(self)
      } catch let error as StoreError where error.code == .damaged {
        report(.damage, check.tables.first ?? "", error.message)
      } catch let error as SQLiteError where error.primaryCode == SQLiteError.generic {
        // A value that SQL cannot work with is a value of the file, and the other tables are looked at all the same.
        report(
          .damage, check.tables.first ?? "", "The file cannot be looked at whole: \(error.message)."
        )
      }
    }
    return result
  }

  /// What SQLite finds wrong with the file's pages and indexes.
  private func pageDamage() throws -> [String] {
    func look() throws -> [String] {
      try connection.rows("PRAGMA integrity_check(20)")
        .compactMap { if case .text(let text) = $0[0], text != "ok" { text } else { nil } }
    }
    let found = try look()
    guard found.contains(where: { $0.hasPrefix("CHECK constraint") }) else { return found }
    // A row that breaks a rule of its table is named by the checks of the tables, which go on after it. Only here, for a
    // setting makes the connection prepare all its statements anew.
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
    return try look()
  }

  package func has(_ name: String) -> Bool { present.contains(name) }

  func countObjects(_ count: Int) { result.objectCount += count }

  // MARK: Findings

  /// What a person can do where nothing better is known.
  package static let restore =
    "Keep a copy of the file; then restore a backup, or make the store anew from its zone."

  package func report(
    _ weight: StoreCheck.Finding.Weight, _ table: String, _ message: String, count: Int = 1,
    suggestion: String = StoreInspection.restore
  ) {
    result.findings.append(
      StoreCheck.Finding(
        weight: weight, table: table, message: message, suggestion: suggestion, count: count))
  }

  /// Reports the rows that a query gives as breaking one rule: its first column names a row.
  package func report(
    rowsOf query: String, _ values: [SQLiteValue] = [], in table: String, _ breach: String,
    _ weight: StoreCheck.Finding.Weight = .damage, suggestion: String = StoreInspection.restore
  ) throws {
    let statement = try connection.prepareUncached(query)
    statement.bind(values)
    var tally = Tally()
    while try statement.step() { tally.add(statement.string(0)) }
    report(tally, in: table, breach, weight, suggestion: suggestion)
  }

  /// The rows that break one rule: their number, and the names of the first.
  package struct Tally {
    fileprivate var names: [String] = []
    fileprivate var count = 0

    package init() {}

    package mutating func add(_ name: @autoclosure () -> String) {
      count += 1
      if names.count < StoreInspection.namedMax { names.append(String(name().prefix(100))) }
    }
  }

  package func report(
    _ tally: Tally, in table: String, _ breach: String,
    _ weight: StoreCheck.Finding.Weight = .damage, suggestion: String = StoreInspection.restore
  ) {
    guard tally.count > 0 else { return }
    let more = tally.count - tally.names.count
    let rows = tally.names.joined(separator: "; ") + (more > 0 ? " and \(more) more" : "")
    report(
      weight, table, "\(table), \(rows): \(breach).", count: tally.count, suggestion: suggestion)
  }

  // MARK: Rules of rows

  /// Goes through a table once, and reports the rows that break a rule, each for the first that it breaks.
  ///
  /// - Parameter key: the columns that name a row.
  package func check(
    _ table: String, key: [String], _ rules: [RowRule], suggestion: String = StoreInspection.restore
  ) throws {
    // The rows of most tables keep all rules: the names of rows are worth their time where one does not.
    let all = rules.map { "ifnull((\($0.condition)), 0)" }.joined(separator: " AND ")
    let broken = try connection.prepareUncached(
      "SELECT 1 FROM \"\(table)\" WHERE NOT (\(all)) LIMIT 1")
    guard try broken.step() else { return }
    broken.reset()
    let cases = rules.enumerated().map { "WHEN NOT ifnull((\($1.condition)), 0) THEN \($0)" }
    let statement = try connection.prepareUncached(
      """
      SELECT name, broken FROM (SELECT \(Self.name(key)) AS name,
      CASE \(cases.joined(separator: " ")) END AS broken FROM "\(table)") WHERE broken IS NOT NULL
      """)
    var tallies = [Tally](repeating: Tally(), count: rules.count)
    while try statement.step() {
      let rule = Int(clamping: statement.int64(1))
      if tallies.indices.contains(rule) { tallies[rule].add(statement.string(0)) }
    }
    for (rule, tally) in zip(rules, tallies) {
      report(tally, in: table, rule.breach, rule.weight, suggestion: suggestion)
    }
  }

  /// SQL that names a row by some of its columns.
  package static func name(_ columns: [String], of table: String = "") -> String {
    let prefix = table.isEmpty ? "" : table + "."
    return columns.map { "'\($0) ' || substr(quote(\(prefix)\"\($0)\"), 1, 40)" }
      .joined(separator: " || ', ' || ")
  }

  // MARK: Objects

  /// That two columns name an object that is, or was, in the store.
  package func objectRule(_ entity: String = "entity", _ key: String = "key") -> RowRule {
    let cases = lastKeys.sorted { $0.key < $1.key }
      .map { "WHEN \($0.key) THEN \"\(key)\" BETWEEN 1 AND \($0.value)" }
    guard !cases.isEmpty else { return RowRule("0", "its \(entity) is none of the model") }
    return RowRule(
      """
      typeof("\(entity)") = 'integer' AND typeof("\(key)") = 'integer'
      AND CASE "\(entity)" \(cases.joined(separator: " ")) ELSE 0 END
      """, "its \(entity) and \(key) are of no object that ever was")
  }

  /// That two columns name the root of a hierarchy and a key that was given out in it.
  package func rootRule(_ entity: String, _ key: String) -> RowRule {
    let roots = schema.entities.filter { $0.superentity == nil }
      .map { schema.entityNumber(of: $0) }
    let list = roots.map { "\($0)" }.joined(separator: ", ")
    let object = objectRule(entity, key)
    return RowRule("\"\(entity)\" IN (\(list)) AND (\(object.condition))", object.breach)
  }

  /// SQL that is true where there is a row of the object that two columns name.
  package func exists(_ entity: String, _ key: String) -> String {
    let cases = schema.numbers.map { entity, number in
      """
      WHEN \(number) THEN EXISTS (SELECT 1 FROM "\(schema.table(for: entity).name)" living
      WHERE living.Z_PK = \(key))
      """
    }
    return cases.isEmpty ? "0" : "CASE \(entity) \(cases.joined(separator: " ")) ELSE 0 END"
  }

  /// The greatest key that was given out in an entity's hierarchy.
  package func lastKey(_ entity: Int32) -> Int64 { lastKeys[entity] ?? 0 }
}
