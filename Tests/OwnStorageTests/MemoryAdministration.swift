import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization

/// What an operator does to zones in memory.
struct MemoryAdministration: ZoneAdministration {
  let shared: MemoryStorage.Shared

  /// Changes a zone, and writes down who did what.
  @discardableResult private func change(
    _ name: String, _ act: AuditEvent.Act, detail: String? = nil,
    _ body: (inout Memory.Zone, inout Memory) throws -> Void
  ) throws -> ZoneRecord {
    try shared.memory.withLock { memory in
      var (zone, copy) = (try memory.zone(named: name), memory)
      try body(&zone, &copy)
      copy.zones[zone.record.id] = zone
      copy.audit.append(AuditEvent(act, zone: name, detail: detail, at: MemoryStorage.now))
      memory = copy
      return zone.record
    }
  }

  func zones() throws -> [ZoneRecord] {
    shared.memory.withLock { $0.zones.values.map(\.record) }.sorted { $0.name < $1.name }
  }

  private func checkFree(_ name: String, _ memory: Memory) throws {
    guard ZoneName.isValid(name) else {
      throw ServerError(.badName, "\(name) is no name of a zone", suggestion: "Use letters.")
    }
    guard (try? memory.zone(named: name)) == nil else {
      throw ServerError(.exists, "the zone \(name) exists", suggestion: "Use another name.")
    }
  }

  func createZone(_ name: String) throws -> ZoneRecord {
    try shared.memory.withLock { memory in
      try checkFree(name, memory)
      let generation = UUID()
      let zone = ZoneRecord(
        id: memory.nextNumber(), name: name, zoneID: UUID(), generation: generation, parent: nil,
        intent: .offer, replacements: [], formatLevel: ChangeSetHeader.formatLevel, head: 0,
        chain: Cursor.start(generation: generation).chain, nextObject: 1, newestMilliseconds: 0)
      memory.zones[zone.id] = Memory.Zone(zone)
      memory.audit.append(AuditEvent(.zoneCreated, zone: name, at: MemoryStorage.now))
      return zone
    }
  }

  func renewZone(_ name: String, intent: ZoneIntent) throws -> ZoneRecord {
    try change(name, .zoneRenewed, detail: intent.rawValue) { zone, memory in
      let (old, generation) = (zone.record, UUID())
      zone = Memory.Zone(
        ZoneRecord(
          id: old.id, name: old.name, zoneID: old.zoneID, generation: generation,
          parent: ZoneParent(generation: old.generation, sequence: old.head, chain: old.chain),
          intent: intent,
          replacements: old.replacements + (intent == .replace ? [generation] : []),
          formatLevel: old.formatLevel, head: 0, chain: Cursor.start(generation: generation).chain,
          nextObject: 1, newestMilliseconds: old.newestMilliseconds, limits: old.limits))
      memory.replicas = memory.replicas.filter { $0.value.zone != old.id }
      // In a new generation replicas take other IDs.
      for (id, token) in memory.tokens where token.zoneID == old.id && token.binding != .none {
        memory.tokens[id] = token.with(binding: .first)
      }
    }
  }

  func renameZone(_ name: String, to other: String) throws -> ZoneRecord {
    try change(name, .zoneRenamed) { zone, memory in
      try checkFree(other, memory)
      zone.record = zone.record.with(name: other)
    }
  }

  @discardableResult func deleteZone(_ name: String) throws -> ServerError? {
    try shared.memory.withLock { memory in
      let zone = try memory.zone(named: name).record
      memory.zones[zone.id] = nil
      memory.tokens = memory.tokens.filter { $0.value.zoneID != zone.id }
      memory.replicas = memory.replicas.filter { $0.value.zone != zone.id }
      memory.audit.append(AuditEvent(.zoneDeleted, zone: name, at: MemoryStorage.now))
      return nil
    }
  }

  func changeLimits(of name: String, _ changes: [String: Int?]) throws -> ZoneLimits {
    let before = try inspectZone(name).zone.limits
    var limits = before
    for (bound, value) in changes { try limits.set(bound, to: value) }
    let changed = ZoneLimits.names.filter { limits[$0] != before[$0] }.map { bound in
      "\(bound) \(before[bound].map { "\($0)" } ?? "-") → \(limits[bound].map { "\($0)" } ?? "-")"
    }
    return try change(name, .limitsChanged, detail: changed.joined(separator: ", ")) { zone, _ in
      zone.record = zone.record.with(limits: limits)
    }.limits
  }

  func markPutBack(_ name: String) throws -> ZoneRecord {
    try change(name, .zonePutBack) { zone, _ in zone.record = zone.record.with(isPutBack: true) }
  }

  func inspectZone(_ name: String) throws -> ZoneReport {
    try shared.memory.withLock { memory in
      let zone = try memory.zone(named: name)
      return ZoneReport(
        zone: zone.record, createdMilliseconds: 0, entries: zone.entries.count,
        bytes: zone.entries.reduce(0) { $0 + Int64($1.entry.push.frame.count) },
        objects: zone.record.nextObject - 1,
        replicas: memory.replicas.values.count { $0.zone == zone.record.id }, tokens: 0,
        lastPushMilliseconds: zone.entries.last?.entry.receivedMilliseconds)
    }
  }

  func serverMilliseconds() throws -> Int64 { MemoryStorage.now }

  func audit(since milliseconds: Int64) throws -> [AuditEvent] {
    shared.memory.withLock { $0.audit.filter { $0.timeMilliseconds >= milliseconds } }
  }

  func verify() throws -> DatabaseCheck.Outcome { DatabaseCheck.Outcome() }
  func floor(of zone: ZoneRecord) throws -> UInt64 { 0 }
  func snapshot(of zone: ZoneRecord) throws -> Snapshot? { nil }
  func codes() throws -> [CodeRecord] { [] }
  func replicas(of name: String?) throws -> [ReplicaReport] { [] }
  func namedValues(of name: String) throws -> NamedValues { NamedValues(count: 0, bytes: 0) }
  func revokeCodes() throws -> [CodeRecord] { [] }

  // MARK: - What there is none of

  func foldZone(_ name: String) throws -> Snapshot { throw ServerError.unsupported }
  func purgeZone(_ name: String, _ options: PurgeOptions) throws -> PurgeReport {
    throw ServerError.unsupported
  }
  func raiseFormat(of name: String, to level: UInt16, highest: UInt16) throws -> ZoneRecord {
    throw ServerError.unsupported
  }
  func forgetReplicas(
    of name: String, _ choice: ForgettingChoice, isDryRun: Bool
  ) throws -> ForgettingReport { throw ServerError.unsupported }
  func log(of name: String, from first: UInt64, count: Int) throws -> [LogLine] {
    throw ServerError.unsupported
  }
  func createCode(
    _ request: CodeRequest, handOut: (CodeRecord, String) throws -> Void
  ) throws -> CodeRecord { throw ServerError.unsupported }
  func revokeCode(id: String) throws { throw ServerError.unsupported }
  func clock(at host: Int64, limits: ServerLimits) throws -> ClockReport {
    throw ServerError.unsupported
  }
  func setClockBack(to host: Int64) throws -> ClockReport { throw ServerError.unsupported }
}
