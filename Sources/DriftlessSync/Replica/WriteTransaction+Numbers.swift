import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension WriteTransaction {
  /// Objects with this zone object number or a higher one have none any more: the zone does not know
  /// them, or has given the numbers to others.
  func forgetNumbers(from number: UInt64) throws {
    var split: (root: Int64, key: Int64, count: Int64, identity: UUID, kept: Int64)?
    try connection.forEachRow(
      """
      SELECT root_entity, first_key, count, identity, number FROM ZDL_IDENTITY
      WHERE number < ? ORDER BY number DESC LIMIT 1
      """, [.unsigned(number)]
    ) { row in
      let kept = Int64(bitPattern: number &- row.unsigned(4))
      guard kept < row.int64(2), let identity = UUID(networkBytes: row.data(3)) else { return }
      split = (row.int64(0), row.int64(1), row.int64(2), identity, kept)
    }
    try connection.perform(
      "UPDATE ZDL_IDENTITY SET number = NULL WHERE number >= ?", [.unsigned(number)])
    guard let split else { return }
    try connection.perform(
      "UPDATE ZDL_IDENTITY SET count = ? WHERE root_entity = ? AND first_key = ?",
      [.integer(split.kept), .integer(split.root), .integer(split.key)])
    try connection.perform(
      """
      INSERT INTO ZDL_IDENTITY(root_entity, first_key, count, identity, number)
      VALUES (?, ?, ?, ?, NULL)
      """,
      [
        .integer(split.root), .integer(split.key &+ split.kept),
        .integer(split.count &- split.kept),
        .uuid(split.identity.advanced(by: UInt64(bitPattern: split.kept))),
      ])
  }
}
