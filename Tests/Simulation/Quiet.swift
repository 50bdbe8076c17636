import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// The moments at which all is well, and what must hold then.
extension Simulation {
  func settle(_ step: Step) async throws {
    tell("all is well, everybody syncs")
    for host in hosts {
      while scenario.hasMigrations, host.version < newest { try await upgrade(host) }
      // A zone that could not be read anew is tried again after minutes, or by another program.
      if scenario.hasMigrations { await host.restart() }
      try await enrollAnyhow(host)
      if !host.hasKey { await host.setKey(true) }
      try makeRoom(host)
      host.network.isCut = false
      host.network.isDeaf = false
      host.network.faults = .none
      host.network.flippedBits = 0
      host.network.refused = nil
      host.network.isRevoked = false
      if scenario.asksWhenDiverged, try host.isEnrolled {
        try SyncEngine.allowReconciliation(of: host.store)
      }
      if scenario.hasDamagedEntries {
        host.network.damaged = nil
        try SyncEngine.retryParked(of: host.store)
      }
      host.skew.withLock { if scenario.clockSteps > 0 { $0 = 0 } }
      try SyncEngine.retryQuarantined(of: host.store)
    }
    makeRoomAtServer()
    try await syncAll(step)
    for host in hosts where scenario.hasFirstUse && !scenario.looksLate { await fetchAll(host) }
    if scenario.hasMassDeletes { try await answerAll(step) }
    guard failures.isEmpty else { return }
    try await check()
  }

  /// Everybody syncs until nothing is left.
  func syncAll(_ step: Step) async throws {
    for _ in 0..<Self.roundsMax {
      for offset in hosts.indices {
        let host = hosts[(offset + Int(step.dice % 3)) % hosts.count]
        clock.advance(milliseconds: 1000)
        host.network.begin(dice: step.dice)
        host.asks = false
        do {
          _ = try await host.engine.sync()
        } catch let error as SyncError where error.code == .massDelete && scenario.hasMassDeletes {
          host.asks = true
          tell("\(host.name) asks: \(brief(error))")
        } catch let error as SyncError where error.code == .logPurged && scenario.hasPurges {
          // What only the whole log could settle, an operator settles so that nothing is lost.
          tell("\(host.name) cannot go on: \(brief(error))")
          renewals += 1
          try renewZone()
        } catch let error as ProtocolError where error.code == .busy && scenario.hasPurges {
          tell("\(host.name) is told to come again: \(brief(error))")
        } catch { fail("sync goes on", "\(host.name): \(brief(error))") }
        try host.look()
        nameObjects(host.image)
      }
      if !failures.isEmpty { return }
      if try isQuiet() { break }
    }
  }

  /// A copy of a store may come to a zone that began anew since, and whose log was purged: it cannot offer what it holds, nor
  /// take the snapshot for it. An operator settles that as for a store that syncs.
  private func enrollAnyhow(_ host: Host) async throws {
    do {
      try await enroll(host)
    } catch let error as SyncError where error.code == .logPurged && scenario.hasPurges {
      tell("\(host.name) cannot be enrolled: \(brief(error))")
      renewals += 1
      try renewZone()
      try await enroll(host)
    }
  }

  /// Somebody looks at every large value: what comes is what was set.
  func fetchAll(_ host: Host) async {
    do {
      let report = try await host.engine.downloadAll()
      if report.values > 0 { tell("\(host.name) fetches \(report.values) values") }
      try host.look()
    } catch { fail("fetch", "\(host.name): \(brief(error))") }
  }

  /// Rounds: a conflict needs two, what a rule makes of it one more.
  private static let roundsMax = 6

  func isQuiet() throws -> Bool {
    let statuses = try hosts.map { try $0.status }
    let head = statuses.map(\.cursor).max() ?? 0
    return statuses.allSatisfy { $0.pending.objects == 0 && $0.cursor == head }
  }

