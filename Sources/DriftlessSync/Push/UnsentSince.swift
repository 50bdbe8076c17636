import Driftless
import DriftlessSQLite

/// The last transaction that the zone had acknowledged when the sending of what is pending began, until all is sent: saves after
/// it are named where later ones went over them (`SupersededSets`), whichever program goes on with the sending.
enum UnsentSince {
  static let setting = "sync.unsentSince"

  static func transaction(
    _ transaction: ReadTransaction, acknowledged: Int64
  ) throws -> Int64 {
    guard case .integer(let number)? = try transaction.setting(setting) else { return acknowledged }
    return min(number, acknowledged)
  }

  static func note(_ number: Int64, _ transaction: WriteTransaction) throws {
    guard try transaction.setting(setting) != .integer(number) else { return }
    try transaction.setSetting(setting, .integer(number))
  }

  static func exists(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(setting) != nil
  }

  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }
}
