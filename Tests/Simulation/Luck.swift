import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// What befalls hosts.
extension Simulation {
  func backUp(_ host: Host) throws {
    tell("\(host.name) is backed up")
    host.backups.append(try FileImage.take(host.file))
    host.backedUp.append(
      (try host.newestTransaction, ledger.moment, Set(host.image.things.keys), try host.unsent))
    ledger.orders.backUp(host.number)
  }

  func restore(_ host: Host, _ step: Step) async throws {
    guard !host.backups.isEmpty else { return }
    try await restore(host, to: Int(step.dice % UInt64(host.backups.count)), step.dice)
  }

  func restore(_ host: Host, to number: Int, _ dice: UInt64) async throws {
    try readJournals()
    tell("\(host.name) is put back to copy \(number)")
    ledger.forgetKept(on: host.number)
    let (transaction, moment, objects, unsent) = host.backedUp[number]
    let deletes = try host.unheardDeletes
    ledger.orders.restore(host.number, to: number)
    if try host.status.pending.objects > 0 {
      ledger.excuse(
        host: host.number, after: transaction, since: moment,
        objects: Set(host.image.things.keys).symmetricDifference(objects))
    } else {
      // What was made before the copy and deleted after it, unsent both times, is nothing that the zone ever heard of.
      ledger.excuse(lives: unsent.subtracting(host.image.things.keys))
    }
    let manners: [FileImage.Manner] = [.whole, .databaseAlone, .newFiles]
    try await host.reopen(
      models[host.version], contents: host.backups[number],
      manners[Int(dice / 7 % UInt64(manners.count))])
    ledger.excuse(lives: deletes.subtracting(try host.unheardDeletes))
  }

  /// Of a host that was ended in the middle the database alone is put back, and its log left as it is.
  func restoreMain(_ host: Host, _ step: Step) async throws {
    guard !host.backups.isEmpty else { return }
    let number = Int(step.dice % UInt64(host.backups.count))
    try readJournals()
    tell("\(host.name)'s database alone is put back to copy \(number)")
    let before = Set(host.image.things.keys)
    let deletes = try host.unheardDeletes
    let isPending = try host.status.pending.objects > 0
    var contents = try FileImage.take(host.file)
    contents[""] = host.backups[number][""]
    try await host.reopen(models[host.version], contents: contents)
    if try !host.status.isEnrolled { try await host.enroll(server) }
    if isPending {
      ledger.excuse(
        host: host.number, after: try host.newestTransaction,
        objects: before.symmetricDifference(host.image.things.keys))
    } else {
      ledger.excuse(lives: try host.unsent.subtracting(before))
    }
    ledger.excuse(lives: deletes.subtracting(try host.unheardDeletes))
    // What was copied after this copy goes on from a log that is no more.
    host.backups = []
    host.backedUp = []
    ledger.orders.restore(host.number, to: nil)
  }

  func setServerClock(_ step: Step) throws {
    var generator = SeededGenerator(seed: step.dice)
    let limit = UInt64(scenario.serverClockSteps)
    let ahead = generator.chance(40) ? 0 : Int64(generator.next() % (2 * limit)) - Int64(limit)
    hasPlainTimes = false
    if generator.chance(50) {
      tell("the server starts again, its clock is \(ahead) ms ahead")
      try server.restart(ahead: ahead)
    } else {
      tell("the server's clock is \(ahead) ms ahead")
      server.setClock(ahead: ahead)
    }
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
    ledger.hear(given.named(host.image), on: host.number)
    try await host.reopen(models[host.version + 1], version: host.version + 1)
  }

  func restoreServer(_ dice: UInt64) throws {
    guard server.backupCount > 0 else { return }
    let number = Int(dice % UInt64(server.backupCount))
    // Twice within a day would be two servers behind one address, which a person has to look at.
    clock.advance(milliseconds: 90_000_000)
    tell("the server is put back to copy \(number)")
    ledger.forgetKept()
    try server.restore(number)
  }

  func replaceZone() throws {
    clock.advance(milliseconds: 90_000_000)
    tell("the zone is replaced on purpose")
    ledger.bury()
    // To put one of those back would take the replacement back.
    server.forgetBackups()
    try server.renew(.replace)
  }

  /// What a host has not sent goes; what it said of it is in its journal.
  func giveUp(_ host: Host) async throws {
    guard try host.isEnrolled else { return }
    try readJournals()
    try host.look()
    let before = Set(host.image.things.keys)
    let unsent = try host.unsent
    let first = try host.firstPending
    tell("\(host.name) gives up what it has not sent")
    host.network.faults = scenario.faults
    do {
      _ = try await host.engine.giveUpUnsent()
    } catch { judge(error, of: host) }
    try host.look()
    try readJournals()
    guard let first else { return }
    ledger.excuse(
      host: host.number, after: first - 1,
      objects: unsent.union(before.symmetricDifference(host.image.things.keys)))
  }

  /// A person sets a property whose conflict waits: that is a decision.
  func setByHand(_ host: Host, _ dice: UInt64) throws {
    try host.look()
    let waiting = try host.conflicts.filter {
      $0.isWaiting && host.image.things[$0.object] != nil
    }
    guard !waiting.isEmpty else { return }
    let entry = waiting[Int(dice % UInt64(waiting.count))]
    let object = entry.object
    guard let property = entry.property else { return }
    try save(host, dice) { saves, context, _ in
      let known = try context.object(withIdentity: object)
      known?[property] = "by hand \(dice)"
      saves.told.append("sets \(self.name(object)).\(property) by hand, which waited")
    }
    try host.look()
    guard host.image.value(object, property) == "\"by hand \(dice)\"" else { return }
    host.decided.formUnion(
      waiting.filter { $0.object == object && $0.property == property }.map(\.number))
  }

  func checkHands() throws {
    for host in hosts {
      for entry in try host.conflicts where entry.isWaiting && host.decided.contains(entry.number) {
        fail(
          "hands",
          "\(host.name)'s conflict \(entry.number) about \(name(entry.object)) waits, and was set by hand"
        )
      }
    }
  }

  func readJournals() throws {
    for host in hosts {
      ledger.read(try host.conflicts, host: host.name, given)
      ledger.unite(try host.united.flatMap(given.names))
    }
  }
}
