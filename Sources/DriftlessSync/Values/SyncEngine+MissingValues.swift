import Driftless
import DriftlessProtocol
import Foundation

/// Large values that are missing, and those of a snapshot.
extension SyncEngine {
  /// What is set aside for want of its bytes, without what waits in the zone until somebody asks for it.
  func missing(_ transaction: ReadTransaction) throws -> [ParkedValues.Row] {
    guard try transaction.setting(Self.missingSetting) != nil else { return [] }
    let timing = try ValueTiming(options, transaction)
    let missed = try MissedValues.digests(on: transaction.connection)
    return try ParkedValues.nameRows(on: transaction.connection).filter { row in
      guard let value = LargeCell.value(in: row.value) else { return false }
      return missed[value.digest] != nil
        || schema.entity(numbered: row.key.entity)?.property(named: row.property)
          .map { !timing.waits($0) } ?? true
    }
  }

  /// Brings what entries name that were set aside and are tried again now, of this log and of those that are gone; and all that is
  /// missing when a person says so.
  func fetchMissingValues() async throws {
    let (missing, due, asked) = try store.read { transaction in
      let timing = try ValueTiming(options, transaction)
      let connection = transaction.connection
      let entries = try Parking.entries(on: connection).filter(isDue).map {
        try Parking.frame(of: $0.sequence, on: connection)
      }
      let former = try FormerParking.entries(on: connection).filter { isDue($0.parked) }.map {
        try FormerParking.frame(of: $0.id, on: connection)
      }
      let asked = try transaction.setting(Self.retrySetting)
      return (
        try asked != nil
          ? self.missing(transaction).compactMap { LargeCell.value(in: $0.value) } : [],
        (entries + former).flatMap { timing.due($0, schema) }, asked
      )
    }
    if asked != nil { valueMemory = ValueMemory() }
    let wanted = Set(due).union(missing)
    if !wanted.isEmpty {
      try await fetch(wanted.sorted(), generation: replicaState().generation)
    }
    guard let asked else { return }
    try bookkeep { transaction in
      // Who asked again meanwhile may have mended what was missing still.
      guard try transaction.setting(Self.retrySetting) == asked else { return }
      try transaction.setSetting(Self.retrySetting, nil)
    }
  }

  // MARK: - Snapshots

  /// Brings the values here that a snapshot names and this replica has not read about.
  ///
  /// - Throws: `StoreError` (`.diskFull`) where all of it, which is here, does not fit where it belongs.
  func fetchValues(of snapshot: Snapshot) async throws {
    let state = try replicaState()
    let timing = try valueTiming()
    let (values, inflated) = try store.read { transaction in
      var values: [LargeValue: Int] = [:]
      var inflated = 0
      var reader = try SnapshotReader(snapshot) { file in
        try SegmentPieces.bytes(of: file.name, on: transaction.connection)
      }
      try reader.forEachPart { part in
        inflated = inflated.addingClamped(try part.inflatedBytes)
        for number in 0..<part.count where try !part.index(number).values.isEmpty {
          let changeSet = try part.changeSet(number)
          let pushed = try part.pushed(number)
          for value in timing.due(changeSet, schema, where: { pushed[$0].sequence > state.cursor })
          { values[value, default: 0] += 1 }
        }
      }
      return (values, inflated)
    }
    try await fetch(values, generation: snapshot.generation, areNamed: true)
    try requireRoom(
      for: inflated.multipliedClamped(by: SyncTuning.inflatedShare)
        .addingClamped(bytesToCopy(values)), "The zone's snapshot")
  }
}
