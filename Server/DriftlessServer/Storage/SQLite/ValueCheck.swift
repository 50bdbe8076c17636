import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension DatabaseCheck {
  /// Of a large value that is damaged.
  static let byReplica =
    "Leave it: the server lets go of what is damaged when it is started or asked for it, and a replica that has it sends it again."

  /// Whether the bytes of each whole value are what its digest says, a piece at a time. That a log names one which is not here is
  /// no damage where that is known, and told apart: a server that was put back may have got the entry without it.
  mutating func checkValues() throws {
    let suggestion = Self.byReplica
    let there = try connection.rows("SELECT 1 FROM sqlite_master WHERE name = 'value'")
    guard !there.isEmpty else { return }
    let rows = try connection.rows(
      """
      SELECT value.id, lower(hex(digest)), length, zone.name, digest FROM value
      LEFT JOIN zone ON zone.id = value.zone WHERE replica = x''
      """)
    for row in rows {
      guard case .integer(let id) = row[0], case .text(let name) = row[1],
        case .integer(let length) = row[2], case .blob(let digest) = row[4]
      else { continue }
      let place = "value \(name)"
      guard case .text(let zone) = row[3] else {
        note("value", nil, place, "its zone is not there", suggestion)
        continue
      }
      guard let value = LargeValue(digest: digest, length: UInt64(clamping: length)) else {
        note("value", zone, place, "its row is damaged", suggestion)
        continue
      }
      let isWhole = try value.isWhole {
        try LargeValues.piece(of: id, first: $0, on: connection)
      }
      if !isWhole {
        note("value", zone, place, "its bytes are not what its digest says", suggestion)
      }
    }
    for zone in try readableZones() {
      outcome.note(
        lacked: try LargeValues.lost(
          of: zone.id, after: Data(), countMax: Self.damageMax, on: connection),
        of: zone.name, count: try LargeValues.lostCount(of: zone.id, on: connection))
      let gone = try LargeValues.gone(
        from: Data(), through: nil, countMax: Self.damageMax + 1, zone: zone.id, on: connection)
      for digest in gone {
        note(
          "value", zone.name, "value \(Hexadecimal.text(digest))",
          "it is named, and neither here nor told to replicas as lost", suggestion)
      }
    }
  }
}
