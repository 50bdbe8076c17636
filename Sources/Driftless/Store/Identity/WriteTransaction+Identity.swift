import DriftlessSQLite
package import Foundation

extension WriteTransaction {
  /// Gives an object that is being inserted an identity from outside.
  ///
  /// - Parameter isUnknown: Whether it was looked for already, and no object has it.
  /// - Throws: `StoreError` when another object has it.
  package func assignIdentity(
    _ key: ObjectKey, _ identity: UUID, isUnknown: Bool = false
  ) throws {
    if !isUnknown, let existing = try self.key(ofOwnOrAlias: identity) {
      guard existing.key == key.key,
        schema.rootNumber(of: existing.entity) == schema.rootNumber(of: key.entity)
      else {
        throw StoreError(
          .constraint, "Another object has the identity \(identity.uuidString).",
          suggestion: "Change that object, or give a new identity.", keys: [existing])
      }
      return
    }
    try assignIdentities(
      root: schema.rootNumber(of: key.entity), firstKey: key.key, count: 1,
      firstIdentity: identity, firstNumber: nil)
  }

  /// Gives `count` keys that follow each other identities, and zone object numbers, that follow each other.
  ///
  /// - Parameter areFree: Whether `areFree` said of the numbers that no object has them.
  package func assignIdentities(
    root: Int32, firstKey: Int64, count: Int64, firstIdentity: UUID, firstNumber: UInt64?,
    areFree: Bool = false
  ) throws {
    if let firstNumber, !areFree { try checkNumbers(firstNumber, count) }
    let statement = try connection.prepare("INSERT INTO ZDL_IDENTITY VALUES (?, ?, ?, ?, ?)")
    statement.bind(Int64(root), at: 1)
    statement.bind(firstKey, at: 2)
    statement.bind(count, at: 3)
    if let firstNumber {
      statement.bind(Int64(bitPattern: firstNumber), at: 4)
    } else {
      statement.bindNull(at: 4)
    }
    statement.bind(firstIdentity, at: 5)
    try statement.run()
  }

  /// Whether no object has one of so many zone object numbers.
  package func areFree(_ first: UInt64, _ count: Int) throws -> Bool {
    do {
      try checkNumbers(first, Int64(count))
    } catch let error as StoreError where error.code == .numberTaken {
      return false
    }
    return true
  }

