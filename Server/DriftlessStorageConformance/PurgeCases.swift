import DriftlessProtocol
import DriftlessServer
import Foundation

/// What a storage owes of a log that is shortened.
enum PurgeCases {
  static let all = [
    StorageCase(
      "Above a purged log's floor nothing changes, and below it all is refused, by each who serves it",
      refuses),
    StorageCase("What is asked of entries stays, also of those that were purged", answers),
    StorageCase("A snapshot stands for purged entries, and folds go on from it", stands),
    StorageCase("A second purge goes on from the first", again),
    StorageCase("A dry run, and a purge without a word, change nothing", dry),
    StorageCase("A purged log that begins anew, or is deleted, leaves nothing behind", begunAnew),
    StorageCase("Bounds of a log count what was not purged", bounds),
  ]

  private struct World {
    let test: StorageWorld
    /// Another that serves the same.
    let other: any ZoneStorage
    let pushes: [Push]
    let places: [LogMark]

    var storages: [any ZoneStorage] { [test.storage, other] }

    init(_ kind: StorageUnderTest, entries: Int) async throws {
      test = try await StorageWorld(kind)
      other = try await kind.open(.init())
      var boxes = BoxReplica(try await test.zone())
      var pushes: [Push] = []
      for _ in 0..<entries {
        let push = try boxes.insert(3)
        _ = try await test.storage.append(push, to: test.zone())
        pushes.append(push)
      }
      self.pushes = pushes
      var places: [LogMark] = []
      for sequence in 0...entries {
        places.append(try await test.place(at: UInt64(sequence)))
      }
      self.places = places
    }

    /// Purges up to an entry, once that is no more of this very moment.
    @discardableResult
    func purge(through: UInt64) async throws -> PurgeReport {
      try await purge(
        PurgeOptions(keepDays: 0, replicaDays: 0, isTried: true, through: through), to: through)
    }

    /// Purges until that has come to a floor: what is of this very moment is not yet old.
    func purge(_ options: PurgeOptions, to floor: UInt64) async throws -> PurgeReport {
      let end = ContinuousClock.now + .seconds(60)
      while true {
        var report: PurgeReport?
        try test.kind.administer { report = try $0.purgeZone(test.name, options) }
        if let report, report.floor == floor { return report }
        try expect(ContinuousClock.now < end, "purged up to \(report?.floor ?? 0)")
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    func page(_ storage: any ZoneStorage, after place: LogMark) async throws -> [UInt64] {
      try await storage.page(
        of: test.zone(), PageRequest(after: place, bytesMax: 1 << 20, entriesMax: 100)
      ).entries.map(\.sequence)
    }

    func expectWhole() throws {
      try test.kind.administer { administration in
        let damage = try administration.verify().damage
        try expect(damage.isEmpty, "\(damage)")
      }
    }
  }

  private static func refuses(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 8)
    defer { world.other.close() }
    let bytes = world.pushes.prefix(5).reduce(0) { $0 + $1.frame.count }
    let report = try await world.purge(through: 5)
    try expect(report.head == 8 && report.bound == "through" && report.snapshotPlace == 8)
    try expect(report.formerFloor < 5 && report.bytes <= Int64(bytes))
    try world.expectWhole()
    let zone = try await world.test.zone()
    for storage in world.storages {
      try expect(await storage.floor(of: zone) == 5)
      try expect(await world.page(storage, after: world.places[5]) == [6, 7, 8])
      for place in world.places.prefix(5) {
        do {
          _ = try await world.page(storage, after: place)
          throw ConformanceFailure("entries after \(place.sequence) are gone")
        } catch let error as ServerError {
          try expect(error.code.name == "purged" && error.floor == 5 && error.head == 8)
        }
      }
      let strange = LogMark(sequence: 2, chain: world.places[3].chain)
      try expect(
        await code { _ = try await world.page(storage, after: strange) }?.name == "diverged")
    }
    for storage in world.storages {
      var behind = TestReplica()
      behind.cursor = world.places[4]
      let refused = behind.push(zone.generation)
      let refusal = try await code { _ = try await storage.append(refused, to: zone) }
      try expect(refusal?.name == "purged", "\(String(describing: refusal))")
      behind.cursor = world.places[5]
      let taken = behind.push(2, zone.generation)
      try expect(await storage.append(taken, to: zone).isRepeat == false)
    }
  }

  private static func answers(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 6)
    defer { world.other.close() }
    try await world.purge(through: 4)
    let zone = try await world.test.zone()
    for storage in world.storages {
      try expect(await storage.commonPlace(of: world.places, in: zone) == world.places[6])
      try expect(
        await storage.commonPlace(of: Array(world.places.prefix(4)), in: zone) == world.places[3])
      let again = try await storage.append(world.pushes[1], to: zone)
      try expect(again.isRepeat && again.sequence == 2 && again.chain == world.places[2].chain)
    }
    try kind.administer { administration in
      let replicas = try administration.replicas(of: world.test.name)
      try expect(replicas.count == 1 && replicas[0].lastPushMilliseconds != nil)
      try expect(try administration.inspectZone(world.test.name).floor == 4)
      let lines = try administration.log(of: world.test.name, from: 1, count: 9)
      try expect(lines.map(\.sequence) == [5, 6])
      // Nothing of one whose entries were purged is lost when it is forgotten.
      _ = try administration.forgetReplicas(
        of: world.test.name, .named([world.pushes[0].replica]), isDryRun: false)
    }
    try world.expectWhole()
    try expect(await world.other.append(world.pushes[1], to: zone).isRepeat)
  }

