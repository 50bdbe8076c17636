package import DriftlessProtocol
package import Foundation

/// What an operator's command does to the storages of this package alone.
package protocol OperatedStorage: ZoneAdministration {
  /// Takes large values from a file that zones lack and the file's logs name: what `restore` put aside, or a backup.
  ///
  /// - Parameters:
  ///   - name: of this zone; nil for all that the file has as well.
  ///   - isDryRun: it only counts them.
  /// - Returns: by zone, those of which the file has some.
  /// - Throws: `ServerError`: `.noZone`, `.noData`, `.damagedDatabase`, `.diskFull`. What was taken by then stays, and the command goes
  ///   on where it was.
  func takeValues(from file: URL, zone name: String?, isDryRun: Bool) throws -> [TakenValues]

  /// As `renewZone(_:intent:)`.
  ///
  /// - Returns: the zone, and where some of what its former log had is left: why. Who serves lets go of it later.
  /// - Throws: as that.
  func renew(
    _ name: String, intent: ZoneIntent
  ) throws -> (zone: ZoneRecord, rest: ServerError?)
}

extension OperatedStorage {
  /// Those that a file has as well.
  func zones(named name: String?, of file: ValueFile) throws -> [ZoneRecord] {
    let zones = try zones()
    guard let name else { return zones.filter { file.zones[$0.zoneID] != nil } }
    guard let zone = zones.first(where: { $0.name == name }) else {
      throw ServerError.noSuchZone(name)
    }
    return file.zones[zone.zoneID] != nil ? [zone] : []
  }
}
