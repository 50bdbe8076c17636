import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// One file of Core Data's on several hosts, each of which enrols it.
struct AdoptionTests {
  private let directory: TemporaryDirectory
  private let clock = ManualClock()
  private let zone: MemoryZone

  init() throws {
    directory = try TemporaryDirectory()
    zone = MemoryZone(clock: clock)
  }

  /// People with a unique e-mail, and notes with no key.
  private func file(notes: Int = 5) throws -> URL {
    let url = directory.file("shipped.sqlite")
    let store = try PersistentStore.open(url: url, model: staffModel())
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for number in 0..<notes {
      let note = try context.insert(entityNamed: "Note")
      note["text"] = "\(number)"
      let person = try context.insert(entityNamed: "Person")
      person["email"] = "\(number)@example.org"
      try note.setValue(person, forKey: "person")
    }
    try context.save()
    store.close()
    try strip(url)
    return url
  }

  /// Leaves what Core Data writes.
  private func strip(_ url: URL) throws {
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { raw.close() }
    for row in try raw.rows(
      """
      SELECT name FROM sqlite_master WHERE type = 'table' AND (name GLOB 'ZDL_*'
      OR name IN ('ATRANSACTION', 'ACHANGE', 'ATRANSACTIONSTRING'))
      """)
    {
      if case .text(let name) = row[0] { try raw.execute("DROP TABLE \"\(name)\"") }
    }
    let plist = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreModelVersionHashes": [String: Data]()], format: .binary, options: 0
    )
    try raw.run("UPDATE Z_METADATA SET Z_PLIST = ?", .blob(plist))
    _ = try raw.rows("PRAGMA journal_mode = DELETE")
    for suffix in ["-wal", "-shm", "-driftless-lock"] { unlink(url.path + suffix) }
  }

  private func open(_ url: URL) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: staffModel())
  }

  private func host(_ name: String, with shipped: URL) async throws -> TestReplica {
    let url = directory.file("\(name).sqlite")
    try FileManager.default.copyItem(at: shipped, to: url)
    return try await TestReplica(
      name, zone: zone, clock: clock, model: staffModel(), enrolled: false, file: url)
  }

  private func settled(_ hosts: [TestReplica]) async throws {
    for host in hosts { try await host.enroll() }
    for _ in 0..<3 { for host in hosts { try await host.sync() } }
    for host in hosts {
      #expect(try host.export == hosts[0].export)
      #expect(try host.status.pending.objects == 0)
      #expect(try SyncEngine.check(host.store).findings == [])
      // One file has one content: nothing of it met something else.
      #expect(try host.conflicts == [])
    }
  }

  @Test("Copies of one file, each opened on its own host, have each object once")
  func copies() async throws {
    let shipped = try file()
    var hosts: [TestReplica] = []
    for name in ["a", "b", "c"] { hosts.append(try await host(name, with: shipped)) }
    for host in hosts {
      #expect(try SyncEngine.unpreparedObjects(of: host.store) == 0)
      #expect(try host.store.adopt() == 0)
      #expect(try host.store.contentDigest() == hosts[0].store.contentDigest())
      #expect(try SyncEngine.check(host.store).findings == [])
    }
    // What each made before it was enrolled is its own.
    let own = try hosts.map { try $0.insert("Note", ["text": .string($0.name)]) }
    #expect(Set(own).count == 3)
    #expect(try SyncEngine.unpreparedObjects(of: hosts[0].store) == 0)
    try await settled(hosts)
    #expect(try hosts[2].identities(of: "Note").count == 5 + 3)
    #expect(try hosts[2].identities(of: "Person").count == 5)
  }

  @Test("The second copy that is enrolled sends nothing again that the first one sent")
  func sentOnce() async throws {
    let shipped = try file()
    let hosts = [try await host("a", with: shipped), try await host("b", with: shipped)]
    try await hosts[0].enroll()
    try await hosts[0].sync()
    try await hosts[1].enroll()
    func history() throws -> [SQLiteValue?] {
      try hosts[1].store.read { transaction in
        try ["SELECT count(*) FROM ATRANSACTION", "SELECT count(*) FROM ACHANGE"]
          .map { try transaction.connection.scalar($0) }
      }
    }
    let before = try history()
    let report = try await hosts[1].sync()
    #expect(report.push.objects == 0, "\(report.push)")
    #expect(report.pull.changeSets == 1, "\(report.pull)")
    #expect(report.pull.inserted == 0 && report.pull.updated == 0, "\(report.pull)")
    #expect(try history() == before, "what both have alike is no change")
    #expect(try hosts[0].export == hosts[1].export)
    #expect(try SyncEngine.check(hosts[1].store).findings == [])
    // It goes on from there.
    let id = try #require(try hosts[0].identities(of: "Note").first)
    try hosts[0].set(id, ["text": .string("edited")])
    try await hosts[0].sync()
    #expect(try await hosts[1].sync().pull.updated == 1)
    #expect(try hosts[1].value(id, "text") == .string("edited"))
  }

  @Test("A file that an earlier version opened is prepared before it is copied")
  func prepared() async throws {
    let shipped = try file()
    try open(shipped).close()
    // As that version left it: identities that follow from bytes of the file's own.
    let raw = try SQLiteConnection(path: shipped.path, mode: .readWrite)
    try raw.execute(
      """
      DELETE FROM ZDL_STORE WHERE key IN ('contentDigest', 'identitiesKept');
      DELETE FROM ZDL_IDENTITY
      """)
    raw.close()
    let store = try open(shipped)
    #expect(try SyncEngine.unpreparedObjects(of: store) == 5, "the notes")
    #expect(try store.adopt() == 10)
    #expect(try store.adopt() == 0)
    #expect(try SyncEngine.unpreparedObjects(of: store) == 0)
    #expect(try SyncEngine.check(store).findings == [])
    store.close()
    let hosts = [try await host("a", with: shipped), try await host("b", with: shipped)]
    for host in hosts { #expect(try SyncEngine.unpreparedObjects(of: host.store) == 0) }
    try await settled(hosts)
    #expect(try hosts[1].identities(of: "Note").count == 5)
  }

  @Test("Copies of a file that was opened once for writing are one as well")
  func opened() async throws {
    let shipped = try file()
    try open(shipped).close()
    let hosts = [try await host("a", with: shipped), try await host("b", with: shipped)]
    for host in hosts { #expect(try SyncEngine.unpreparedObjects(of: host.store) == 0) }
    try await settled(hosts)
    #expect(try hosts[1].identities(of: "Note").count == 5)
  }

  @Test("A copy that was written to before it was opened brings its objects as its own")
  func writtenTo() async throws {
    let shipped = try file()
    let hosts = [try await host("a", with: shipped)]
    // As Core Data would: one key may be two objects from now on.
    let raw = try SQLiteConnection(path: shipped.path, mode: .readWrite)
    try raw.execute(
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) SELECT 6, Z_ENT, 1, 'x' FROM Z_PRIMARYKEY
      WHERE Z_NAME = 'Note';
      UPDATE Z_PRIMARYKEY SET Z_MAX = 6 WHERE Z_NAME = 'Note'
      """)
    raw.close()
    let other = try await host("b", with: shipped)
    #expect(try other.store.contentDigest() != hosts[0].store.contentDigest())
    let own = try hosts[0].insert("Note", ["text": .string("own")])
    for host in hosts + [other] { try await host.enroll() }
    for _ in 0..<3 { for host in hosts + [other] { try await host.sync() } }
    #expect(try hosts[0].identities(of: "Note").count == 5 + 1 + 6)
    #expect(try hosts[0].identities(of: "Person").count == 5)
    #expect(try other.exists(own))
    #expect(try hosts[0].export == other.export)
  }

  @Test("A store that the library made needs no preparing")
  func own() throws {
    let store = try PersistentStore.open(url: directory.file("own.sqlite"), model: staffModel())
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Note")["text"] = "x"
    try context.save()
    #expect(try SyncEngine.unpreparedObjects(of: store) == 0)
    #expect(try store.adopt() == 0)
  }
}
