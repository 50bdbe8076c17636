import DriftlessServer
import DriftlessTesting
import Foundation
import Synchronization

extension SimulatedServer {
  /// Shortens the log, as an operator does, up to anywhere.
  ///
  /// - Returns: what came of it.
  func purge(_ dice: UInt64) throws -> String {
    let administration = try Administration(folder: try DataFolder(folder))
    defer { administration.close() }
    let head = try administration.zones().first?.head ?? 0
    let options = PurgeOptions(
      keepDays: 0, replicaDays: 0, isTried: true, through: dice % 3 == 0 ? head : dice % (head + 1))
    let now = Int64(clamping: clock.milliseconds) + step.milliseconds.withLock { $0 }
    do {
      let report = try administration.purgeZone(zoneName, options, at: now)
      return "up to \(report.floor) of \(report.head), by \(report.bound)"
    } catch let error as ServerError where error.code == .notPurgeable {
      return "\(error)"
    }
  }

  /// What `verify` finds in its tables.
  func damage() throws -> [String] {
    guard case .files = storage else { return [] }
    let administration = try Administration(folder: try DataFolder(folder))
    defer { administration.close() }
    return try administration.verify().damage.map { "\($0.table), \($0.place): \($0.message)" }
  }
}
