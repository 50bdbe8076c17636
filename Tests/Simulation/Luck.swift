import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// What befalls hosts.
extension Simulation {
  func restore(_ host: Host, _ step: Step) async throws {
    guard !host.backups.isEmpty else { return }
    let number = Int(step.dice % UInt64(host.backups.count))
    try readJournals()
    tell("\(host.name) is put back to copy \(number)")
    let (transaction, objects, unsent) = host.backedUp[number]
    if try host.status.pending.objects > 0 {
      ledger.excuse(
        host: host.number, after: transaction,
        objects: Set(host.image.things.keys).symmetricDifference(objects))
    } else {
      // What was made before the copy and deleted after it, unsent both times, is nothing that the zone ever heard of.
      ledger.excuse(lives: unsent.subtracting(host.image.things.keys))
    }
    let manners: [FileImage.Manner] = [.whole, .databaseAlone, .newFiles]
    try await host.reopen(
      models[host.version], contents: host.backups[number],
      manners[Int(step.dice / 7 % UInt64(manners.count))])
  }

  func setClock(_ host: Host, _ step: Step) {
    var generator = SeededGenerator(seed: step.dice)
    let limit = UInt64(scenario.clockSteps)
    let skew = generator.chance(40) ? 0 : Int64(generator.next() % (2 * limit)) - Int64(limit)
    host.skew.withLock { $0 = skew }
    hasPlainTimes = false
    tell("\(host.name)'s clock is \(skew) ms ahead")
  }

  func upgrade(_ host: Host) async throws {
    guard host.version + 1 < models.count else { return }
    tell("\(host.name) gets version \(host.version + 1)")
    try await host.reopen(models[host.version + 1], version: host.version + 1)
  }

  func readJournals() throws {
    for host in hosts { ledger.read(try host.conflicts, host: host.name, given) }
  }
}
