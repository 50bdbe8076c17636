import DriftlessProtocol
import Foundation

/// A zone's format level, and who cannot read all that it takes.
package struct ZoneFormatReport: Sendable {
  package let zone: ZoneRecord
  /// The highest level that the server's program reads.
  package let highest: UInt16
  /// Replicas that were seen and read less than a level.
  package let tooOld: [ReplicaReport]

  /// - Parameter level: which replicas are to read.
  package init(
    _ zone: ZoneRecord, _ replicas: [ReplicaReport], level: UInt16,
    highest: UInt16 = ChangeSetHeader.formatLevel
  ) {
    self.zone = zone
    self.highest = highest
    tooOld = replicas.filter {
      $0.lastHeardMilliseconds != nil && ($0.formatLevel ?? FormatLevel.untold) < level
    }
  }
}

extension ZoneAdministration {
  package func raiseFormat(of name: String, to level: UInt16) throws -> ZoneRecord {
    try raiseFormat(of: name, to: level, highest: ChangeSetHeader.formatLevel)
  }
}

extension ZoneRecord {
  /// Whether a level is another one than the zone has.
  ///
  /// - Throws: `ServerError` (`.badFormat`) for one that it cannot have.
  func canRaiseFormat(to level: UInt16, highest: UInt16) throws -> Bool {
    guard level <= highest else {
      throw ServerError(
        .badFormat,
        "this program reads format levels up to \(highest), and level \(level) is asked for",
        suggestion: "Update the server first, then the replicas, then raise the level.")
    }
    guard level >= formatLevel else {
      throw ServerError(
        .badFormat,
        "the zone \(name) is of format level \(formatLevel), which is not lowered to \(level)",
        suggestion: "Its log may have change sets of that level. Nothing was changed.")
    }
    return level > formatLevel
  }
}

extension ProtocolError {
  /// A change set of a level that the zone does not take.
  static func tooHighFormat(_ level: UInt16, _ zone: ZoneRecord) -> ProtocolError {
    ProtocolError(
      .unsupported,
      "the change set is of format level \(level), the zone \(zone.name) of \(zone.formatLevel)",
      suggestion: "Write it at the zone's level, or have the operator raise that once all replicas "
        + "read it: driftless-server zone format \(zone.name) --raise \(level)")
  }
}
