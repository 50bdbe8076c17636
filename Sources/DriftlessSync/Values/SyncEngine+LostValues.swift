import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Large values that the server lost, or that a comparison needs.
extension SyncEngine {
  /// There from before a refill until the large values that its entries name are at the server as well: the place of the log
  /// before those entries.
  static let offeredSetting = "sync.values.offered"

  /// The server gets these entries, and may lack values that they name.
  func noteRefill(_ entries: [PullPage.Entry], after sequence: UInt64) throws {
    guard entries.contains(where: { !ValuePieces.named(by: $0).isEmpty }) else { return }
    try bookkeep { transaction in
      guard try transaction.setting(Self.offeredSetting) == nil else { return }
      try transaction.setSetting(Self.offeredSetting, .integer(Int64(clamping: sequence)))
    }
  }

  func forgetRefill() throws {
    guard try store.read({ try $0.setting(Self.offeredSetting) }) != nil else { return }
    try bookkeep { try $0.setSetting(Self.offeredSetting, nil) }
  }

  /// Sends values that the server lacks of the entries that it was handed, as far as the store's rows have them. Sealed values are
  /// none of those: what was sealed is kept nowhere.
  func offerNotedValues() async throws {
    guard case .integer(let after)? = try store.read({ try $0.setting(Self.offeredSetting) })
    else { return }
    var place = UInt64(clamping: after)
    do {
      while true {
        let entries = try store.read {
          try KeptFrames.entries(
            after: place, bytesMax: options.pullBytesMax, on: $0.connection)
        }
        guard let last = entries.last else { break }
        try await offerValues(named: entries)
        place = last.sequence
      }
    } catch let error as ProtocolError where error.code == .diskFull {
      return log.warning("The server has no room for large values that it lost: \(error.message)")
    } catch let error as ProtocolError where error.code == .unsupported {
      log.warning("The server takes none of the large values that it lost")
    }
    try forgetRefill()
  }

  private func offerValues(named entries: [PullPage.Entry]) async throws {
    let state = try replicaState()
    var wanted: Set<LargeValue> = []
    for value in Set(entries.flatMap { ValuePieces.named(by: $0) }).sorted() {
      let question = ValuePiece(
        value: value, replica: state.replica, generation: state.generation, first: 0,
        bytes: Data())
      do {
        guard try await !transport.put(question).isWhole else { continue }
        wanted.insert(value)
      } catch let error as ProtocolError where error.code == .tooLarge {
        log.warning("\(error.message): the zone is without it")
      }
    }
    guard !wanted.isEmpty else { return }
    let found = try bookkeep { try Self.copy(wanted, in: schema, $0) }
    for value in found {
      try await upload(value, replica: state.replica, generation: state.generation)
    }
    let lost = wanted.subtracting(found).count
    if lost > 0 { log.warning("The server lacks \(lost) large values that this store has not") }
    if !found.isEmpty { try bookkeep { try ValuePieces.trim(on: $0.connection) } }
  }

  /// Copies those values that rows have to where they are sent from.
  private static func copy(
    _ wanted: Set<LargeValue>, in schema: SyncSchema, _ transaction: WriteTransaction
  ) throws -> [LargeValue] {
    let lengths = Set(wanted.map { Int(clamping: $0.length) })
    var found: Set<LargeValue> = []
    for entity in schema.entities {
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { keys.append($0) }
      for key in keys {
        for case .data(let data) in try transaction.knownRow(key)?.values ?? []
        where lengths.contains(data.count) {
          guard let value = LargeValue(of: data), wanted.contains(value),
            found.insert(value).inserted
          else { continue }
          for first in stride(from: 0, to: data.count, by: LargeValue.pieceBytesMax) {
            try ValuePieces.add(
              Data(data.dropFirst(first).prefix(LargeValue.pieceBytesMax)), at: first, of: value,
              on: transaction.connection)
          }
        }
      }
    }
    return found.sorted()
  }

  /// Brings the values here that a repair writes: of what differs, and of objects that are missing.
  func fetchDiffering(
    _ part: SnapshotReader.Part, _ verification: ZoneVerification, _ columns: ComparedColumns
  ) async throws {
    let values = try store.read { transaction -> Set<LargeValue> in
      var values: Set<LargeValue> = []
      let state = try checkPlace(verification, transaction)
      var comparison = try ZoneComparison(
        transaction, schema: schema, pending: try pendingSet(transaction, state: state),
        columns: columns)
      var frames = try PageApplier.frames(
        of: part, at: verification.place.sequence, schema,
        ObjectDirectory(transaction.connection))
      guard frames.contains(where: { !$0.changeSet.index.values.isEmpty }) else { return values }
      try comparison.compare(part, &frames)
      for found in comparison.found {
        switch found {
        case .missing(_, let rows):
          for row in rows { values.formUnion(frames[row.layer].changeSet.values(at: row)) }
        case .value(_, _, _, _, .value(let value)):
          if let large = LargeCell.value(in: value) { values.insert(large) }
        case .value, .deleted, .otherEntity, .unsaid: continue
        }
      }
      return values
    }
    try await fetch(values.sorted(), generation: verification.place.generation)
  }
}

extension ChangeSet {
  /// The large values of a row of a group.
  fileprivate func values(at place: ZoneComparison.Place) -> [LargeValue] {
    let before = index.groups.prefix(place.group).reduce(0) { $0 + $1.properties.count }
    let own = columns.dropFirst(before).prefix(index.groups[place.group].properties.count)
    return own.compactMap { $0.largeValue(at: place.row) }
  }
}