  private static func stands(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 6)
    defer { world.other.close() }
    let former = try world.test.fold()
    try await world.purge(through: 4)
    var boxes = BoxReplica(try await world.test.zone())
    _ = try await world.test.storage.append(boxes.insert(2), to: world.test.zone())
    let zone = try await world.test.zone()
    for storage in world.storages {
      let kept = try await storage.keptSnapshot(of: zone)
      guard let kept else { throw ConformanceFailure("nothing stands for the log") }
      try expect(kept.place == world.places[6] && former.place == kept.place)
      try expect(await storage.snapshot(of: zone) == kept)
      for file in kept.files {
        var whole = Data()
        while let piece = try await storage.segment(
          file.name, of: zone, first: whole.count, count: 91), !piece.isEmpty
        { whole += piece }
        try expect(Snapshot.name(of: whole) == file.name)
        let behind = try await storage.segment(file.name, of: zone, first: 1 << 40, count: 1 << 40)
        try expect(behind == Data())
      }
    }
    let folded = try world.test.fold()
    try expect(folded.place.sequence == 7 && folded.nextObject == 21)
    for storage in world.storages { try expect(await storage.snapshot(of: zone) == folded) }
    try world.expectWhole()
  }

  private static func again(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 8)
    defer { world.other.close() }
    try await world.purge(through: 3)
    let first = try await world.other.keptSnapshot(of: world.test.zone())
    let report = try await world.purge(through: 6)
    try expect(report.formerFloor == 3 && report.entries == 3 && report.floor == 6)
    try world.expectWhole()
    let zone = try await world.test.zone()
    for storage in world.storages {
      try expect(await world.page(storage, after: world.places[6]) == [7, 8])
      try expect(await storage.keptSnapshot(of: zone) == first, "nothing came in between")
    }
    try expect(try await world.purge(through: 6).entries == 0, "nothing more to purge")
  }

  private static func dry(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 5)
    defer { world.other.close() }
    let report = try await world.purge(
      PurgeOptions(keepDays: 0, replicaDays: 0, isTried: true, isDryRun: true), to: 4)
    try expect(report.isDryRun && report.entries == 4)
    try expect(report.below.map(\.replica) == [world.pushes[0].replica])
    try kind.administer { administration in
      var refusal: ServerError?
      do {
        _ = try administration.purgeZone(
          world.test.name, PurgeOptions(keepDays: 0, replicaDays: 0))
      } catch let error as ServerError { refusal = error }
      try expect(refusal?.code.name == "not-purgeable")
      let zone = try administration.zones().first { $0.name == world.test.name }
      try expect(try zone.map { try administration.floor(of: $0) } == 0)
    }
    try expect(await world.page(world.other, after: world.places[0]) == [1, 2, 3, 4, 5])
    try expect(await world.other.keptSnapshot(of: world.test.zone()) == nil)
  }

  private static func begunAnew(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 5)
    defer { world.other.close() }
    try await world.purge(through: 4)
    try kind.administer { _ = try $0.renewZone(world.test.name, intent: .offer) }
    let renewed = try await world.test.zone()
    var boxes = BoxReplica(renewed)
    _ = try await world.test.storage.append(boxes.insert(1), to: renewed)
    for storage in world.storages {
      try expect(await storage.floor(of: renewed) == 0)
      try expect(await storage.keptSnapshot(of: renewed) == nil)
      try expect(await world.page(storage, after: renewed.beginning) == [1])
    }
    try world.expectWhole()
    try kind.administer { try $0.deleteZone(world.test.name) }
    try kind.administer { administration in
      let damage = try administration.verify().damage
      try expect(damage.isEmpty, "\(damage)")
    }
  }

  private static func bounds(kind: StorageUnderTest) async throws {
    let world = try await World(kind, entries: 6)
    defer { world.other.close() }
    try kind.administer {
      try $0.changeLimits(of: world.test.name, ["logEntriesMax": 6, "logBytesMax": 10_000])
    }
    let zone = try await world.test.zone()
    var replica = TestReplica()
    replica.cursor = world.places[6]
    let push = replica.push(zone.generation)
    let full = try await code { _ = try await world.other.append(push, to: zone) }
    try expect(full?.name == "zone-full")
    try await world.purge(through: 5)
    for storage in world.storages {
      let next = replica.push(zone.generation)
      try expect(await storage.append(next, to: zone).isRepeat == false)
    }
  }
}
