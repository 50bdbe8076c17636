import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// Until when a replica knew the log that its server lost, where it begins the same generation from its start: it has no
/// entries of it, so nothing else tells what of the log that is read again is in what it offers.
///
/// What was edited until then is an earlier word on a total or a set, as an offer is; what was edited later came since.
enum FormerLog {
  static let setting = "sync.formerLog"

  /// The replica offers all that it has, and reads the generation from its start.
  static func note(acknowledged: Int64, _ transaction: WriteTransaction) throws {
    let time = try transaction.newestTime(known: acknowledged)
    try transaction.setSetting(setting, time.map { .integer(Int64(bitPattern: $0.rawValue)) })
  }

  /// A zone that begins anew has nothing of before but what it is offered.
  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }

  /// Nil where what is offered is known by its entries, or nothing is.
  static func time(_ transaction: ReadTransaction) throws -> HybridTime? {
    guard case .integer(let time)? = try transaction.setting(setting) else { return nil }
    return HybridTime(rawValue: UInt64(bitPattern: time))
  }
}
