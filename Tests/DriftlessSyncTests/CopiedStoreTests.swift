import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Files of replicas that were copied, or put back.
struct CopiedStoreTests {
  private let clock = ManualClock()
  private let zone: MemoryZone
  private let network: HookedTransport
  private let original: TestReplica

  init() async throws {
    zone = MemoryZone(clock: clock)
    network = HookedTransport(zone)
    original = try await TestReplica("original", zone: zone, clock: clock, transport: network)
  }

  /// A copy as `cp` makes it of a file that is in use, opened as a replica.
  private func copy(through way: (any SyncTransport)? = nil) async throws -> TestReplica {
    let file = original.directory.file("copy.sqlite")
    let source = try #require(original.store.url).path
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
      try FileManager.default.copyItem(atPath: source + suffix, toPath: file.path + suffix)
    }
    return try await TestReplica(
      "copy", zone: zone, clock: clock, transport: way, enrolled: false, file: file)
  }

  /// A copy that cannot be told from the original, as of a whole disk.
  private func twin(through way: any SyncTransport) async throws -> TestReplica {
    _ = try original.store.write(TransactionInfo()) { try $0.setSetting("file", nil) }
    let twin = try await copy(through: way)
    #expect(try twin.status.replica == original.status.replica)
    return twin
  }

  private func settle(_ replicas: TestReplica...) async throws {
    for _ in 0..<3 { for replica in replicas { try await replica.sync() } }
    for replica in replicas {
      #expect(try replica.export == replicas[0].export, "\(replica.name)")
      #expect(try replica.status.pending.objects == 0, "\(replica.name)")
    }
  }

  @Test(
    "What turns out to be a copy while an engine has it is a replica of its own with the next sync, also without a zone",
    arguments: [true, false], [true, false])
  func noticedMeanwhile(byAnother: Bool, syncs: Bool) async throws {
    try original.insert("Item", ["title": .string("one")])
    try await original.sync()
    let former = try #require(try original.status.replica)
    let url = try #require(original.store.url)
    // As somebody does who puts the folder back.
    try FileManager.default.removeItem(atPath: url.path + "-driftless-file")
    if byAnother { try PersistentStore.open(url: url).close() }
    #expect(try original.status.isCopy)
    if syncs { try await original.sync() } else { try await original.engine.settleCopy() }
    let status = try original.status
    #expect(!status.isCopy && status.replica != former)
    #expect((status.lastSync != nil) == syncs)
    try await original.engine.settleCopy()
    #expect(try original.status.replica == status.replica)
  }

  @Test(
    "F62 A copy and its original are both edited and both sync: nothing of either is lost, nothing is there twice"
  )
  func bothEdited() async throws {
    let shared = try original.insert("Item", ["title": .string("shared")])
    try await original.sync()
    let pending = try original.insert("Item", ["title": .string("pending when it was copied")])
    let copy = try await copy()
    #expect(try copy.exists(pending))
    var made: Set<UUID> = [shared, pending]
    for number in 0..<5 {
      made.insert(try original.insert("Item", ["title": .string("original \(number)")]))
      made.insert(try copy.insert("Item", ["title": .string("copy \(number)")]))
    }
    #expect(made.count == 12, "no identity was given twice")
    try copy.set(shared, ["title": .string("edited in the copy")])
    try await settle(original, copy)
    for id in made { #expect(try original.exists(id) && copy.exists(id)) }
    #expect(try original.value(shared, "title") == .string("edited in the copy"))
    #expect(try original.status.replica != copy.status.replica)
    // A replica that was there all the time has the same.
    let third = try await TestReplica("third", zone: zone, clock: clock)
    try await settle(third, original, copy)
    #expect(try third.export.split(separator: "\n").count == 12)
  }

  @Test("A copy has not synced before it does so itself")
  func lastSync() async throws {
    try original.insert("Item", ["title": .string("shared")])
    try await original.sync()
    let copy = try await copy(through: network)
    #expect(try copy.status.isCopy && copy.status.lastSync == nil, "it is the original's")
    #expect(try !original.status.isCopy && original.status.lastSync != nil)
    network.beforePull = { throw ProtocolError(.busy, "Nobody answers", suggestion: "") }
    await #expect(throws: (any Error).self) { try await copy.sync() }
    #expect(try copy.status.lastSync == nil)
    network.beforePull = nil
    clock.advance(milliseconds: 20_000)
    try await copy.sync()
    #expect(try copy.status.lastSync == copy.store.now && !copy.status.isCopy)
    #expect(try original.status.lastSync != copy.status.lastSync)
  }

  @Test(
    "F62 Of two disks that were copied whole before anything was sent, neither overwrites what the other sent"
  )
  func twinsThatSentNothing() async throws {
    let other = try await TestReplica("other", zone: zone, clock: clock)
    let id = try other.insert("Item", ["title": .string("old")])
    try await other.sync()
    try await original.sync()
    let way = HookedTransport(zone)
    let twin = try await twin(through: way)
    try other.set(id, ["title": .string("of the other")])
    try await other.sync()
    try twin.set(id, ["title": .string("of the twin"), "weight": .double(2)])
    try original.set(id, ["weight": .double(1)])
    // The twin's first push is stale. When it has pulled, the original sends its first one.
    var hasSent = false
    way.afterPull = { [original] in
      guard !hasSent else { return }
      hasSent = true
      try await original.push()
    }
    try await twin.push()
    #expect(hasSent)
    try await settle(original, twin, other)
    #expect(try other.value(id, "title") == .string("of the twin"))
    #expect(try other.value(id, "weight") == .double(1), "the later one")
    let told = try (twin.conflicts + original.conflicts).map(\.property)
    #expect(told.contains("weight"), "\(told)")
    #expect(try original.status.replica != twin.status.replica)
  }

  @Test(
    "F62 What the original edits on is no conflict with what its copy has sent of the same save")
  func editedOn() async throws {
    try await original.sync()
    let id = try original.insert(
      "Item", ["note": .string("n"), "held": .string("h"), "high": .integer(9), "low": .integer(1)])
    let copy = try await copy()
    let edited: [String: PropertyValue] = [
      "note": .string("n2"), "held": .string("h2"), "high": .integer(3), "low": .integer(5),
    ]
    try original.set(id, edited)
    try await copy.sync()
    try await settle(original, copy)
    for (name, value) in edited { #expect(try copy.value(id, name) == value, "\(name)") }
    #expect(try original.conflicts.isEmpty && copy.conflicts.isEmpty)
    // What the copy itself edited is one.
    try original.set(id, ["note": .string("n3")])
    try copy.set(id, ["note": .string("of the copy")])
    try await settle(copy, original)
    #expect(try original.value(id, "note") == .string("of the copy"))
    #expect(try original.conflicts.map(\.property) == ["note"])
  }

  @Test(
    "F62 What was set after an insert that a copy has sent stands where the insert did not name it")
  func unnamedByTheInsert() async throws {
    try await original.sync()
    let shelf = try original.insert("Shelf", ["name": .string("s")])
    let key = try #require(try original.store.read { try $0.key(of: shelf) })
    try await original.sync()
    let id = try original.insert("Item", ["title": .string("t")])
    let copy = try await copy()
    let edited: [String: PropertyValue] = [
      "note": .string("n"), "tag": .string("g"), "held": .string("h"), "high": .integer(-3),
      "low": .integer(5), "stock": .integer(4), "text": .string("x"), "words": .string("w"),
      "weight": .double(1.5), "pick": .string("p"),
    ]
    try original.set(id, edited.merging(["shelf": .reference(key)]) { $1 })
    try await copy.sync()
    try await settle(original, copy)
    for (name, value) in edited { #expect(try copy.value(id, name) == value, "\(name)") }
    #expect(try copy.reference(id, "shelf") == shelf)
    // A rule of one's own is asked all the same, and a count is settled by its saves.
    let told = try original.conflicts.map(\.property)
    #expect(Set(told).isSubset(of: ["pick", "stock"]), "\(told)")
    #expect(try copy.conflicts.isEmpty)
  }

  @Test(
    "F62 A move after a save that the copy has sent stands with its place, within a list and to another",
    arguments: [false, true])
  func movedOn(isToAnother: Bool) async throws {
    let lists = try (0..<2).map { try original.insert("Shelf", ["name": .string("\($0)")]) }
    let rows = try (0..<5).map { try original.insert("Row", ["name": .string("\($0)")]) }
    try original.arrange(lists[0], Array(rows[..<2]))
    try original.arrange(lists[1], Array(rows[3...]))
    try await original.sync()
    try original.arrange(lists[0], [rows[0], rows[2], rows[1]])
    let copy = try await copy()
    if isToAnother {
      try original.arrange(lists[1], [rows[3], rows[2], rows[4]])
    } else {
      try original.arrange(lists[0], [rows[2], rows[0], rows[1]])
    }
    try await copy.sync()
    try await settle(original, copy)
    for replica in [original, copy] {
      #expect(
        try replica.rows(of: lists[0])
          == (isToAnother ? [rows[0], rows[1]] : [rows[2], rows[0], rows[1]]))
      #expect(
        try replica.rows(of: lists[1])
          == (isToAnother ? [rows[3], rows[2], rows[4]] : [rows[3], rows[4]]))
      #expect(try replica.conflicts.isEmpty)
    }
  }

  @Test("F62 A rule of one's own is asked of what the copy made of a save, and loses nobody's edit")
  func customRule() async throws {
    var options = SyncOptions()
    options.customPolicies["longest"] = { conflict in
      func words(_ value: PropertyValue) -> Set<Substring> {
        if case .string(let text) = value { Set(text.split(separator: " ")) } else { [] }
      }
      return .string(
        words(conflict.local).union(words(conflict.remote)).sorted().joined(separator: " "))
    }
    let id = try original.insert("Item", ["title": .string("t")])
    try await original.sync()
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await other.sync()
    try original.set(id, ["pick": .string("a")])
    let copy = try await copy()
    try other.set(id, ["pick": .string("b")])
    try await other.sync()
    let engines = [
      try await copy.engine(through: zone, options: options),
      try await original.engine(through: zone, options: options),
    ]
    _ = try await engines[0].sync()
    try original.set(id, ["pick": .string("a c")])
    for _ in 0..<2 { for engine in engines { _ = try await engine.sync() } }
    for engine in engines { await engine.close() }
    #expect(try original.value(id, "pick") == .string("a b c"))
    #expect(try copy.value(id, "pick") == .string("a b c"))
  }

  @Test(
    "F62 What the other of two copies with one replica ID has sent is nobody's own",
    arguments: [false, true])
  func oneReplica(hasPushed: Bool) async throws {
    let other = try await TestReplica("other", zone: zone, clock: clock)
    let item = try (hasPushed ? original : other).insert("Item", ["title": .string("t")])
    for replica in [original, other, original] { try await replica.sync() }
    let way = HookedTransport(zone)
    let twin = try await twin(through: way)
    try other.set(item, ["title": .string("other")])
    try await other.sync()
    try twin.set(item, ["title": .string("twin"), "weight": .double(1)])
    try original.set(item, ["weight": .double(2)])
    let made = try original.insert("Item", ["title": .string("of the original")])
    // The twin's first push is stale, so its number is used up; the original's next one has the same.
    way.afterPull = { [original] in
      way.afterPull = nil
      _ = try await original.push()
    }
    try await twin.push()
    try await twin.pull()
    #expect(try twin.exists(made))
    try original.set(made, ["note": .string("later")])
    try await settle(original, twin, other)
    #expect(try twin.value(made, "note") == .string("later"))
    #expect(try original.status.replica != twin.status.replica)
    // Whoever has acknowledged nothing under its ID shows the zone nothing that it could be told by.
    if hasPushed { #expect(try other.value(item, "weight") == .double(2)) }
  }

  @Test(
    "F62 A change set that was under way when the file was copied is not sent by the copy as well")
  func outbox() async throws {
    try await original.sync()
    let id = try original.insert("Item", ["title": .string("under way")])
    // The zone took it, and its answer was lost.
    struct Lost: Error {}
    network.afterPush = { throw Lost() }
    await #expect(throws: (any Error).self) { try await original.push() }
    let copy = try await copy()
    try copy.set(id, ["title": .string("edited in the copy")])
    try await settle(copy, original)
    #expect(try original.value(id, "title") == .string("edited in the copy"))
  }

  @Test(
    "Opening the same file again changes nothing; a replica put back by replace is another replica"
  )
  func replaced() async throws {
    let id = try original.insert("Item", ["title": .string("kept")])
    try await original.sync()
    let replica = try original.status.replica
    await original.restart()
    try await original.sync()
    #expect(try original.status.replica == replica)
    let backup = original.directory.file("backup.sqlite")
    try original.store.backup(to: backup)
    let lost = try original.insert("Item", ["title": .string("after the backup")])
    try await original.sync()
    await original.engine.close()
    let url = try #require(original.store.url)
    original.store.close()
    try PersistentStore.replace(at: url, withStoreAt: backup)
    let restored = try await TestReplica(
      "restored", zone: zone, clock: clock, enrolled: false, file: url)
    let fresh = try restored.insert("Item", ["title": .string("after the restore")])
    #expect(
      fresh != lost, "an identity that was given out before the restore is not given out again")
    try await settle(restored)
    #expect(try restored.status.replica != replica)
    for id in [id, lost, fresh] { #expect(try restored.exists(id)) }
  }

  @Test("F61 A store whose file another content was written into is not said to be in step")
  func writtenOver() async throws {
    let (zone, clock, directory) = (MemoryZone(), ManualClock(), try TemporaryDirectory())
    let url = directory.file("shop.sqlite")
    var copy: Data?
    for round in 0..<3 {
      let replica = try await TestReplica("a", zone: zone, clock: clock, file: url)
      try replica.insert("Item", ["title": .string("\(round)")])
      try await replica.sync()
      if round == 2, let copy {
        try copy.write(to: url)
        let error = await #expect(throws: StoreError.self) { try await replica.sync() }
        #expect(error?.code == .strayLog)
      }
      await replica.engine.close()
      replica.store.close()
      if round == 0 { copy = try Data(contentsOf: url) }
    }
  }

  @Test(
    "F62 What was made under a given identity and deleted before it was sent is deleted again when a copy sends it",
    arguments: [false, true], [false, true])
  func deletedGiven(isDeletedByOriginal: Bool, isDeleterFirst: Bool) async throws {
    try await original.sync()
    let id = try original.insert("Label", ["name": .string("t")], identity: UUID())
    let copy = try await copy()
    let (deleter, sender) = isDeletedByOriginal ? (original, copy) : (copy, original)
    try deleter.delete(id)
    try await (isDeleterFirst ? deleter : sender).sync()
    try await settle(sender, deleter)
    #expect(try !original.exists(id))
    #expect(try !copy.exists(id))
    // One that somebody else made under it is another word.
    let third = try await TestReplica("third", zone: zone, clock: clock)
    try await third.sync()
    _ = try third.insertOrRemake("Label", ["name": .string("theirs")], identity: id)
    try await third.sync()
    try await settle(third, original, copy)
    #expect(try copy.value(id, "name") == .string("theirs"))
  }

  @Test(
    "F62 What a copy edits before its zone is renewed is there after that, whatever its original had sent of the object",
    arguments: [false, true], [false, true])
  func renewed(isHeard: Bool, isCopyFirst: Bool) async throws {
    let other = try await TestReplica("other", zone: zone, clock: clock)
    let item = try original.insert("Item", ["title": .string("t")])
    try await settle(original, other)
    let twin = try await twin(through: zone)
    try original.set(item, ["weight": .double(2)])
    try await original.sync()
    if isHeard { try await other.sync() }
    let edited: [String: PropertyValue] = [
      "text": .string("of the twin"), "words": .string("w"), "stock": .integer(3),
      "tag": .string("t"), "pick": .string("p"),
    ]
    try twin.set(item, edited)
    zone.renew()
    try await (isCopyFirst ? twin : other).sync()
    try await settle(twin, other)
    for (name, value) in edited { #expect(try other.value(item, name) == value, "\(name)") }
    try await settle(twin, other, original)
    for (name, value) in edited { #expect(try original.value(item, name) == value, "\(name)") }
    #expect(try twin.value(item, "weight") == .double(2))
  }
}
