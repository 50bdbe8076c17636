import Driftless
import DriftlessSQLite
import Foundation

/// Finds objects by zone object number, and numbers by object, in the runs of `ZDL_IDENTITY`.
///
/// The run that was found last is kept: sorted numbers and keys mostly fall into it.
struct ObjectDirectory {
  private struct Run {
    var root: Int32
    var firstKey: Int64
    var count: Int64
    var number: UInt64?
  }

  private let connection: SQLiteConnection
  private var byNumber: Run?
  private var byKey: Run?
  /// Keys of a hierarchy between two runs: objects made here that the zone does not know.
  private var gap: (root: Int32, keys: Range<Int64>)?

  init(_ connection: SQLiteConnection) {
    self.connection = connection
  }

  /// Forgets the runs: call it after numbers or identities were assigned.
  mutating func refresh() {
    byNumber = nil
    byKey = nil
    gap = nil
  }

  /// Whether both keys lie between two runs, so that their identities are as far apart as they are.
  func isMinted(root: Int32, _ first: Int64, _ second: Int64) -> Bool {
    guard let gap, gap.root == root else { return false }
    return gap.keys.contains(first) && gap.keys.contains(second)
  }

  /// The root entity and key of the object with this number. Its row may be deleted.
  mutating func key(ofNumber number: UInt64) throws -> ObjectKey? {
    if let run = byNumber, let found = Self.key(ofNumber: number, in: run) { return found }
    try connection.forEachRow(
      """
      SELECT root_entity, first_key, count, number FROM ZDL_IDENTITY
      WHERE number <= ? ORDER BY number DESC LIMIT 1
      """, [.unsigned(number)]
    ) { byNumber = Self.run($0) }
    return byNumber.flatMap { Self.key(ofNumber: number, in: $0) }
  }

  /// The number of an object, when the zone knows it.
  mutating func number(root: Int32, key: Int64) throws -> UInt64? {
    if let gap, gap.root == root, gap.keys.contains(key) { return nil }
    if let run = byKey, run.root == root, let found = Self.number(of: key, in: run) {
      return found
    }
    byKey = nil
    try connection.forEachRow(
      """
      SELECT root_entity, first_key, count, number FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key <= ? ORDER BY first_key DESC LIMIT 1
      """, [.integer(Int64(root)), .integer(key)]
    ) { byKey = Self.run($0) }
    if let run = byKey, key &- run.firstKey < run.count { return Self.number(of: key, in: run) }
    let next = try connection.number(
      """
      SELECT coalesce(min(first_key), ?) FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key > ?
      """, [.integer(.max), .integer(Int64(root)), .integer(key)])
    gap = (root, key..<next)
    return nil
  }

  private static func run(_ row: SQLiteStatement) -> Run {
    Run(
      root: Int32(truncatingIfNeeded: row.int64(0)), firstKey: row.int64(1), count: row.int64(2),
      number: row.isNull(3) ? nil : UInt64(bitPattern: row.int64(3)))
  }

  private static func key(ofNumber number: UInt64, in run: Run) -> ObjectKey? {
    guard let first = run.number, number >= first, number &- first < UInt64(max(0, run.count))
    else { return nil }
    return ObjectKey(entity: run.root, key: run.firstKey &+ Int64(number &- first))
  }

  private static func number(of key: Int64, in run: Run) -> UInt64? {
    guard let first = run.number, key >= run.firstKey, key &- run.firstKey < run.count
    else { return nil }
    return first &+ UInt64(key &- run.firstKey)
  }
}
