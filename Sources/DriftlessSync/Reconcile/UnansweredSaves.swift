import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The saves of a log that is over which whoever made them may not know to be in it. An answer can only be missing to the
/// last change set of each replica; a copy of a store may have sent any of what adds up, long ago, and the other copy have it
/// pending still. What is offered to the zone's next log holds them and names them, so that a count that is still pending
/// where it was made is not counted again.
struct UnansweredSaves {
  private static let setting = "sync.unansweredSaves"
  /// As many as hundreds of replicas have with hundreds of saves each; of more the newest are kept.
  private static let namesMax = 50_000

  /// By replica: the names of the saves in its last change set.
  private var last: [UUID: [UInt64]] = [:]
  /// What added up, in the order of the log: what the log was offered itself, and named, is among it.
  private var added: [UInt64] = []

  /// Takes in the entries of the log, in order.
  mutating func note(_ changeSet: ChangeSet, _ schema: SyncSchema) {
    let index = changeSet.index
    let covered = index.covered.map(\.name)
    // What was left out of a change set is not in the log: its saves are not told.
    let saves = index.transactions.filter { $0.name != $0.hybridTime }.map(\.name)
    // The parts of a push are one change set.
    let before = changeSet.header.part > 1 ? last[changeSet.header.replica] ?? [] : []
    last[changeSet.header.replica] = before + (index.isPartial ? [] : saves + covered)
    let isOffer = saves.count < index.transactions.count
    guard isOffer || !index.isPartial else { return }
    let makers = Set(index.newObjects.flatMap(\.makers))
    added += covered.filter { !makers.contains($0) }
    if !index.isPartial { added += Self.adding(index, schema) }
    // A bound for memory, at twice what is kept.
    if added.count > 2 * Self.namesMax { added.removeFirst(added.count - Self.namesMax) }
  }

  /// The saves that set what adds up, by the change set's names.
  private static func adding(_ index: ChangeSetIndex, _ schema: SyncSchema) -> [UInt64] {
    var places: Set<Int> = []
    for group in index.groups where group.kind != .delete {
      let names = index.entities[group.entity]
      guard let entity = schema.entity(namedNowOrBefore: names.name),
        group.properties.contains(where: {
          entity.property(namedNowOrBefore: names.properties[$0])?.keepsDeltas == true
        })
      else { continue }
      for run in group.transactionRuns { places.insert(run.transaction) }
    }
    return places.sorted().map { index.transactions[$0] }
      .filter { $0.name != $0.hybridTime }.map(\.name)
  }

  /// The log is over: keeps its names, and those that were kept from logs before it.
  func keep(_ transaction: WriteTransaction) throws {
    var seen: Set<UInt64> = [0]
    var bytes = Data()
    let newest = last.values.flatMap { $0 }.sorted()
    for name in try newest + added.reversed() + Self.names(transaction)
    where seen.insert(name).inserted {
      guard seen.count <= Self.namesMax else { break }
      bytes.append(littleEndian: name)
    }
    try transaction.setSetting(Self.setting, bytes.isEmpty ? nil : .blob(bytes))
  }

  /// What was kept, the newest log's first.
  static func names(_ transaction: ReadTransaction) throws -> [UInt64] {
    guard case .blob(let bytes)? = try transaction.setting(setting) else { return [] }
    return bytes.littleEndianNumbers
  }
}
