import Driftless
import DriftlessProtocol
import Foundation

/// What sync writes of its own accord leaves room for saves: what does not fit waits, and is asked for again once there is room.
extension SyncEngine {
  /// What the store's disk has free; nil where that is not known.
  func room() -> DiskRoom? { store.url.flatMap { options.diskRoom($0) } }

  /// What so many bytes take of the disk: pages that are free within the store's file are used first. Through the write-ahead
  /// log, which is at most the other half, goes all of it.
  private func needed(_ bytes: Int) -> Int {
    let free: Int64 =
      (try? store.read { transaction in
        let connection = transaction.connection
        return try connection.number("PRAGMA freelist_count")
          * connection.number("PRAGMA page_size")
      }) ?? 0
    return bytes - min(Int(clamping: free), bytes / 2)
  }

  /// Whether the store's disk has room for so many bytes beside what is kept for saves.
  func hasRoom(for bytes: Int) -> Bool {
    guard let room = room() else { return true }
    return room.has(bytes) || room.has(needed(bytes))
  }

  /// - Parameters:
  ///   - bytes: about as many as are written.
  ///   - what: what they are, as the beginning of a sentence.
  ///   - mayUseReserve: whether half of what is kept for saves may be used.
  /// - Throws: `StoreError` (`.diskFull`) where there is no room; nothing was written so far.
  func requireRoom(for bytes: Int, _ what: String, mayUseReserve: Bool = false) throws {
    guard var room = room() else { return }
    let reserve = room.reserve
    if mayUseReserve { room.reserve /= 2 }
    guard !room.has(bytes), case let bytes = needed(bytes), !room.has(bytes) else { return }
    throw StoreError(
      .diskFull,
      "\(what) needs \(bytes) bytes on the file system of \(store.label), which has \(room.free) free, and \(reserve) of "
        + "them are kept for saves.",
      suggestion:
        "Make room there: sync goes on by itself then, from where it stands. Saves go on, and what they change is sent."
    )
  }

  /// About what entries take while they are applied, with the large values that are here and go where they belong. Headers of
  /// this store's own take nothing.
  func bytesToApply(_ batch: [Decoded]) throws -> Int {
    var bytes = 0
    var values: [LargeValue: Int] = [:]
    for (entry, changeSet) in batch {
      guard let changeSet else { continue }
      let header = changeSet.header
      bytes = bytes.addingClamped(entry.frame.count.multipliedClamped(by: 2))
        .addingClamped(
          header.indexSize.raw.addingClamped(header.valuesSize.raw)
            .multipliedClamped(by: SyncTuning.inflatedShare))
      values.merge(changeSet.valueCounts, uniquingKeysWith: +)
    }
    return bytes.addingClamped(try bytesToCopy(values))
  }

  /// What large values that are here take on their way to where they belong.
  ///
  /// - Parameter values: with how many objects get each: it takes room once in each of them.
  func bytesToCopy(_ values: [LargeValue: Int]) throws -> Int {
    guard !values.isEmpty else { return 0 }
    return try store.read { transaction in
      try values.reduce(0) {
        try $0.addingClamped(
          Self.bytesToPlace(ValuePieces.size(of: $1.key, on: transaction.connection))
            .multipliedClamped(by: $1.value))
      }
    }
  }

  /// What a value that is here takes beside that on its way to one place where it belongs.
  static func bytesToPlace(_ length: Int) -> Int {
    length.multipliedClamped(by: SyncTuning.valueShare - 1)
  }
}
