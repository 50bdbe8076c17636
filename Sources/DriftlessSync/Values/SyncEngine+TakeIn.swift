import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Large values that have come, on their way to where they belong.
extension SyncEngine {
  /// Puts values that are here where they belong, some in one transaction, as far as there is room. What has come and does not fit makes
  /// room for what does.
  ///
  /// - Returns: the values that did not get into one of their places, and why.
  @discardableResult
  func takeIn(_ places: [NamedPlace]) throws -> [LargeValue: Fetched] {
    var failed: [LargeValue: Fetched] = [:]
    var rest = places[...]
    var most = Int.max
    while !rest.isEmpty {
      let run = Self.portion(of: rest, most)
      if let why = try place(run.filter { failed[$0.value] == nil }) {
        // The one that does not fit, or is wrong, is found by halves: those beside it come all the same.
        guard run.count == 1, let value = run.first?.value else {
          most = run.count / 2
          continue
        }
        log.warnOfLasting("The value \(value.name) has come, and does not get where it belongs")
        failed[value] = why
        if case .noRoom = why {
          valueMemory.noteInVain(value)
          try dropPieces(of: value)
        }
      }
      most = min(most, SyncTuning.placesAtOnce) * 2
      rest = rest.dropFirst(run.count).drop { failed[$0.value] != nil }
    }
    return failed
  }

  /// As many places as get their values in one transaction.
  private static func portion(
    of places: ArraySlice<NamedPlace>, _ most: Int
  ) -> ArraySlice<NamedPlace> {
    var bytes = 0
    let count = places.prefix(min(most, SyncTuning.placesAtOnce)).prefix { place in
      bytes = bytes.addingClamped(Int(clamping: place.value.length))
      return bytes <= SyncTuning.placedBytesAtOnce
    }.count
    return places.prefix(max(1, count))
  }

  /// Gives places their values in one transaction.
  ///
  /// - Returns: why nothing was done; nil where it was.
  private func place(_ places: [NamedPlace]) throws -> Fetched? {
    guard !places.isEmpty else { return nil }
    let bytes = Self.bytesToPlace(
      places.reduce(0) { $0.addingClamped(Int(clamping: $1.value.length)) })
    guard hasRoom(for: bytes) else { return .noRoom(bytes) }
    // It brings no more of them.
    let undone = undoneCache
    do {
      try settling { applier, _ -> Void in
        for place in places
        where try place.isAwaited(applier.pending, applier.transaction, schema) {
          try applier.takeIn(place.row(by: applier))
        }
      }
      undoneCache = undone
      return nil
    } catch let error as StoreError where error.code == .diskFull {
      return .noRoom(bytes)
    } catch let error where Self.isOfEntry(error) {
      return .refused(error)
    }
  }

  /// Puts what is here of values that are set aside where it belongs.
  func takeInHere() throws {
    let places = try store.read { transaction -> [NamedPlace] in
      let connection = transaction.connection
      let here = try ValuePieces.digests(on: connection)
      guard !here.isEmpty else { return [] }
      var areWhole: [LargeValue: Bool] = [:]
      return try ParkedValues.nameRows(on: connection).compactMap { row in
        guard let place = NamedPlace(row, schema), here.contains(place.value.digest) else {
          return nil
        }
        let isWhole =
          try areWhole[place.value] ?? ValuePieces.isWhole(place.value, on: connection)
        areWhole[place.value] = isWhole
        return isWhole ? place : nil
      }.sorted { $0.value < $1.value }
    }
    for (value, why) in try takeIn(places) {
      if case .noRoom = why { try noteMissed(value, .room) }
    }
  }
}
