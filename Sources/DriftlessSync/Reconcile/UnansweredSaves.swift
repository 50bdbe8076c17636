import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The saves of a log that is over which whoever made them may not know to be in it: an answer can only be missing to the
/// last change set of each replica. What is offered to the zone's next log holds them and names them, so that a count that
/// is still pending where it was made is not counted again.
struct UnansweredSaves {
  private static let setting = "sync.unansweredSaves"
  /// As many as hundreds of replicas have with hundreds of saves each; of more the newest are kept.
  private static let namesMax = 50_000

  /// By replica: the names of the saves in its last change set.
  private var last: [UUID: [UInt64]] = [:]
  /// What the log was offered itself, and named.
  private var named: [UInt64] = []

  /// Takes in the entries of the log, in order.
  mutating func note(_ changeSet: ChangeSet) {
    let index = changeSet.index
    let covered = index.covered.map(\.name)
    // What was left out of a change set is not in the log: its saves are not told.
    let saves = index.transactions.filter { $0.name != $0.hybridTime }.map(\.name)
    last[changeSet.header.replica] = index.isPartial ? [] : saves + covered
    if saves.count < index.transactions.count {
      let makers = Set(index.newObjects.flatMap(\.makers))
      named += covered.filter { !makers.contains($0) }
    }
  }

  /// The log is over: keeps its names, and those that were kept from logs before it.
  func keep(_ transaction: WriteTransaction) throws {
    var seen: Set<UInt64> = [0]
    var bytes = Data()
    let newest = last.values.flatMap { $0 }.sorted()
    for name in try newest + named + Self.names(transaction) where seen.insert(name).inserted {
      guard seen.count <= Self.namesMax else { break }
      withUnsafeBytes(of: name.littleEndian) { bytes.append(contentsOf: $0) }
    }
    try transaction.setSetting(Self.setting, bytes.isEmpty ? nil : .blob(bytes))
  }

  /// What was kept, the newest log's first.
  static func names(_ transaction: ReadTransaction) throws -> [UInt64] {
    guard case .blob(let bytes)? = try transaction.setting(setting) else { return [] }
    return bytes.withUnsafeBytes { bytes in
      (0..<bytes.count / 8).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
      }
    }
  }
}
