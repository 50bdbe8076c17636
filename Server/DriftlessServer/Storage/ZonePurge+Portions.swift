import DriftlessProtocol
import Foundation

/// A purge where there is no room for all of it at once.
extension ZonePurge {
  /// A part of the log goes, up to the end of a push, and what becomes free within the database takes in the next one: half as
  /// large where there was no room, twice as large where there was.
  ///
  /// - Returns: what all of them did; where the last part found no room either, as far as they came.
  /// - Throws: as `run`; `.diskFull` where nothing could be purged.
  func runInPortions(at host: Int64) throws -> PurgeReport {
    let tables = place.tables(of: zone)
    let former = try tables.floor()
    let all = try tables.sum(after: former, through: zone.head)
    var (bytes, most) = (all.bytes, all.bytes)
    var outline: LogOutline?
    var refusal: (any Error)?
    while true {
      place.makeRoom()
      // Also of a part that found no room only when its floor was set.
      let floor = try tables.floor()
      var portion: LogPortion?
      if try tables.sum(after: floor, through: zone.head).bytes > bytes {
        let known = try outline ?? LogOutline(tables, after: floor)
        outline = known
        portion = try known.portion(after: floor, bytesMax: bytes, tables)
        if portion == nil { break }
      }
      do {
        let report = try run(at: host, portion)
        guard report.floor > floor else { return try joined(all, from: former, report) }
        bytes = min(2 * bytes, most)
      } catch {
        guard ServerError(ofFullDisk: error) != nil else { throw error }
        refusal = refusal ?? error
        bytes /= 2
        // It was added up in vain, and would be again.
        if options.isForced { most = bytes }
      }
    }
    let end = try tables.floor()
    guard end > former else { throw refusal ?? ServerError.noPortion(zone) }
    let done = LogPortion(last: end, head: zone.head, lowestBehind: .max)
    return try joined(all, from: former, run(at: host, done))
  }

  /// - Parameters:
  ///   - all: entries that were there, and their bytes, from the former floor on.
  ///   - end: a run that had nothing left to do.
  private func joined(
    _ all: (entries: Int, bytes: Int64), from former: UInt64, _ end: PurgeReport
  ) throws -> PurgeReport {
    let tables = place.tables(of: zone)
    let left = try tables.sum(after: end.floor, through: zone.head)
    let snapshot = try tables.row()?.snapshot
    return PurgeReport(
      zone: end.zone, floor: end.floor, formerFloor: former, head: end.head, bound: end.bound,
      entries: all.entries - left.entries, bytes: all.bytes - left.bytes,
      snapshotPlace: snapshot?.place.sequence, snapshotBytes: snapshot?.bytes, below: end.below,
      isDryRun: false)
  }
}

extension ServerError {
  fileprivate static func noPortion(_ zone: ZoneRecord) -> ServerError {
    ServerError(
      .diskFull, "there is no room for any part of the log of zone \(zone.name)",
      suggestion: "Make room there, then say the command again.")
  }
}
