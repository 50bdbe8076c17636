import DriftlessSQLite
import Foundation

/// Keeps the identities of objects whose key, or whose hierarchy's number, is another now: an identity that followed from
/// both is written down.
struct MigrationIdentities {
  let keys: MigrationKeys
  let connection: SQLiteConnection
  /// Whether identities that follow from the keys are written down too: an object that is made anew finds its key by its
  /// identity.
  var writesMinted = false

  /// A run that is written down, or that follows from the keys.
  private struct Run {
    var run: IdentityRun
    let isMinted: Bool
  }

  func run() throws {
    let hierarchies = try MovedHierarchies(keys, connection)
    let moved = hierarchies.roots
    // What is in flight names objects by keys.
    if !moved.isEmpty, try EngineRows.isInFlight(in: "old", on: connection) {
      throw MigrationPlan.refusal(
        "hierarchies change, and a change set is on its way to the server",
        "Sync once with the old version, then migrate.")
    }
    let written = writesMinted ? keys.old.entities.filter { $0.superentity == nil } : moved
    guard let prefix = try StoreSettings.mintPrefix(on: connection),
      try writesMinted || IdentityRuns.exist(in: "old", on: connection)
    else { return }
    try dropEntities()
    for root in written { try drop(root) }
    for root in written {
      let stretches = try hierarchies.stretches(of: root)
      for run in try runs(of: root, prefix: prefix) {
        for stretch in stretches { try write(run, within: stretch) }
      }
    }
  }

  /// Forgets the identities of hierarchies that are gone. Their numbers are given out again, and objects of the entities
  /// that get them would be known by those identities.
  func dropEntities() throws {
    for root in keys.old.entities
    where root.superentity == nil && !keys.ways.contains(where: { $0.source === root }) {
      try drop(root)
    }
  }

  private func drop(_ root: EntityDescription) throws {
    try IdentityRuns.drop(root: keys.old.entityNumber(of: root), on: connection)
  }

  /// What is written down, and between it what follows from the keys.
  private func runs(of root: EntityDescription, prefix: [UInt8]) throws -> [Run] {
    let number = keys.old.entityNumber(of: root)
    var runs: [Run] = []
    var next: Int64 = 1
    func addMinted(upTo end: Int64) {
      guard next < end else { return }
      let identity = MintedIdentity.identity(prefix: prefix, root: number, key: next)
      let run = IdentityRun(
        root: number, firstKey: next, count: end - next, number: nil, identity: identity)
      runs.append(Run(run: run, isMinted: true))
    }
    if try IdentityRuns.exist(in: "old", on: connection) {
      for run in try IdentityRuns.runs(root: number, in: "old", on: connection)
      where run.identity != nil {
        addMinted(upTo: run.firstKey)
        runs.append(Run(run: run, isMinted: false))
        next = max(next, run.firstKey + run.count)
      }
    }
    addMinted(upTo: keys.lastKey(of: root) + 1)
    return runs
  }

  private func write(_ former: Run, within stretch: MovedHierarchies.Stretch) throws {
    let run = former.run
    let first = max(run.firstKey, stretch.first)
    let count = min(run.firstKey + run.count, stretch.end) - first
    guard count > 0, !(former.isMinted && keys.keeps(stretch.way) && !writesMinted) else { return }
    let skipped = UInt64(first - run.firstKey)
    let (moved, isBeyond) = first.addingReportingOverflow(stretch.way.offset)
    guard !isBeyond else { throw IdentityRuns.keysOfNone(in: stretch.way.source.name) }
    try IdentityRuns.add(
      IdentityRun(
        root: keys.new.entityNumber(of: stretch.way.destination),
        firstKey: moved, count: count,
        number: run.number.map { $0 &+ skipped },
        identity: run.identity?.following(by: skipped)),
      on: connection)
  }
}
