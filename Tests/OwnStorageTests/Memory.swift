import DriftlessProtocol
import DriftlessServer
import Foundation

/// All that the storage has. A value, so that a transaction that fails leaves what was there.
struct Memory: Sendable {
  struct Zone: Sendable {
    var record: ZoneRecord
    var entries: [Entry] = []
    var objects: [UInt64: ObjectState] = [:]
    /// In the order of their identities.
    var runs: [KnownRun] = []
    var tombstones: [UUID: UInt64] = [:]
    var keys: [Data: (object: UInt64, constraint: ZoneConstraint)] = [:]
    /// Small numbers of names of properties.
    var names: [String: UInt64] = [:]

    init(_ record: ZoneRecord) { self.record = record }
  }

  struct Entry: Sendable {
    let entry: NewEntry
    let firstObject: UInt64
  }

  var zones: [Int64: Zone] = [:]
  var replicas: [UUID: KnownReplica] = [:]
  var audit: [AuditEvent] = []
  var tokens: [String: TokenRecord] = [:]
  var operators: [String: OperatorRecord] = [:]
  /// Numbers of zones and replicas are given once.
  private var lastNumber: Int64 = 0

  mutating func nextNumber() -> Int64 {
    lastNumber += 1
    return lastNumber
  }

  func zone(named name: String) throws -> Zone {
    guard let zone = zones.values.first(where: { $0.record.name == name }) else {
      throw ServerError(.noZone, "there is no zone \(name)", suggestion: "Create it.")
    }
    return zone
  }

  /// A token, by what its zone is called now.
  func token(_ id: String) -> TokenRecord? {
    guard let token = tokens[id], let zone = zones[token.zoneID]?.record else { return nil }
    return token.with(zoneName: zone.name)
  }

  /// The zone as it is now.
  ///
  /// - Throws: `ServerError` (`.generationChanged`) where it began anew.
  func current(_ record: ZoneRecord) throws -> Zone {
    guard let zone = zones[record.id], zone.record.generation == record.generation else {
      throw ServerError(
        .generationChanged, "the zone \(record.name) is another by now", suggestion: "Enroll again."
      )
    }
    return zone
  }
}

extension Memory.Zone {
  /// Place 0 is before the first entry.
  func place(at sequence: UInt64) -> LogMark? {
    if sequence == 0 { return Cursor.start(generation: record.generation).mark }
    guard sequence <= UInt64(entries.count) else { return nil }
    return LogMark(sequence: sequence, chain: entries[Int(sequence) - 1].entry.chain)
  }

  /// - Throws: `ServerError` (`.diverged`) when a place is not the log's own.
  func check(_ mark: LogMark) throws {
    guard place(at: mark.sequence) == mark else {
      throw ServerError(
        .diverged, "entry \(mark.sequence) is not that of the log", suggestion: "Sync.",
        head: record.head)
    }
  }
}

extension TokenRecord {
  func with(
    zoneName: String? = nil, revoked: Int64? = nil, expires: Int64? = nil,
    binding: TokenBinding? = nil
  ) -> TokenRecord {
    TokenRecord(
      id: id, hash: hash, zoneID: zoneID, zoneName: zoneName ?? self.zoneName, verbs: verbs,
      createdMilliseconds: createdMilliseconds,
      revokedMilliseconds: revokedMilliseconds ?? revoked, name: name,
      expiresMilliseconds: expires ?? expiresMilliseconds, binding: binding ?? self.binding)
  }
}

extension OperatorRecord {
  func with(revoked: Int64) -> OperatorRecord {
    OperatorRecord(
      id: id, hash: hash, name: name, createdMilliseconds: createdMilliseconds,
      expiresMilliseconds: expiresMilliseconds, revokedMilliseconds: revokedMilliseconds ?? revoked)
  }
}

extension ZoneRecord {
  func with(
    name: String? = nil, limits: ZoneLimits? = nil, isPutBack: Bool? = nil,
    entry: NewEntry? = nil
  ) -> ZoneRecord {
    let contents = entry?.push.contents
    return ZoneRecord(
      id: id, name: name ?? self.name, zoneID: zoneID, generation: generation, parent: parent,
      intent: intent, replacements: replacements, formatLevel: formatLevel,
      head: entry?.sequence ?? head, chain: entry?.chain ?? chain,
      nextObject: nextObject + (contents?.newCount ?? 0),
      newestMilliseconds: max(newestMilliseconds, contents?.newestMilliseconds ?? 0),
      limits: limits ?? self.limits, isPutBack: isPutBack ?? self.isPutBack)
  }
}
