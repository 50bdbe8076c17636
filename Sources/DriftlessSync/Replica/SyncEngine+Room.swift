import Driftless
import DriftlessProtocol
import DriftlessSQLite
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

  /// Whether the store's disk has room for so many bytes beside what is kept for saves. The write-ahead log gives back what it can.
  func hasRoom(for bytes: Int) -> Bool {
    func isThere() -> Bool {
      guard let room = room() else { return true }
      return room.has(bytes) || room.has(needed(bytes))
    }
    if isThere() { return true }
    store.cutLog(ofBytes: SyncTuning.cutLogBytesMin)
    return isThere()
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
        + letGoAdvice
    )
  }

  /// How to make room with large values that the zone has, as the rest of a suggestion, where the store may let go of some.
  private var letGoAdvice: String {
    if valueTurn.hasLetGo { return "" }
    let mayLetGo = try? store.read { transaction in
      let timing = try ValueTiming(options, transaction)
      return schema.entities.contains { $0.properties.contains(where: timing.waits) }
    }
    guard mayLetGo == true else { return "" }
    return
      " Large values that the zone has make room: syncctl values let-go --store \(store.label.shellWord)"
  }

  /// Gives the room back that large values had which are let go of, where the disk has not as much free beside what is kept for saves:
  /// files go once the log is in the store's file, and that gets shorter a little at a time, which takes no more than its last pages do.
  func giveBackRoom(of bytes: Int64) {
    guard bytes > 0, let room = room(), !room.has(Int(clamping: bytes)) else { return }
    store.cutLog(ofBytes: 1)
    var pages = SyncTuning.vacuumedPagesMax
    while !Task.isCancelled, pages > 0, let before = freePages(), before > 0 {
      do {
        try bookkeep { transaction in
          // Moved pages are no change of a row: the log that they begin gets its mark by one.
          try transaction.countWrite()
          try transaction.connection.execute("PRAGMA incremental_vacuum(\(pages))")
        }
      } catch let error as StoreError where error.code == .diskFull {
        pages /= 2
        continue
      } catch {
        return
      }
      store.cutLog(ofBytes: 1)
      // A file may be made so that it never gets shorter.
      guard let after = freePages(), after < before, self.room()?.has(Int(clamping: bytes)) == false
      else { return }
    }
  }

  private func freePages() -> Int64? {
    try? store.read { try $0.connection.number("PRAGMA freelist_count") }
  }

  /// Writes down what somebody asks for.
  ///
  /// - Parameter what: what it is, as the end of a sentence.
  static func noting<Value>(
    _ what: String, in store: PersistentStore, _ body: (WriteTransaction) throws -> Value
  ) throws -> Value {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    do {
      return try store.write(info, body).0
    } catch let error as StoreError where error.code == .diskFull {
      do {
        // What failed has given back what the log had.
        return try store.write(info, body).0
      } catch let error as StoreError where error.code == .diskFull {
        let free = store.url.flatMap { DiskRoom.words(beside: $0) }
        let lacking = store.url.map { DiskRoom.lacking(beside: $0) } ?? DiskRoom.toNote
        throw StoreError(
          .diskFull,
          "There is no room to note \(what), which takes up to \(DiskRoom.toNote) bytes of the disk with the store opened for it"
            + (free.map { ": \($0)." } ?? "."),
          suggestion:
            "Free \(lacking) bytes there, and run it again: letting go of large values makes its own room from then on. Nothing was changed."
        )
      }
    }
  }

  /// - Throws: `StoreError` (`.diskFull`) where there is no room for what others pushed.
  func requireRoomToApply(_ bytes: Int) throws {
    try requireRoom(
      for: bytes, "What others pushed", mayUseReserve: bytes <= SyncTuning.smallApplyBytes)
  }

  /// Lets go of what is here of the large values of some entries, since the disk has no room for them where they belong: they are in the
  /// zone still, and wait for room.
  ///
  /// - Returns: whether something was here of any.
  func letGoForRoom(_ batch: [Decoded]) throws -> Bool {
    var named: Set<LargeValue> = []
    for (_, changeSet) in batch {
      if let changeSet { named.formUnion(changeSet.valueCounts.keys) }
    }
    let here = try store.read { transaction in
      try named.filter { try ValuePieces.size(of: $0, on: transaction.connection) > 0 }
    }
    guard !here.isEmpty else { return false }
    for value in here.sorted() {
      noteNoRoom(for: value)
      try noteMissed(value, .room)
    }
    try bookkeep { try dropPieces(of: here, $0) }
    return true
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
    length.multipliedClamped(by: SyncTuning.placedValueShare - 1)
  }
}
