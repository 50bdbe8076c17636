import DriftlessSQLite

/// What a look at all of a store's file found.
public struct StoreCheck: Sendable {
  /// Something that is not as it should be.
  public struct Finding: Hashable, Sendable, Codable {
    /// How bad a finding is.
    public enum Weight: String, Sendable, Codable {
      /// Data is lost or cannot be trusted.
      case damage
      /// Two parts of the file say different things; each can be read.
      case disagreement
    }

    /// How bad it is.
    public let weight: Weight
    /// What is wrong, as a sentence.
    public let message: String
  }

  /// What was found, in the order in which the file was read.
  public internal(set) var findings: [Finding] = []
  /// How many objects were looked at.
  public internal(set) var objectCount = 0

  /// Whether nothing was found.
  public var isSound: Bool { findings.isEmpty }

  mutating func add(_ weight: Finding.Weight, _ message: String) {
    findings.append(Finding(weight: weight, message: message))
  }
}

extension PersistentStore {
  /// Looks at the whole file: SQLite's own check, then keys, references, join tables, and whether the history tells what
  /// the rows show. It reads everything, and changes nothing.
  ///
  /// - Throws: `StoreError` when the file cannot be read at all.
  public func check() throws -> StoreCheck {
    try read { transaction in
      var inspection = StoreInspection(transaction: transaction)
      return try inspection.run()
    }
  }
}

/// The parts of a check.
private struct StoreInspection {
  let transaction: ReadTransaction
  private var check = StoreCheck()

  private var connection: SQLiteConnection { transaction.connection }
  private var schema: StoreSchema { transaction.schema }

  init(transaction: ReadTransaction) { self.transaction = transaction }

  mutating func run() throws -> StoreCheck {
    for row in try connection.rows("PRAGMA integrity_check(20)") where row[0] != .text("ok") {
      if case .text(let text) = row[0] { check.add(.damage, "SQLite: \(text)") }
    }
    // Nothing else can be told of pages that cannot be trusted.
    guard check.isSound else { return check }
    for table in schema.tables { try inspect(table) }
    for join in schema.distinctJoinTables { try inspect(join) }
    try inspectExternalData()
    try inspectHistory()
    try inspectNumbers()
    for message in try IdentityInspection(connection).messages { check.add(.damage, message) }
    return check
  }

  private func count(_ sql: String) throws -> Int64 {
    if case .integer(let count)? = try connection.rows(sql).first?.first { return count }
    return 0
  }

  private mutating func inspect(_ table: EntityTable) throws {
    let entities = table.entities
    let numbers = entities.map { "\(schema.entityNumber(of: $0))" }.joined(separator: ", ")
    check.objectCount += Int(try count("SELECT COUNT(*) FROM \"\(table.name)\""))
    let strange = try count(
      "SELECT COUNT(*) FROM \"\(table.name)\" WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers))")
    if strange > 0 {
      check.add(.damage, "\(strange) rows of \(table.name) are of no entity of the model.")
    }
    let root = schema.entityNumber(of: table.rootEntity)
    let largest = try count("SELECT MAX(Z_PK) FROM \"\(table.name)\"")
    let given = try count("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(root)")
    if largest > max(0, given) {
      check.add(
        .damage,
        "\(table.rootEntity.name) has key \(largest), but keys were given out up to \(given) only.")
    }
    for entity in entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        try inspect(relationship, of: entity, in: table)
      }
    }
  }

  private mutating func inspect(
    _ relationship: RelationshipDescription, of entity: EntityDescription, in table: EntityTable
  ) throws {
    guard !relationship.isToMany, let destination = relationship.destinationEntity,
      let binding = transaction.binding(of: relationship)
    else { return }
    let column = table.columns[binding.column].name
    let lost = try count(
      """
      SELECT COUNT(*) FROM "\(table.name)" s WHERE s."\(column)" IS NOT NULL AND NOT EXISTS
      (SELECT 1 FROM "\(schema.table(for: destination).name)" d WHERE d.Z_PK = s."\(column)")
      """)
    if lost > 0 {
      check.add(
        .disagreement,
        "\(lost) objects have a \(entity.name).\(relationship.name) that is not there.")
    }
  }

  private mutating func inspect(_ join: JoinTable) throws {
    for entity in schema.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties {
        guard let mine = schema.joinTable(for: relationship), mine.name == join.name,
          let destination = relationship.destinationEntity
        else { continue }
        let lost = try count(
          """
          SELECT COUNT(*) FROM "\(mine.name)" j WHERE NOT EXISTS (SELECT 1 FROM
          "\(schema.table(for: destination).name)" d WHERE d.Z_PK = j."\(mine.destinationColumn)")
          """)
        if lost > 0 {
          check.add(
            .disagreement,
            "\(lost) pairs of \(entity.name).\(relationship.name) lead to objects that are not there."
          )
        }
      }
    }
  }

  private mutating func inspectExternalData() throws {
    let columns = schema.externalColumns
    guard !columns.isEmpty else { return }
    let present = Set(ExternalDataFolder(store: connection.path).names)
    let lost = try ExternalData.referenced(columns, connection).subtracting(present)
    if !lost.isEmpty {
      check.add(.damage, "\(lost.count) values lie in files beside the store that are not there.")
    }
  }

  /// How far keys and numbers were given out: a store that is at the end of them can take nothing more.
  private mutating func inspectNumbers() throws {
    for row in try connection.rows("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY") {
      guard case .text(let name) = row[0], case .integer(let last) = row[1],
        last > ReadTransaction.greatestNumber / 2 || last < -1
      else { continue }
      check.add(.damage, "\(name) says that keys were given out up to \(last).")
    }
  }

  // MARK: History

  private mutating func inspectHistory() throws {
    for row in try connection.rows(
      "SELECT number FROM ZDL_TRANSACTION WHERE last_change < first_change")
    {
      if case .integer(let number) = row[0] {
        check.add(.damage, HistoryReader.damaged(number).message)
      }
    }
    let loose = try count(
      "SELECT COUNT(*) FROM ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)")
    if loose > 0 {
      check.add(.damage, "\(loose) changes of the history belong to no transaction.")
    }
    for (entity, table) in [
      (HistoryEntity.change, "ACHANGE"), (HistoryEntity.transaction, "ATRANSACTION"),
    ] {
      let largest = try count("SELECT MAX(Z_PK) FROM \(table)")
      let given = try count("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(entity)")
      if largest > max(0, given) {
        check.add(
          .damage, "\(table) has key \(largest), but keys were given out up to \(given) only.")
      }
    }
    // What was done last to an object tells whether it has a row.
    for table in schema.tables {
      let numbers = table.entities
        .map { "\(schema.entityNumber(of: $0))" }.joined(separator: ", ")
      let wrong = try count(
        """
        SELECT COUNT(*) FROM (SELECT ZENTITYPK AS key, ZCHANGETYPE AS type, MAX(Z_PK) FROM ACHANGE
        WHERE ZENTITY IN (\(numbers)) GROUP BY ZENTITYPK) last WHERE (last.type = 2) =
        EXISTS (SELECT 1 FROM "\(table.name)" t WHERE t.Z_PK = last.key)
        """)
      if wrong > 0 {
        check.add(
          .disagreement,
          "The history tells of \(wrong) objects of \(table.rootEntity.name) otherwise than the rows."
        )
      }
    }
  }
}