  func check() async throws {
    if let text = server.wentBack { fail("server time", text) }
    checkSealed()
    for line in try server.damage() { fail("the server's tables", line) }
    let head = try await server.zoneInfo().head
    for host in hosts {
      let status = try host.status
      if status.pending.objects > 0 {
        fail("status", "\(host.name) has pending: \(status.pending)")
      }
      if status.cursor != head { fail("status", "\(host.name) is at \(status.cursor) of \(head)") }
      if !status.isCurrent || status.lastError != nil {
        fail("status", "\(host.name) is not current: \(status.lastError ?? "")")
      }
      if status.quarantined > 0 { fail("status", "\(host.name) has \(status.quarantined) refused") }
    }
    try checkHands()
    try compare()
    guard failures.isEmpty else { return }
    for host in hosts {
      try checkStore(host)
      try await checkZoneValues(host)
    }
    let newest = newest
    // What a zone came to whose log was purged, nobody can tell but its snapshot.
    let way: any SyncTransport = try await server.floor() > 0 ? server : LogAlone(server)
    let newcomer = try await addHost(
      version: newest, name: "newcomer\(hosts.count)-\(trace.count)", server: way)
    hosts.removeLast()
    do {
      _ = try await newcomer.engine.sync()
      if scenario.hasFirstUse { await fetchAll(newcomer) }
      try newcomer.look()
      let image = newcomer.image
      if let same = hosts.first(where: { $0.version == newest }), same.image != image {
        fail("newcomer", image.difference(from: same.image, names: name))
      }
      if let first = hosts.first {
        let properties = common(first.version, newest)
        if first.image.restricted(to: properties) != image.restricted(to: properties) {
          fail("newcomer", image.difference(from: first.image, names: name))
        }
      }
      try checkStore(newcomer)
      // Half of the seeds, those with two quiet moments: the second fold goes on from the first.
      if seed % 2 == 0 {
        // Of its own luck, so that what befalls the hosts does not hang on it.
        try await SeededRandomness.$current.withValue(SeededRandomness(seed: seed)) {
          try await checkFold(like: image)
        }
      }
      try readJournals()
      checkLaws(image)
    } catch {
      fail("newcomer", brief(error))
    }
    await newcomer.close()
  }

  func compare() throws {
    guard let first = hosts.first else { return }
    // Of one version everything is compared, also where that is not the first one's.
    for version in traits.indices where version != first.version {
      let same = hosts.filter { $0.version == version }
      for host in same.dropFirst() where host.image != same[0].image {
        fail(
          "equal",
          "\(host.name) differs from \(same[0].name): "
            + host.image.difference(from: same[0].image, names: name))
      }
    }
    for host in hosts.dropFirst() {
      let properties = common(first, host)
      let mine = host.image.restricted(to: properties)
      let theirs = first.image.restricted(to: properties)
      if mine != theirs {
        fail(
          "equal",
          "\(host.name) differs from \(first.name): "
            + mine.difference(from: theirs, names: name))
      }
    }
  }

  func checkLaws(_ image: Image) {
    let image = given.named(image)
    nameObjects(image)
    let newest = traits[newest]
    for failure in StateLaws(image: image, traits: newest, names: name).check() {
      fail(failure.law, failure.text)
    }
    // What a rogue set is nobody's edit, and may have taken the place of one.
    // Who could not read an entry edits what he has not seen.
    guard !hasRogue, !scenario.hasDamagedEntries else { return }
    let laws = EditLaws(
      image: image, traits: newest, ledger: ledger, scenario: scenario, names: name,
      hasPlainTimes: hasPlainTimes)
    let (broken, settled) = laws.check()
    for failure in broken { fail(failure.law, failure.text) }
    for index in settled { ledger.settle(index) }
    if broken.isEmpty { ledger.rest(image, on: hosts.map(\.number)) }
  }

  func checkStore(_ host: Host) throws {
    for finding in try SyncEngine.check(host.store).findings {
      fail("store check", "\(host.name): \(finding.message)")
    }
    let parked = try SyncEngine.parked(of: host.store)
    let named = Set(
      parked.compactMap { entry in
        entry.object.map { Ledger.Place(object: $0, property: entry.property ?? "") }
      })
    let waiting = parked.count { !$0.isAccepted }
    if try host.status.parked < waiting {
      fail("status", "\(host.name) waits for nobody, with \(waiting) set aside")
    }
    let context = ManagedObjectContext(host.coordinator)
    for id in host.image.things.keys.sorted(by: { name($0) < name($1) }) {
      guard let object = try context.object(withIdentity: id) else { continue }
      let empty = try (traits[host.version].required[object.entity.name] ?? [])
        .filter { name in
          object.entity.attributesByName[name] == nil
            ? try object.value(forKey: name) == nil
            : try object.valueState(forKey: name) == .none
        }
      for property in empty.sorted()
      where !named.contains(Ledger.Place(object: id, property: property)) {
        fail("required", "\(host.name)'s \(name(id)).\(property) is empty, and nothing says so")
      }
      // What is named need not be what its model takes.
      guard empty.isEmpty else { continue }
      do {
        for property in object.entity.relationshipsByName.keys {
          _ = try object.value(forKey: property)
        }
        try object.validateForUpdate()
      } catch {
        fail("model", "\(host.name)'s \(name(id)) is refused by its model: \(brief(error))")
      }
    }
  }
}
