import DriftlessProtocol
import Foundation

/// What a purge asks of one zone, and writes of it: one answer to it a database. Who writes has a transaction in which nobody else
/// writes to the zone.
protocol PurgeTables {
  var zone: ZoneRecord { get }

  // MARK: What keeps the floor down

  /// The first of some entries that the server had at a time or later.
  ///
  /// - Parameter end: the entry behind the last of them.
  func firstEntry(from first: UInt64, before end: UInt64, since milliseconds: Int64) throws
    -> UInt64?

  /// Entries that came longer after the one before than a time.
  func leaps(
    over longest: Int64, until milliseconds: Int64
  ) throws -> [(sequence: UInt64, milliseconds: Int64)]

  /// When a replica of the zone was last seen; nil for never.
  func lastSeen() throws -> Int64?

  /// The place that no replica is behind which was seen since a time: after which it asked, where that is known.
  func slowestPlace(since milliseconds: Int64) throws -> UInt64?

  /// Headers of the last pushes, since a time, of replicas that were neither seen nor forgotten.
  func lastPushesOfUnseen(since milliseconds: Int64) throws -> [Data]

  /// Headers of parts that wait, of pushes that somebody has gone on with since a time.
  func stagedParts(since milliseconds: Int64) throws -> [Data]

  /// Headers of some entries, the last ones first.
  ///
  /// - Parameters:
  ///   - first: none up to this one.
  ///   - last: none behind this one.
  func headers(after first: UInt64, through last: UInt64, countMax: Int) throws
    -> [(sequence: UInt64, header: Data)]

  // MARK: What is told

  func place(at sequence: UInt64) throws -> LogMark?

  /// Entries, and their bytes, whose change sets are there.
  func sum(after first: UInt64, through last: UInt64) throws -> (entries: Int, bytes: Int64)
  func replicas() throws -> [ReplicaReport]

  // MARK: What stands for what goes

  /// The last entry whose change set may be gone; 0 where none was purged.
  func floor() throws -> UInt64
  func row() throws -> PurgeRow?
  func keep(_ bytes: Data, as name: String) throws
  func bytes(of name: String) throws -> Data?
  func size(of name: String) throws -> Int?

  /// From now on the entries up to the floor are those that the snapshot stands for.
  func setFloor(_ floor: UInt64, _ snapshot: Snapshot, at milliseconds: Int64) throws

  /// The large values that a snapshot names stay for as long as it stands; what only the one before it named goes when its lease
  /// ends.
  func use(_ values: [LargeValue], at milliseconds: Int64) throws
  func note(_ detail: String) throws

  // MARK: What goes, some of it a transaction; each says whether there may be more

  /// Takes the change sets of some entries up to the floor away; what is asked of each of them stays.
  func stripEntries(countMax: Int64, bytesMax: Int64) throws -> Bool

  /// Some entries up to the floor name no values any more.
  func forgetUses(countMax: Int64, at milliseconds: Int64) throws -> Bool
  func collectValues(at milliseconds: Int64) throws -> Bool

  /// Takes one file away that the present snapshot does not name: of one before, or of a purge that was killed.
  func dropUnnamedFile() throws -> Bool

  /// Whether a purge was killed that has something of these to take away yet.
  func isUnfinished() throws -> Bool
}

extension PurgeTables {
  /// Calls `body` with the headers of entries, from the last one on, until it says false. A page of them is in memory.
  func forEachHeader(
    after first: UInt64, through last: UInt64 = LogBounds.numberMax,
    _ body: (UInt64, Data) throws -> Bool
  ) throws {
    let countMax = 1_000
    var last = last
    while last > first {
      let page = try headers(after: first, through: last, countMax: countMax)
      for (sequence, header) in page {
        guard try body(sequence, header) else { return }
      }
      guard page.count == countMax, let end = page.last else { return }
      last = end.sequence - 1
    }
  }
}

/// What is known of a log that was shortened.
struct PurgeRow: Sendable {
  /// The last entry whose change set may be gone.
  let floor: UInt64
  let snapshot: Snapshot
  let milliseconds: Int64
}

/// What stands for the entries of a log up to its floor.
struct KeptLog {
  /// What the log came to, at the floor or above it.
  let snapshot: Snapshot
  /// The bytes of a file of the snapshot.
  let bytes: (Snapshot.File) throws -> Data

  /// - Parameter bytes: gives the bytes of a file of a name.
  init(_ row: PurgeRow, of zone: ZoneRecord, bytes: @escaping (String) throws -> Data?) {
    snapshot = row.snapshot
    self.bytes = { file in
      guard let bytes = try bytes(file.name), Snapshot.name(of: bytes) == file.name
      else { throw ServerError.purgedIsDamaged("the file \(file.name) of what it came to", zone) }
      return bytes
    }
  }
}

extension ServerError {
  /// What a replica asks for is below the floor.
  static func purged(at sequence: UInt64, floor: UInt64, _ zone: ZoneRecord) -> ServerError {
    var error = ServerError(
      .purged,
      "the log of zone \(zone.name) was purged up to entry \(floor), and the replica has it up to \(sequence)",
      suggestion: "Sync with a program of this version: it goes on from the zone's snapshot.",
      head: zone.head)
    error.floor = floor
    return error
  }

  static func purgedIsDamaged(_ what: String, _ zone: ZoneRecord) -> ServerError {
    ServerError(
      .storage, "the log of zone \(zone.name) was purged, and \(what) is damaged or gone",
      suggestion: "Restore the database from its backup, or begin the zone anew: "
        + "driftless-server zone renew \(zone.name) --drop-purged")
  }
}
