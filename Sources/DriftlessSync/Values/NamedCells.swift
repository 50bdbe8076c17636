import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Properties of objects whose large values are here, and of which the zone's own word is the name of the value: it has the bytes for
/// them as long as that is its word. Of a value that came or went within its change set, the zone may have the same bytes for another
/// object alone. Owns `ZDL_NAMED`.
struct NamedCells {
  private static let table = "ZDL_NAMED"
  private let connection: SQLiteConnection
  /// Whether there may be any: a store without large values never has one.
  private(set) var mayHaveAny: Bool

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    mayHaveAny =
      try EngineTables.has(Self.table, on: connection)
      && connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_NAMED)") != 0
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("digest", count: LargeValue.digestSize),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_NAMED(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, digest BLOB NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// The zone names the value of a property, and the row has it.
  mutating func note(_ value: LargeValue, of key: ObjectKey, _ property: String) throws {
    mayHaveAny = true
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_NAMED (entity, key, property, digest) VALUES (?, ?, ?, ?)",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property), .blob(value.digest)])
  }

  /// The zone says the value of a property, and not by a name: no value has this digest.
  mutating func noteUnnamed(_ key: ObjectKey, _ property: String) throws {
    mayHaveAny = true
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_NAMED (entity, key, property, digest) VALUES (?, ?, ?, ?)",
      [
        .integer(Int64(key.entity)), .integer(key.key), .text(property),
        .blob(Data(count: LargeValue.digestSize)),
      ])
  }

  /// The zone has another word on a property, or the row has no bytes of it.
  func strike(_ key: ObjectKey, _ property: String) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_NAMED WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)])
  }

  /// The object is gone.
  func strike(_ key: ObjectKey) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_NAMED WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)])
  }

  /// The digest by which the zone names the value of a property; nil where its word is another.
  func digest(of key: ObjectKey, _ property: String) throws -> Data? {
    guard mayHaveAny else { return nil }
    var digest: Data?
    try connection.forEachRow(
      "SELECT digest FROM ZDL_NAMED WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)]
    ) { digest = $0.data(0) }
    return digest
  }

  /// The objects that are deleted here and may have some.
  func deleted(_ pending: PendingSet) -> [ObjectKey] {
    guard mayHaveAny else { return [] }
    return pending.objects.compactMap { key, object in object.whole == .delete ? key : nil }
  }

  /// Lets go of what is noted of objects that the zone has deleted by now.
  ///
  /// - Parameter deleted: those that were deleted here before.
  func strikeGone(
    _ deleted: [ObjectKey], _ pending: PendingSet, _ transaction: ReadTransaction
  ) throws {
    for key in deleted where pending[key]?.whole != .delete {
      if try transaction.concreteKey(root: key) == nil { try strike(key) }
    }
  }

  /// The log is another one: what it names is not known.
  static func removeAll(on connection: SQLiteConnection) throws {
    guard try EngineTables.has(table, on: connection) else { return }
    try connection.perform("DELETE FROM ZDL_NAMED")
  }
}
