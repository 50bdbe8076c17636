import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Transactions that are larger than a change set.
@Suite("A transaction in parts")
struct PushPartsTests {
  private static func options(parts: Int = 3, page: Int = 400) -> SyncOptions {
    var options = SyncOptions()
    options.partObjectsMax = parts
    options.pullBytesMax = page
    options.massDelete.floor = .max
    options.massDelete.count = .max
    return options
  }

  /// Shelves with rows and items, labels on items, in one save; some of each refer to what is told in other parts.
  private static func fill(_ replica: TestReplica, items: Int = 12, with known: UUID? = nil) throws
  {
    try replica.save { context in
      var shelves: [ManagedObject] = []
      for number in 0..<4 {
        let shelf = try context.insert(entityNamed: "Shelf")
        try shelf.setValue("shelf \(number)", forKey: "name")
        shelves.append(shelf)
      }
      var labels: [ManagedObject] = []
      for number in 0..<3 {
        let label = try context.insert(entityNamed: "Label")
        try label.setValue("label \(number)", forKey: "name")
        labels.append(label)
      }
      for number in 0..<items {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue("item \(number)", forKey: "title")
        try item.setValue(Int64(number), forKey: "stock")
        item["shelf"] = shelves[number % 4]
        try item.setValue([labels[number % 3], labels[(number + 1) % 3]], forKey: "labels")
        let row = try context.insert(entityNamed: "Row")
        row["shelf"] = shelves[(number + 1) % 4]
      }
      if let known {
        let item = try #require(try context.object(withIdentity: known))
        item["shelf"] = shelves[3]
        try item.setValue([labels[2]], forKey: "labels")
      }
    }
  }

