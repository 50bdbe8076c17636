import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A zone's log is shortened: what stays true of it, what keeps it, what is refused.
@Suite("Purge of a zone's log")
struct PurgeTests {
  let zone: TestZone
  private static let day: Int64 = 86_400_000
  private static let seen = "INSERT INTO sighting(zone, replica, cursor, token, seen_ms)"

  init() throws { zone = try TestZone() }

  func administering<Value>(_ body: (Administration) throws -> Value) throws -> Value {
    let administration = try Administration(folder: zone.folder)
    defer { administration.close() }
    return try body(administration)
  }

  func sql(_ text: String) throws {
    let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute(text)
  }

  func count(_ table: String) throws -> Int64 {
    let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
    defer { connection.close() }
    return try connection.integer("SELECT count(*) FROM \(table)") ?? -1
  }

  static func all(through: UInt64 = .max, isDryRun: Bool = false) -> PurgeOptions {
    PurgeOptions(
      keepDays: 0, replicaDays: 0, isTried: true, isDryRun: isDryRun, through: through)
  }

  /// In some time nothing of now is young.
  /// As a server has given times until now.
  private func keepTime() throws {
    try sql("INSERT OR REPLACE INTO clock VALUES(1, \(Administration.hostMilliseconds))")
  }

  private static var later: Int64 { Administration.hostMilliseconds + 10_000 }

  @discardableResult
  func purge(_ options: PurgeOptions = Self.all()) throws -> PurgeReport {
    try administering { try $0.purgeZone("shop", options, at: Self.later) }
  }

  func pushed(_ count: Int) async throws -> [Push] {
    var boxes = BoxReplica(try await zone.zone())
    var pushes: [Push] = []
    for _ in 0..<count {
      let push = try boxes.insert(3)
      _ = try await zone.storage.append(push, to: zone.zone())
      pushes.append(push)
    }
    return pushes
  }

  private func page(after place: LogMark) async throws -> [UInt64] {
    try await zone.storage.page(
      of: zone.zone(), PageRequest(after: place, bytesMax: 1 << 20, entriesMax: 100)
    ).entries.map(\.sequence)
  }

