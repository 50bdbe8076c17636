import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Large values that are not where they belong: that the server lost, that this replica could not fetch, that a comparison needs.
extension SyncEngine {
  /// Sends what this store has of the large values that the zone lacks, and takes in those that it had to do without and that are
  /// there by now.
  ///
  /// - Parameter mark: what the zone's last page said of the values that it lacks.
  func mendValues(_ mark: String?) async throws {
    let generation = try replicaState().generation
    var lacking: Set<LargeValue> = []
    if let mark {
      if valueMemory.mark != mark {
        valueMemory.lacking = try await lostValues(of: generation)
        valueMemory.mark = mark
      }
      lacking = valueMemory.lacking
      try await offerValues(lacking, generation: generation)
    }
    let missing = try store.read { transaction in
      try ParkedValues.rows(on: transaction.connection).compactMap {
        LargeCell.value(in: $0.value)
      }
    }
    let wanted = Set(missing).subtracting(lacking).filter { valueMemory.mayAsk(for: $0) }
    guard !wanted.isEmpty else { return }
    try await fetch(wanted.sorted(), generation: generation)
    for value in wanted
    where try !store.read({ try ValuePieces.isWhole(value, on: $0.connection) }) {
      valueMemory.noteInVain(value)
    }
    try replayParked()
    try bookkeep { try ValuePieces.trim(on: $0.connection) }
  }

  private func lostValues(of generation: UUID) async throws -> Set<LargeValue> {
    var values: Set<LargeValue> = []
    var last: Data?
    while values.count < SyncTuning.lostValuesMax {
      let listed = try await transport.lostValues(of: generation, after: last).sorted
      values.formUnion(listed)
      guard listed.count == LostValues.countMax, let end = listed.last?.digest, end != last
      else { break }
      last = end
    }
    return values
  }

  /// Sends those values that rows have here. Sealed ones are none of those: what was sealed is kept nowhere.
  private func offerValues(_ lacking: Set<LargeValue>, generation: UUID) async throws {
    let wanted = lacking.filter { valueMemory.mayLook(for: $0) }
    guard !wanted.isEmpty else { return }
    let places = try store.read { try Self.places(of: wanted, in: schema, $0) }
    for value in wanted where places[value] == nil { valueMemory.noteNotHere(value) }
    let replica = try replicaState().replica
    for (value, place) in places.sorted(by: { $0.key < $1.key }) {
      guard let bytes = try store.read({ try place.bytes($0) }), LargeValue(of: bytes) == value
      else { continue }
      do {
        try await upload(value, replica: replica, generation: generation) { first in
          Data(bytes.dropFirst(first).prefix(LargeValue.pieceBytesMax))
        }
        log.notice("The server had lost the large value \(value.name), and has it back from here")
      } catch let error as ProtocolError where Self.unwanted.contains(error.code) {
        log.warning("The server takes no large value back from here: \(error.message)")
        // It takes none, or this one.
        let isAll = error.code != .tooLarge && error.code != .damaged
        for value in isAll ? Set(places.keys) : [value] { valueMemory.noteNotHere(value) }
        if isAll { return }
      }
    }
  }

  private static let unwanted: [ProtocolError.Code] = [
    .diskFull, .unsupported, .tooLarge, .forbidden, .damaged,
  ]

  /// Where the bytes of a value are in the store.
  private struct Place {
    let key: ObjectKey
    let slot: Int

    func bytes(_ transaction: ReadTransaction) throws -> Data? {
      guard case .data(let data)? = try transaction.knownRow(key)?.values[slot] else { return nil }
      return data
    }
  }

  private static func places(
    of wanted: Set<LargeValue>, in schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> [LargeValue: Place] {
    let lengths = Set(wanted.map { Int(clamping: $0.length) })
    var places: [LargeValue: Place] = [:]
    for entity in schema.entities {
      let slots = entity.properties.filter { $0.mayBeLarge }.map(\.slot)
      guard !slots.isEmpty else { continue }
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { keys.append($0) }
      for key in keys {
        guard let values = try transaction.knownRow(key)?.values else { continue }
        for slot in slots {
          guard case .data(let data) = values[slot], lengths.contains(data.count),
            let value = LargeValue(of: data), wanted.contains(value)
          else { continue }
          places[value] = Place(key: key, slot: slot)
        }
        if places.count == wanted.count { return places }
      }
    }
    return places
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

extension SyncSchema.Property {
  /// Whether its values go by themselves when they are large, and are here as they went.
  fileprivate var mayBeLarge: Bool {
    guard case .attribute(let type) = kind, !isSealed else { return false }
    return switch type {
    case .binaryData, .transformable, .objectID, .composite, .undefined: true
    case .integer16, .integer32, .integer64, .double, .float, .decimal, .boolean, .string, .date,
      .uuid, .uri:
      false
    }
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
