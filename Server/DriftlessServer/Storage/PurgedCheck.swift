import DriftlessProtocol
import Foundation

/// What was purged of a log, and what stands for it, whatever database has both.
struct PurgedCheck {
  let zone: ZoneRecord
  /// Where the log goes on.
  private(set) var place: LogMark
  /// The number of the next object there.
  private(set) var nextObject: UInt64 = 1

  init(of zone: ZoneRecord) {
    self.zone = zone
    place = Cursor.start(generation: zone.generation).mark
  }

  /// What is kept of an entry whose change set is gone.
  struct Entry {
    let sequence: UInt64
    let firstObject: UInt64
    let newObjects: UInt64
    let digest: Data
    let chain: Data
    let namesSize: Int
    let hasReplica: Bool
  }

  /// - Returns: what is wrong with the next one.
  mutating func damages(of entry: Entry) -> [String] {
    let chain = place.chain.next(
      digest: entry.digest, sequence: entry.sequence, firstObjectNumber: entry.firstObject)
    var damages: [String] = []
    if entry.sequence != place.sequence + 1 {
      damages.append("entry \(place.sequence + 1) is missing")
    }
    if entry.firstObject != nextObject {
      damages.append("its objects do not go on from number \(nextObject)")
    }
    if chain.bytes != entry.chain {
      damages.append("its chain does not go on from the entry before it")
    }
    if entry.namesSize % 8 != 0 { damages.append("its list of names is cut off") }
    if !entry.hasReplica { damages.append("its replica is not known") }
    place = LogMark(sequence: entry.sequence, chain: LogChain(bytes: entry.chain) ?? chain)
    nextObject = entry.firstObject &+ entry.newObjects
    return damages
  }

  /// What is wrong with what stands for them.
  ///
  /// - Parameters:
  ///   - row: says what stands for them; nil for nothing.
  ///   - own: gives a place of the log.
  ///   - bytes: gives the bytes of a file of a name.
  ///   - unnoted: those of some values that the snapshot is not noted to name.
  func damages(
    of row: () throws -> PurgeRow?, own: (UInt64) throws -> LogMark?,
    bytes: @escaping (String) throws -> Data?, unnoted: ([LargeValue]) throws -> [LargeValue]
  ) throws -> [String] {
    let last = place.sequence
    let found: PurgeRow?
    do {
      found = try row()
    } catch let error as ServerError {
      return [error.message]
    }
    guard let row = found else {
      return last > 0 ? ["entries up to \(last) are gone, and nothing stands for them"] : []
    }
    var damages: [String] = []
    if last > row.floor {
      damages.append("entries up to \(last) are gone, and the floor is \(row.floor)")
    }
    let place = row.snapshot.place
    if row.floor > place.sequence {
      damages.append("it stands at \(place.sequence), below the floor")
    }
    if try own(place.sequence) != place {
      damages.append("its place \(place.sequence) is none of the log")
    }
    for file in row.snapshot.files
    where try bytes(file.name).map({ Snapshot.name(of: $0) }) != file.name {
      return damages + ["its file \(file.name) is not as it was written, or gone"]
    }
    let kept = KeptLog(row, of: zone, bytes: bytes)
    let missing = try unnoted(PurgeCheck.values(of: kept.snapshot, kept.bytes))
    if let first = missing.first {
      damages.append(
        "it names the large value \(first.name) and \(missing.count - 1) more that are not kept for it"
      )
    }
    return damages
  }
}
