import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Which of the values that are here the zone names, where nothing is noted of it: a program of before noted nothing of what it took in.
extension SyncEngine {
  /// Asks the zone of which places it names the values that they have, and notes that, and of which it does not: nobody asks again. What
  /// it says comes with all that it has of those objects, and is noted part by part, as far as the turn of a sync goes.
  ///
  /// - Returns: those of which the zone did not say it: it tells nobody, or is not at the place of the log that the store is at. Nil where
  ///   the rest comes with the next sync.
  func learnNames(of places: [HeldPlace]) async throws -> Set<HeldPlace.Cell>? {
    let state = try replicaState()
    let cells = try unnotedCells(of: places)
    guard !cells.isEmpty else { return [] }
    var all = Set(cells.values.joined())
    // What was acknowledged above the cursor is no part of what the zone has at it.
    guard state.cursor > 0, state.mark?.sequence ?? 0 <= state.cursor else { return all }
    do {
      guard let digests = try await addedUp(at: state.position) else { return nil }
      guard digests.place == state.position.mark else { return all }
      // The zone may have added up meanwhile.
      valueTurn.restart(ofParts: 2)
      let transport = transport
      for numbers in Self.stretches(of: cells.keys.sorted()) {
        var rest = numbers
        while !rest.isEmpty {
          try Task.checkCancellation()
          let asked = rest
          let data = try await askInTurn {
            try await transport.digests(.objects(asked), at: state.position)
          }
          guard let data else { return nil }
          let (part, end) = try SnapshotReader.part(data, of: state.generation, numbers: rest)
          guard try noteNames(part, of: cells, rest.lowerBound..<end, at: state) else { return all }
          for number in rest.prefix(while: { $0 < end }) { all.subtract(cells[number] ?? []) }
          rest = end..<rest.upperBound
        }
      }
    } catch let error as ProtocolError where [.unsupported, .noSnapshot].contains(error.code) {
      log.debug("The zone does not say which large values it names: \(error.message)")
      return all
    } catch let error as SyncError where error.code == .notVerified {
      log.debug("The zone does not say which large values it names: \(error.message)")
      return all
    }
    return []
  }

  /// What the zone has added up, which may take it a while.
  ///
  /// - Returns: nil where a sync of a loop looks again with the next one.
  private func addedUp(at place: Cursor) async throws -> ZoneDigests? {
    let most = SyncTuning.letGoDigestWaitSeconds
    let seconds = valueTurn.isBounded ? SyncTuning.valueGraceSeconds : most
    let start = ContinuousClock.now
    do {
      let digests = try await askInTurn { try await self.digests(at: place, nil, seconds: seconds) }
      valueMemory.addsUpSince = nil
      return digests
    } catch let error as SyncError
      where error.code == .notVerified && valueTurn.isBounded
      && start.duration(to: .now) >= .seconds(seconds)
    {
      // What came sooner says that there are none: asking again and again would change nothing.
      let since = valueMemory.addsUpSince ?? .now
      guard since.duration(to: .now) < .seconds(most) else {
        valueMemory.addsUpSince = nil
        throw error
      }
      valueMemory.addsUpSince = since
      return nil
    }
  }

  /// - Parameter numbers: of the objects that the part has all of.
  /// - Returns: whether the store is where it was when the zone was asked.
  private func noteNames(
    _ part: SnapshotReader.Part, of cells: [UInt64: [HeldPlace.Cell]], _ numbers: Range<UInt64>,
    at state: ReplicaState
  ) throws -> Bool {
    var said: [HeldPlace.Cell: [LargeValue?]] = [:]
    try part.forEachWord(schema) { number, property, value in
      guard let cell = cells[number]?.first(where: { $0.property == property }) else { return }
      said[cell, default: []].append(value)
    }
    return try bookkeep { transaction in
      guard try Self.state(on: transaction.connection, of: store).position == state.position else {
        return false
      }
      var named = try NamedCells(transaction.connection)
      for (number, cells) in cells where numbers.contains(number) {
        for cell in cells {
          // What it says twice nobody here weighs, and on what it says nothing of it has no bytes.
          if let words = said[cell], words.count == 1, let value = words[0] {
            try named.note(value, of: cell.key, cell.property)
          } else {
            try named.noteUnnamed(cell.key, cell.property)
          }
        }
      }
      return true
    }
  }

  /// The places of which nothing is noted, by the numbers of their objects.
  private func unnotedCells(of places: [HeldPlace]) throws -> [UInt64: [HeldPlace.Cell]] {
    try store.read { transaction in
      let connection = transaction.connection
      let pending = try pendingSet(transaction, state: Self.state(on: connection, of: store))
      let named = try NamedCells(connection)
      var directory = ObjectDirectory(connection, readsAhead: true)
      var cells: [UInt64: [HeldPlace.Cell]] = [:]
      for place in places
      where try place.isOfZone(pending, transaction)
        && named.digest(of: place.key, place.property.name) == nil
      {
        let root = schema.root(of: place.key)
        if let number = try directory.number(root: root, key: place.key.key) {
          cells[number, default: []].append(place.cell)
        }
      }
      return cells
    }
  }

  /// Numbers that lie near each other are asked for at once.
  private static func stretches(of numbers: [UInt64]) -> [Range<UInt64>] {
    var stretches: [Range<UInt64>] = []
    for number in numbers {
      if let last = stretches.last, number - last.upperBound < SyncTuning.letGoGapMax {
        stretches[stretches.count - 1] = last.lowerBound..<number + 1
      } else {
        stretches.append(number..<number + 1)
      }
    }
    return stretches
  }
}

extension SnapshotReader.Part {
  /// Hands over what it says of attributes: the object's number, the property, and the large value that it names; nil for another one.
  fileprivate func forEachWord(
    _ schema: SyncSchema, _ body: (UInt64, String, LargeValue?) -> Void
  ) throws {
    for layer in 0..<count {
      let changeSet = try changeSet(layer)
      let index = changeSet.index
      let numbers = (layer == 0 ? self.numbers : []) + index.knownNumbers
      var rest = changeSet.columns[...]
      for group in index.groups {
        let own = rest.prefix(group.properties.count)
        rest = rest.dropFirst(group.properties.count)
        let names = index.entities[group.entity]
        guard let entity = schema.entity(namedNowOrBefore: names.name) else { continue }
        for (place, column) in zip(group.properties, own) {
          guard let property = entity.property(namedNowOrBefore: names.properties[place]) else {
            continue
          }
          for (row, object) in group.objects.enumerated() where numbers.indices.contains(object) {
            body(numbers[object], property.name, column.largeValue(at: row))
          }
        }
      }
    }
  }
}