  @Test("One whose parts are all here and could not be applied is applied by the next sync")
  func notApplied() async throws {
    let world = try await World(2, options: Self.options())
    try Self.fill(world[0])
    try await world[0].sync()
    // What a full disk does between the last part and the transaction that shows them.
    let url = try #require(world[1].store.url)
    func run(_ sql: String) throws {
      let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
      defer { connection.close() }
      try connection.execute(sql)
    }
    try run(
      """
      CREATE TRIGGER stop AFTER DELETE ON ZDL_STAGED
      BEGIN INSERT INTO nowhere VALUES (1); END
      """)
    await #expect(throws: (any Error).self) { try await world[1].sync() }
    #expect(try world[1].identities(of: "Item").isEmpty)
    try run("DROP TRIGGER stop")
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 12)
    try await world.settle()
  }

  @Test(
    "A proxy that takes smaller requests than the server gets smaller parts, and nobody sees half of a save"
  )
  func smallRequests() async throws {
    var world = try await World(1)
    let picky = PickyTransport(world.zone, .init(requestBytesMax: 100_000))
    world.replicas.append(
      try await TestReplica("picky", zone: world.zone, clock: world.clock, transport: picky))
    var random = SeededGenerator(seed: 7)
    // Words that no compression makes smaller.
    let words = (0..<500).map { _ in
      String((0..<128).map { _ in String(random.next(), radix: 36) }.joined().prefix(1000))
    }
    try world[1].save { context in
      for word in words {
        try context.insert(entityNamed: "Item").setValue(word, forKey: "title")
      }
    }
    try await world[1].sync()
    #expect(picky.refusals > 0)
    #expect(try world[1].status.quarantined == 0)
    try await world[0].sync()
    #expect(try world[0].identities(of: "Item").count == words.count)
    // One save is one push, in however many parts.
    #expect(world.zone.traffic.pushes == 1)
    #expect(world.zone.traffic.stagedParts > 3)
    // What is too large alone is set aside, and the rest goes on.
    picky.set(.init(requestBytesMax: 20_000))
    let large = try world[1].insert("Item", ["title": .string(words.prefix(60).joined())])
    let small = try world[1].insert("Item", ["title": .string("small")])
    try await world[1].sync()
    #expect(try world[1].status.quarantined == 1)
    try await world[0].sync()
    #expect(try world[0].exists(small))
    #expect(try !world[0].exists(large))
  }

  @Test("It comes whole to others, who see nothing of it before")
  func whole() async throws {
    let world = try await World(2, options: Self.options())
    let known = try world[0].insert("Item", ["title": .string("known")])
    try await world.settle()
    try Self.fill(world[0], with: known)
    let head = world.zone.head
    let report = try await world[0].push()
    #expect(report.changeSets == 1)
    #expect(report.objects == 32)
    #expect(world.zone.head >= head + 11)
    #expect(world.zone.traffic.stagedParts == Int(world.zone.head - head) - 1)
    let hook = HookedTransport(world.zone)
    let engine = try await world[1].engine(through: hook, options: Self.options())
    let reader = world[1]
    var pulls = 0
    hook.beforePull = { () throws in
      pulls += 1
      let items = try reader.identities(of: "Item").count
      let shelf = try reader.reference(known, "shelf")
      let cursor = try reader.status.cursor
      #expect(items == 1)
      #expect(shelf == nil)
      #expect(cursor == head)
    }
    _ = try await engine.pull()
    #expect(pulls > 4)
    #expect(try world[1].identities(of: "Item").count == 13)
    await engine.close()
    await world[1].restart()
    try await world.settle()
    // What was made in parts is edited and deleted like anything else.
    for id in try world[1].identities(of: "Item").prefix(5) { try world[1].delete(id) }
    try await world.settle()
  }

  @Test("By its bytes as well, and the other way round: edits and deletes after what is new")
  func bytes() async throws {
    var options = Self.options(parts: .max)
    options.partBytesMax = 3000
    let world = try await World(2, options: options)
    let ids = try (0..<8).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    let head = world.zone.head
    try world[1].save { context in
      for (place, id) in ids.enumerated() {
        let item = try #require(try context.object(withIdentity: id))
        if place < 3 {
          context.delete(item)
        } else {
          let shelf = try context.insert(entityNamed: "Shelf")
          item["shelf"] = shelf
          try item.setValue(String(repeating: "\(place)", count: 1500), forKey: "title")
        }
      }
    }
    try await world[1].push()
    #expect(world.zone.head > head + 2)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 5)
  }

  @Test("Cut at each request, before or after the server had it, by programs that end, it goes on")
  func cuts() async throws {
    for isAfter in [false, true] {
      let world = try await World(2, options: Self.options())
      let known = try world[0].insert("Item", ["title": .string("known")])
      try await world.settle()
      try Self.fill(world[0], items: 6, with: known)
      var rounds = 0
      var cut = CutTransport(world.zone, after: 1, isAfter: isAfter)
      // Each program does one request more than the one before it, or as many as it takes.
      while true {
        rounds += 1
        let engine = try await world[0].engine(through: cut, options: Self.options())
        let isDone = (try? await engine.push()) != nil
        await engine.close()
        #expect(try SyncEngine.check(world[0].store).findings == [])
        if isDone { break }
        cut = CutTransport(world.zone, after: 2, isAfter: isAfter)
        try #require(rounds < 40, "it does not go on")
      }
      #expect(rounds > 5)
      // Nothing that the server said it keeps went twice.
      #expect(world.zone.traffic.stagedParts <= 2 * Int(world.zone.head))
      await world[0].restart()
      rounds = 0
      var pull = CutTransport(world.zone, after: 1, isAfter: isAfter)
      while true {
        rounds += 1
        let engine = try await world[1].engine(through: pull, options: Self.options())
        let isDone = (try? await engine.pull()) != nil
        await engine.close()
        #expect(try SyncEngine.check(world[1].store).findings == [])
        let items = try world[1].identities(of: "Item").count
        #expect(items == 1 || items == 7)
        if isDone { break }
        pull = CutTransport(world.zone, after: 2, isAfter: isAfter)
        try #require(rounds < 40, "it does not go on")
      }
      #expect(rounds > 3)
      await world[1].restart()
      try await world.settle()
    }
  }

  @Test("Stale at the last part, it is settled and told again, what is the same by headers")
  func stale() async throws {
    let world = try await World(2, options: Self.options())
    let known = try world[0].insert("Item", ["title": .string("known")])
    try await world.settle()
    try Self.fill(world[0], with: known)
    let other = world[1]
    let hook = HookedTransport(world.zone)
    var isFirst = true
    hook.beforeStage = {
      guard isFirst else { return }
      isFirst = false
      try other.set(known, ["title": .string("other")])
      try await other.push()
    }
    let engine = try await world[0].engine(through: hook, options: Self.options())
    let report = try await engine.push()
    #expect(report.changeSets == 1)
    await engine.close()
    await world[0].restart()
    // An edit of another property makes it stale where the object is named as set; else it goes through.
    try await world.settle()
    #expect(try world[1].value(known, "title") == .string("other"))

    try Self.fill(world[0], with: known)
    isFirst = true
    let shelf = try world[1].insert("Shelf")
    let second = HookedTransport(world.zone)
    second.beforeStage = {
      guard isFirst else { return }
      isFirst = false
      try other.save { context in
        let item = try #require(try context.object(withIdentity: known))
        let target: ManagedObject? = try context.object(withIdentity: shelf)
        item["shelf"] = target
      }
      try await other.sync()
    }
    let again = try await world[0].engine(through: second, options: Self.options())
    let stale = try await again.push()
    #expect(stale.staleAnswers >= 1)
    #expect(second.staged.contains { $0.count == ChangeSetHeader.size })
    await again.close()
    await world[0].restart()
    try await world.settle()
  }

  @Test("Deletes that come in parts count together, and all of them wait for a person's word")
  func brake() async throws {
    var world = try await World(1, options: Self.options(parts: 5))
    let ids = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    var options = Self.options(parts: 5)
    options.massDelete = .init()
    options.massDelete.floor = 8
    world.replicas.append(
      try await TestReplica("reader", zone: world.zone, clock: world.clock, options: options))
    try await world.settle()
    try world[0].save { context in
      for id in ids.prefix(30) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
    }
    // Its own limit lets it go.
    try await world[0].push()
    let reader = world[1]
    let error = await #expect(throws: SyncError.self) { try await reader.sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].identities(of: "Item").count == 40)
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 10)
  }

  @Test("A server that was put back gets it again from who has it, or has it offered")
  func putBack() async throws {
    let world = try await World(2, options: Self.options())
    try world[0].insert("Item", ["title": .string("first")])
    try await world.settle()
    let backup = world.zone.log
    try Self.fill(world[0])
    try await world.syncAll()
    let head = world.zone.head
    world.zone.putBack(backup)
    try await world[1].sync()
    #expect(world.zone.head == head)
    try await world.settle()
    #expect(try world[0].identities(of: "Item").count == 13)
  }

  @Test("To a server that takes none it goes whole")
  func partless() async throws {
    let world = try await World(2, options: Self.options())
    try await world.settle()
    try Self.fill(world[0])
    let engine = try await world[0].engine(
      through: PartlessTransport(next: world.zone), options: Self.options())
    let head = world.zone.head
    _ = try await engine.push()
    #expect(world.zone.head == head + 1)
    await engine.close()
    await world[0].restart()
    try await world.settle()
  }

  @Test("A copy of the store that is in the middle of it, and the store itself, tell it once")
  func copied() async throws {
    let world = try await World(2, options: Self.options())
    try await world.settle()
    try Self.fill(world[0], items: 6)
    let cut = CutTransport(world.zone, after: 3, isAfter: true)
    let engine = try await world[0].engine(through: cut, options: Self.options())
    await #expect(throws: (any Error).self) { try await engine.push() }
    await engine.close()
    await world[0].restart()
    let file = world[0].directory.file("copy.sqlite")
    try world[0].store.backup(to: file)
    let copy = try await TestReplica(
      "copy", zone: world.zone, clock: world.clock, options: Self.options(), enrolled: false,
      file: file)
    var all = world
    all.replicas.append(copy)
    try await copy.sync()
    try await all.settle()
    #expect(try all[0].identities(of: "Item").count == 6)
  }
}

/// A server of before, or one on PostgreSQL.
private struct PartlessTransport: ForwardingTransport {
  let next: any SyncTransport

  func stage(_ part: Data) async throws -> StagedReply { throw ProtocolError.takesNoParts }
}