  func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
    let damage = try administering { try $0.verify().damage }
    #expect(damage == [], sourceLocation: location)
  }

  @Test(
    "Above the floor nothing changes, below it all is refused, and what is asked of entries stays")
  func purges() async throws {
    let pushes = try await pushed(8)
    var places: [LogMark] = []
    for sequence in 0...8 { places.append(try await zone.place(at: UInt64(sequence))) }
    let bytes = pushes.prefix(5).reduce(0) { $0 + $1.frame.count }
    let report = try purge(Self.all(through: 5))
    #expect((report.floor, report.formerFloor, report.head) == (5, 0, 8))
    #expect((report.entries, report.bytes, report.bound) == (5, Int64(bytes), "through"))
    #expect(report.snapshotPlace == 8, "who pushed before the purge can take it in")
    #expect(try count("log") == 3 && count("purged") == 5)
    try expectWhole()

    #expect(try await page(after: places[5]) == [6, 7, 8])
    for place in places.prefix(5) {
      do {
        _ = try await page(after: place)
        Issue.record("entries after \(place.sequence) are gone")
      } catch let error as ServerError {
        #expect(error.code == .purged && error.floor == 5 && error.head == 8)
      }
    }
    let now = try await zone.zone()
    #expect(try await zone.storage.commonPlace(of: places, in: now) == places[8])
    #expect(try await zone.storage.commonPlace(of: Array(places.prefix(4)), in: now) == places[3])
    let other = LogMark(sequence: 2, chain: places[3].chain)
    #expect(try await code { _ = try await page(after: other) } == .diverged)

    // The same push gets the answer of then; a new one on a place below the floor is refused.
    let again = try await zone.storage.append(pushes[1], to: now)
    #expect(again.isRepeat && again.sequence == 2 && again.chain == places[2].chain)
    var behind = TestReplica()
    behind.cursor = places[4]
    let refused = behind.push(now.generation)
    #expect(try await code { _ = try await zone.storage.append(refused, to: now) } == .purged)
    behind.cursor = places[5]
    let taken = behind.push(2, now.generation)
    #expect(try await zone.storage.append(taken, to: now).sequence == 9)

    #expect(try purge(Self.all(through: 5)).floor == 5, "nothing more to purge")
    #expect(try await zone.storage.floor(of: now) == 5)
  }

  @Test(
    "The snapshot is in the database: what lies beside it may be deleted, and folds go on from it")
  func snapshot() async throws {
    _ = try await pushed(6)
    try purge(Self.all(through: 4))
    _ = try await pushed(2)
    for _ in 0..<2 {
      try? FileManager.default.removeItem(at: zone.folder.snapshots)
      let now = try await zone.zone()
      let kept = try #require(try await zone.storage.snapshot(of: now))
      #expect(kept.place.sequence == 6)
      for file in kept.files {
        var whole = Data()
        while let piece = try await zone.storage.segment(
          file.name, of: now, first: whole.count, count: 91), !piece.isEmpty
        { whole += piece }
        #expect(Snapshot.name(of: whole) == file.name)
        let behind = try await zone.storage.segment(
          file.name, of: now, first: 1 << 40, count: 1 << 40)
        #expect(behind == Data())
      }
      let folded = try administering { try $0.foldZone("shop") }
      #expect(folded.place.sequence == 8 && folded.nextObject == 25)
      #expect(try await zone.storage.snapshot(of: now) == folded)
    }
    // A second purge goes on from the first.
    #expect(try purge().floor == 7)
    #expect(try count("log") == 1 && count("purged") == 7)
    try expectWhole()
    let kept = try administering {
      try PurgedLog.row(of: $0.existingZone("shop"), on: $0.connection)
    }
    #expect(try count("purge_file") == Int64(try #require(kept).snapshot.files.count))
  }

  @Test("F55 Age, replicas that were seen, and pushes under way keep what they need")
  func bounds() async throws {
    _ = try await pushed(9)
    try keepTime()
    func floor(_ keepDays: Int, _ replicaDays: Int = 0, in days: Int64) throws -> String {
      let options = PurgeOptions(
        keepDays: keepDays, replicaDays: replicaDays, isTried: true, isDryRun: true)
      let report = try administering {
        try $0.purgeZone("shop", options, at: Administration.hostMilliseconds + days * Self.day)
      }
      return "\(report.floor) \(report.bound)"
    }
    #expect(try floor(0, in: 1) == "8 head")
    #expect(try floor(3, in: 1) == "0 age")
    // The host's clock says that years have passed, and the server knows nothing of it.
    #expect(try floor(3, in: 5000) == "0 age")
    // A server that leapt stamped one of them, and all that follow were there after it.
    try sql("UPDATE log SET received_ms = 1")
    #expect(try floor(3, in: 1) == "8 head")
    try sql("UPDATE log SET received_ms = \(Self.later + 9000 * Self.day) WHERE number = 4")
    #expect(try floor(3, in: 1) == "3 age")
    // A clock that leapt between two of them, and is believed since, makes the first ones no older than the others.
    let leapt = Administration.hostMilliseconds
    try sql("UPDATE log SET received_ms = CASE WHEN number < 5 THEN 1 ELSE \(leapt) END")
    #expect(try floor(3, in: 1) == "0 age")
    try sql("UPDATE log SET received_ms = \(leapt - 4 * Self.day) + number * \(Self.day / 100)")
    #expect(try floor(3, in: 1) == "8 head")
    try sql("UPDATE log SET received_ms = 1")
    let seen = Administration.hostMilliseconds - 100 * Self.day
    try sql(
      "\(Self.seen) VALUES(1, x'01020304050607080910111213141516', 2, 't', \(seen))")
    #expect(try floor(3, 365, in: 1) == "2 replica")
    // Nobody was seen later: that is no absence.
    #expect(try floor(3, 30, in: 1) == "2 replica")
    try sql(
      "\(Self.seen) VALUES(1, x'11020304050607080910111213141516', 6, 't', \(seen + 100 * Self.day))"
    )
    #expect(try floor(3, 30, in: 1) == "6 replica")
    #expect(try floor(3, 101, in: 1) == "2 replica")
    // What was given after the place that it asked after may not have come there.
    try sql("UPDATE sighting SET cursor = 9, asked = 5")
    #expect(try floor(3, 101, in: 1) == "5 replica")
  }

  @Test("A dry run changes nothing, and tells who will stand below the floor")
  func dryRun() async throws {
    _ = try await pushed(5)
    try keepTime()
    try sql("UPDATE log SET received_ms = 1")
    let seen = Administration.hostMilliseconds - 500 * Self.day
    try sql(
      "\(Self.seen) VALUES(1, x'01020304050607080910111213141516', 2, 't', \(seen))")
    try sql(
      "\(Self.seen) VALUES(1, x'11020304050607080910111213141516', 5, 't', \(seen + 500 * Self.day))"
    )
    let report = try administering {
      try $0.purgeZone(
        "shop", PurgeOptions(keepDays: 0, replicaDays: 365, isTried: true, isDryRun: true),
        at: Self.later)
    }
    #expect((report.floor, report.below.map(\.cursor)) == (4, [nil, 2]))
    #expect(report.below[1].lastSeenMilliseconds == seen)
    #expect(try count("log") == 5 && count("purged") == 0 && count("purge") == 0)
    #expect(try count("purge_file") == 0)
    let folder = zone.folder.snapshots.appendingPathComponent(
      try await zone.zone().zoneID.uuidString.lowercased())
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left == ["fold.lock"])
  }

  @Test("Without a word that replicas can join by the snapshot nothing is purged")
  func untried() async throws {
    _ = try await pushed(5)
    let options = PurgeOptions(keepDays: 0, replicaDays: 0)
    do {
      _ = try administering { try $0.purgeZone("shop", options, at: Self.later) }
      Issue.record("it was purged")
    } catch let error as ServerError {
      #expect(error.code == .notPurgeable && error.suggestion.contains("--tried"))
    }
    #expect(try count("purged") == 0)
  }

  @Test("An older program that serves, and a fold under way, stand in the way")
  func locked() async throws {
    _ = try await pushed(5)
    let serving = try zone.folder.lockForServing()
    #expect(try purge(Self.all(through: 2)).floor == 2, "one of this version does not")
    let lock = zone.folder.serveLock
    let text = try String(contentsOf: lock, encoding: .utf8)
    let file = try FileHandle(forWritingTo: lock)
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: Data("\(ProcessInfo.processInfo.processIdentifier)\n".utf8))
    #expect(try await code { try purge() } == .locked)
    try file.truncate(atOffset: 0)
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
    serving.release()
    let folder = zone.folder.snapshots.appendingPathComponent(
      try await zone.zone().zoneID.uuidString.lowercased())
    let fold = try #require(
      try FileLock(folder.appendingPathComponent("fold.lock"), .exclusive, waits: false))
    #expect(try await code { try purge() } == .locked)
    fold.release()
    #expect(try purge().floor == 4)
  }

  @Test("A log that was purged and begins anew, or is deleted, leaves nothing behind")
  func begunAnew() async throws {
    _ = try await pushed(5)
    try purge()
    _ = try administering { try $0.renewZone("shop", intent: .offer) }
    for table in ["purged", "purge", "purge_file"] { #expect(try count(table) == 0, "\(table)") }
    let renewed = try await zone.zone()
    #expect(try await zone.storage.floor(of: renewed) == 0)
    #expect(try await zone.storage.snapshot(of: renewed) == nil)
    _ = try await pushed(3)
    #expect(try await page(after: renewed.beginning) == [1, 2, 3])
    try purge()
    _ = try administering { try $0.deleteZone("shop") }
    for table in ["purged", "purge", "purge_file"] { #expect(try count(table) == 0, "\(table)") }
  }

  @Test("What stands for the log is looked at by verify, and named where it is damaged")
  func damaged() async throws {
    _ = try await pushed(5)
    try purge()
    for (change, table) in [
      ("UPDATE purge_file SET bytes = x'00'", "purge"), ("DELETE FROM purge", "purge"),
      ("DELETE FROM purged WHERE number = 2", "purged"),
      ("UPDATE purge SET floor = 9", "purge"),
    ] {
      let copy = try TemporaryDirectory()
      let file = copy.file("copy.sqlite")
      let source = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
      try Backup.copy(source, to: file)
      source.close()
      let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
      defer { connection.close() }
      #expect(try DatabaseCheck.run(on: connection).damage == [])
      try connection.execute(change)
      let damage = try DatabaseCheck.run(on: connection).damage
      #expect(damage.contains { $0.table == table }, "\(change): \(damage)")
    }
  }

  @Test("A backup has the floor and what stands below it; a purge that was killed goes on")
  func goesOn() async throws {
    _ = try await pushed(7)
    let place = try await zone.place(at: 6)
    try purge(Self.all(through: 3))
    // As after a kill behind the floor, with files of another purge.
    try sql("UPDATE purge SET floor = 5; INSERT INTO purge_file VALUES(1, 'other', x'00')")
    #expect(try await page(after: place) == [7])
    try expectWhole()
    try purge(Self.all(through: 5))
    #expect(try count("log") == 2 && count("purged") == 5)
    try expectWhole()
    let file = zone.directory.file("backup.sqlite")
    let content = try Backup(file).make(of: zone.folder)
    #expect(content.entries == 7)
    zone.storage.close()
    _ = try Backup(file).restore(to: zone.folder)
    try expectWhole()
    #expect(try administering { try $0.floor(of: $0.existingZone("shop")) } == 5)
  }

  @Test("A folder of a program of before is brought up to date, and that refuses it from then on")
  func migrates() async throws {
    _ = try await pushed(3)
    zone.storage.close()
    try sql(
      """
      DROP VIEW entry; DROP TABLE purge; DROP TABLE purge_file; DROP TABLE purged;
      PRAGMA user_version = 4
      """)
    #expect(try purge(Self.all(through: 2)).floor == 2)
    let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
    defer { connection.close() }
    #expect(try connection.integer("PRAGMA user_version") == ServerSchema.version)
  }

  @Test("What only the log tells is refused by its name")
  func refused() async throws {
    let now = try await zone.zone()
    func push(_ number: UInt64, _ index: ChangeSetIndex, _ columns: [Column]) async throws {
      let frame = try ChangeSetEncoder().encode(
        ChangeSet(
          header: ChangeSetHeader(
            replica: Self.replica, pushNumber: number,
            cursor: Cursor.start(generation: now.generation)), index: index, columns: columns))
      _ = try await zone.storage.append(PushReader(limits: .init()).read(frame), to: zone.zone())
    }
    for (number, column) in [
      Column(.strings(ByteRows(["a"]))), Column(.integers([1])), Column(.integers([2])),
    ].enumerated() {
      var index = ChangeSetIndex()
      index.newObjects = [.init(entity: 0, identities: .listed([UUID()]))]
      index.entities = [.init(name: "Box", properties: ["size"])]
      index.transactions = [.init(hybridTime: 1_700_000_000_000 << 16)]
      index.groups = [
        .init(
          kind: .insert, entity: 0, properties: [0], objects: ObjectIndexes(0..<1),
          transactionRuns: [.init(transaction: 0, count: 1)])
      ]
      try await push(UInt64(number) + 1, index, [column])
    }
    do {
      try purge()
      Issue.record("it was purged")
    } catch let error as ServerError {
      #expect(error.code == .notPurgeable && error.message.contains("Box.size"))
      #expect(error.suggestion.contains("zone renew shop"))
    }
    #expect(try count("purged") == 0 && count("purge_file") == 0)
  }

  private static let replica = UUID()

  @Test("Parts whose push nobody goes on with keep no log from being purged")
  func forgottenParts() async throws {
    let pushes = try await pushed(6)
    let header = try ChangeSetDecoder().decodeHeader(pushes[2].frame)
    #expect(header.cursor.sequence < 5)
    let staged = pushes[2].frame.map { String(format: "%02x", $0) }.joined()
    let replica = pushes[2].replica.uuidString.replacingOccurrences(of: "-", with: "")
    try sql(
      """
      INSERT INTO staged VALUES(x'\(replica)', 99, 0, 1, \(pushes[2].frame.count), x'\(staged)');
      INSERT INTO staging VALUES(x'\(replica)', 1, \(Self.later))
      """)
    #expect(try purge(Self.all(through: 5, isDryRun: true)).bound == "staged")
    try sql("UPDATE staging SET touched_ms = \(Self.later - 8 * Self.day)")
    #expect(try purge(Self.all(through: 5)).floor == 5)
  }
}