  /// One zone object number is one object.
  ///
  /// - Throws: `StoreError` with code `numberTaken`, and the object that has one of the numbers.
  private func checkNumbers(_ first: UInt64, _ count: Int64) throws {
    guard count > 0, first <= UInt64(Int64.max - count) else {
      throw StoreError(
        .numberTaken, "\(count) zone object numbers from \(first) on are none that a zone gives.",
        suggestion: "Run syncctl enroll --anew.")
    }
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, count, number FROM ZDL_IDENTITY
      WHERE number <= ? ORDER BY number DESC LIMIT 1
      """)
    defer { statement.reset() }
    let firstNumber = Int64(first)
    statement.bind(firstNumber + count - 1, at: 1)
    guard try statement.step() else { return }
    let number = statement.int64(3)
    guard number >= 0, number >= firstNumber || firstNumber - number < statement.int64(2) else {
      return
    }
    let taken = max(number, firstNumber)
    throw StoreError(
      .numberTaken, "The zone object number \(taken) is another object's here.",
      suggestion: "Run syncctl enroll --anew.",
      keys: [
        ObjectKey(
          entity: statement.entityNumber(0),
          key: statement.int64(1) &+ (taken - number))
      ])
  }

  /// Notes the zone object numbers of keys that follow each other: of objects made here, or of runs known here.
  package func assignNumbers(
    root: Int32, firstKey: Int64, count: Int64, firstNumber: UInt64
  ) throws {
    if try assignNumbersAtOnce(root, firstKey, count, firstNumber) { return }
    var key = firstKey
    let end = firstKey + count
    while key < end {
      let number = firstNumber &+ UInt64(key - firstKey)
      let count = try assignNumber(root: root, key: key, most: end - key, number: number)
      guard count > 0 else {
        throw StoreError(
          .damaged, "A run of identities of entity \(root) ends before it begins.",
          suggestion: "Run syncctl store check FILE, then syncctl enroll --anew.")
      }
      key += count
    }
  }

  /// Where whole runs make up the keys and none has a number, as after an import of identities from outside, one statement
  /// numbers them all. False where it is otherwise.
  private func assignNumbersAtOnce(
    _ root: Int32, _ firstKey: Int64, _ count: Int64, _ firstNumber: UInt64
  ) throws -> Bool {
    let runs = try connection.prepare(
      """
      SELECT sum(count), min(first_key), max(first_key + count), count(number) FROM ZDL_IDENTITY
      WHERE root_entity = ?1 AND first_key >= ?2 AND first_key < ?2 + ?3
      """)
    defer { runs.reset() }
    runs.bind(Int64(root), at: 1)
    runs.bind(firstKey, at: 2)
    runs.bind(count, at: 3)
    guard count > 0, try runs.step(), runs.int64(0) == count, runs.int64(1) == firstKey,
      runs.int64(2) == firstKey &+ count, runs.int64(3) == 0
    else { return false }
    try checkNumbers(firstNumber, count)
    try connection.run(
      """
      UPDATE ZDL_IDENTITY SET number = first_key - ?2 + ?4
      WHERE root_entity = ?1 AND first_key >= ?2 AND first_key < ?2 + ?3
      """, .integer(Int64(root)), .integer(firstKey), .integer(count),
      .integer(Int64(bitPattern: firstNumber)))
    return true
  }

  /// Numbers as many keys from `key` on as one run holds, and returns how many.
  private func assignNumber(root: Int32, key: Int64, most: Int64, number: UInt64) throws -> Int64 {
    guard let run = try run(root: root, key: key) else {
      // Made here, and without a run so far: up to where the next run begins.
      let next = try connection.scalar(
        "SELECT MIN(first_key) FROM ZDL_IDENTITY WHERE root_entity = ? AND first_key > ?",
        .integer(Int64(root)), .integer(key))
      var count = most
      if case .integer(let next)? = next { count = min(count, next - key) }
      try assignIdentities(
        root: root, firstKey: key, count: count,
        firstIdentity: MintedIdentity.identity(prefix: try mintPrefix(), root: root, key: key),
        firstNumber: number)
      return count
    }
    let count = min(most, run.firstKey &+ run.count &- key)
    if case .integer(let known) = run.number, run.number != .null,
      known &+ (key &- run.firstKey) == Int64(bitPattern: number)
    {
      return count
    }
    try split(root: root, run.firstKey, run.count, run.identity, run.number, at: key, count, number)
    return count
  }

  /// Replaces a run by what lies before the numbered keys, the numbered keys, and what lies after them.
  private func split(
    root: Int32, _ firstKey: Int64, _ count: Int64, _ identity: UUID, _ number: SQLiteValue,
    at key: Int64, _ numbered: Int64, _ firstNumber: UInt64?
  ) throws {
    func old(_ offset: Int64) -> UInt64? {
      if case .integer(let first) = number { return UInt64(bitPattern: first &+ offset) }
      return nil
    }
    try connection.run(
      "DELETE FROM ZDL_IDENTITY WHERE root_entity = ? AND first_key = ?", .integer(Int64(root)),
      .integer(firstKey))
    let before = key - firstKey
    let after = count - before - numbered
    if before > 0 {
      try assignIdentities(
        root: root, firstKey: firstKey, count: before, firstIdentity: identity,
        firstNumber: old(0))
    }
    try assignIdentities(
      root: root, firstKey: key, count: numbered,
      firstIdentity: identity.following(by: UInt64(before)), firstNumber: firstNumber)
    if after > 0 {
      try assignIdentities(
        root: root, firstKey: key + numbered, count: after,
        firstIdentity: identity.following(by: UInt64(before + numbered)),
        firstNumber: old(before + numbered))
    }
  }

  /// Gives one object of a run an identity of its own.
  func replaceIdentity(of key: ObjectKey, by identity: UUID) throws {
    let root = schema.rootNumber(of: key.entity)
    guard let run = try run(root: root, key: key.key) else {
      return try assignIdentities(
        root: root, firstKey: key.key, count: 1, firstIdentity: identity, firstNumber: nil)
    }
    guard run.number == .null else {
      throw StoreError(
        .invalidArgument, "The zone knows the object by its identity.",
        suggestion: "Give another identity to objects that the zone does not know.", keys: [key])
    }
    try split(
      root: root, run.firstKey, run.count, run.identity, run.number, at: key.key, 1, nil)
    try connection.run(
      "UPDATE ZDL_IDENTITY SET identity = ? WHERE root_entity = ? AND first_key = ?",
      .blob(identity.networkBytes), .integer(Int64(root)), .integer(key.key))
  }

  /// Whether the zone gave an object a number.
  func isNumbered(root: Int32, key: Int64) throws -> Bool {
    try run(root: root, key: key).map { $0.number != .null } ?? false
  }

  private typealias Run = (firstKey: Int64, count: Int64, identity: UUID, number: SQLiteValue)

  /// The run that a key lies in.
  private func run(root: Int32, key: Int64) throws -> Run? {
    let statement = try connection.prepare(
      """
      SELECT first_key, count, identity, number FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key BETWEEN 1 AND ? ORDER BY first_key DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(Int64(root), at: 1)
    statement.bind(key, at: 2)
    // A run of a damaged file that begins below the first key is no object's.
    guard try statement.step(), key - statement.int64(0) < statement.int64(1),
      let identity = statement.uuid(2)
    else { return nil }
    return (statement.int64(0), statement.int64(1), identity, statement.value(3))
  }
}
