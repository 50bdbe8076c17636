import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// A replica whose token may only read: what comes to all others comes to it as well, and what it cannot send holds nothing up.
struct ReadOnlyReplicaTests {
  /// The way of a token that may only read.
  private final class ReadingWay: ForwardingTransport {
    let next: any SyncTransport
    private let sent = Mutex(0)
    private let mayWriteMutex = Mutex(false)

    init(_ next: any SyncTransport) { self.next = next }

    /// Requests that need another token.
    var refused: Int { sent.withLock { $0 } }
    var mayWrite: Bool { mayWriteMutex.withLock { $0 } }
    func allow(_ mayWrite: Bool) { mayWriteMutex.withLock { $0 = mayWrite } }

    private func check() throws {
      guard !mayWrite else { return }
      sent.withLock { $0 += 1 }
      throw ProtocolError(.forbidden, "The token allows only read", suggestion: "Ask for another.")
    }

    func zoneInfo() async throws -> ZoneInfo {
      var info = try await next.zoneInfo()
      info.mayWrite = mayWrite
      return info
    }

    func push(_ frame: Data) async throws -> PushReply {
      try check()
      return try await next.push(frame)
    }
    func stage(_ part: Data) async throws -> StagedReply {
      try check()
      return try await next.stage(part)
    }
    func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
      try check()
      return try await next.refill(entries)
    }
    func put(_ piece: ValuePiece) async throws -> ValueState {
      try check()
      return try await next.put(piece)
    }
  }

  private func world() async throws -> (World, PurgedZone, ReadingWay) {
    var world = try await World(1)
    let purged = try PurgedZone(world.zone)
    let way = ReadingWay(purged)
    world.replicas.append(
      try await TestReplica("reader", zone: world.zone, clock: world.clock, transport: way))
    return (world, purged, way)
  }

  private func expectSame(
    _ world: World, _ way: ReadingWay, _ location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try world[1].export == world[0].export, sourceLocation: location)
    #expect(try world[1].status.pending.objects == 0, sourceLocation: location)
    #expect(try SyncEngine.check(world[1].store).findings == [], sourceLocation: location)
    #expect(way.refused == 0, "nothing was sent", sourceLocation: location)
  }

  @Test("It pulls, goes on by a snapshot below a floor, and comes to a zone that was renewed")
  func follows() async throws {
    let (world, purged, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one"), "stock": .integer(1)])
    try await world[0].sync()
    try await world[1].sync()
    try world[0].set(item, ["title": .string("two"), "stock": .integer(4)])
    try await world[0].sync()
    try purged.purge()
    try await world[1].sync()
    try expectSame(world, way)
    world.zone.renew()
    try world[0].insert("Item", ["title": .string("three")])
    try await world[0].sync()
    try purged.purgeAnew()
    try await world[1].sync()
    try expectSame(world, way)
  }

  @Test(
    "Where the server was put back it takes the zone's state, whichever place that was put back to",
    arguments: [false, true], [false, true])
  func putBack(isPurged: Bool, goesOn: Bool) async throws {
    let (world, purged, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one"), "stock": .integer(1)])
    try await world[0].sync()
    try await world[1].sync()
    let copy = world.zone.log
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try world[0].set(item, ["stock": .integer(9)])
    try await world[0].sync()
    try await world[1].sync()
    world.zone.putBack(copy)
    let other = try await TestReplica("other", zone: world.zone, clock: world.clock)
    if goesOn {
      try await other.sync()
      try other.insert("Item", ["title": .string("other's")])
      try await other.sync()
    }
    if isPurged { try purged.purgeAnew() }
    let report = try await world[1].sync()
    #expect(report.reconciliations.map(\.cause) == [.mayOnlyRead])
    let export = try #require(report.reconciliations.last?.export)
    #expect(try String(contentsOfFile: export, encoding: .utf8).contains("lost"))
    #expect(try !world[1].exists(lost))
    try await other.sync()
    #expect(try world[1].export == other.export)
    try await world[1].sync()
    #expect(way.refused == 0)
  }

  @Test(
    "What waits where the zone is renewed is given up by a person's word alone, or sent with another token",
    arguments: Word.allCases)
  func unsentAtRenewal(_ word: Word) async throws {
    let (world, _, way) = try await world()
    way.allow(true)
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    try await world[1].sync()
    try world[1].set(item, ["title": .string("mine")])
    way.allow(false)
    world.zone.renew(intent: .offer)
    try await world[0].sync()
    for _ in 0..<2 {
      let error = await #expect(throws: ProtocolError.self) { try await world[1].sync() }
      #expect(error?.code == .forbidden)
      #expect(error?.message.contains("of 1 object,") == true)
      #expect(error?.suggestion.contains("--give-up-unsent") == true)
      #expect(try world[1].status.pending.objects == 1)
      #expect(try world[1].value(item, "title") == .string("mine"))
      #expect(try world[1].status.reconciled == nil)
    }
    switch word {
    case .givesUp:
      let report = try await world[1].engine.giveUpUnsent()
      #expect(report.reconciliations.map(\.cause) == [.asked])
    case .goesWithTheZone:
      try SyncEngine.allowReconciliation(of: world[1].store)
      #expect(try await world[1].sync().reconciliations.map(\.cause) == [.mayOnlyRead])
    case .mayWrite:
      way.allow(true)
      #expect(try await world[1].sync().reconciliations.map(\.kind) == [.offered])
      try await world[0].sync()
      #expect(try world[0].value(item, "title") == .string("mine"))
      return
    }
    #expect(try world[1].value(item, "title") == .string("one"))
    #expect(try world[1].conflicts.contains { $0.object == item && $0.property == "title" })
    try expectSame(world, way)
  }

  enum Word: CaseIterable, Sendable { case givesUp, goesWithTheZone, mayWrite }

  @Test("A record that is damaged is forgotten, and the store has what the zone has")
  func damaged() async throws {
    let (world, _, way) = try await world()
    for number in 0..<5 {
      let item = try world[0].insert(
        "Item", ["title": .string("\(number)"), "stock": .integer(1), "words": .string("a b")])
      try world[0].save { context in
        let shelf = try context.insert(entityNamed: "Shelf")
        let label = try context.insert(entityNamed: "Label")
        let object = try context.object(withIdentity: item)
        try object?.setValue(shelf, forKey: "shelf")
        try object?.setValue([label], forKey: "labels")
      }
    }
    try await world[0].sync()
    try await world[1].sync()
    try expectSame(world, way)
    _ = try world[1].store.write(TransactionInfo()) {
      try $0.connection.execute(
        "PRAGMA ignore_check_constraints = ON; UPDATE ZDL_CHAIN SET chain = x'00'; "
          + "PRAGMA ignore_check_constraints = OFF")
    }
    let items = try world[0].identities(of: "Item")
    try world[0].set(items[0], ["stock": .integer(7), "title": .string("edited")])
    try world[0].delete(items[1])
    try await world[0].sync()
    await world[1].engine.close()
    try SyncEngine.enroll(
      store: world[1].store, server: MemoryZone.url, zone: world.zone.name,
      info: try await way.zoneInfo(), anew: true)
    await world[1].restart()
    let unsent = try world[1].insert("Item", ["title": .string("not sent")])
    let report = try await world[1].sync()
    #expect(report.reconciliations.map(\.cause) == [.mayOnlyRead])
    let export = try #require(report.reconciliations.last?.export)
    #expect(try String(contentsOfFile: export, encoding: .utf8).contains("not sent"))
    #expect(try world[1].conflicts.contains { $0.object == unsent })
    try expectSame(world, way)
    #expect(try await world[1].sync().reconciliations.isEmpty)
  }

  @Test("A value that a disk turned is mended by what the zone has")
  func verified() async throws {
    let (world, _, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    try await world[1].sync()
    _ = try world[1].store.write(TransactionInfo(author: "sync", kind: .imported)) {
      try $0.connection.execute("UPDATE ZITEM SET ZTITLE = 'turned'")
    }
    #expect(try await world[1].engine.repair().repairedCount == 1)
    #expect(try world[1].value(item, "title") == .string("one"))
    try await world[1].sync()
    try expectSame(world, way)
  }

  @Test(
    "What waits when its token may only read from then on holds up no pull, and can be given up below a floor too",
    arguments: [false, true], [false, true])
  func narrowed(isSent: Bool, isPurged: Bool) async throws {
    let (world, purged, way) = try await world()
    way.allow(true)
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    try await world[1].sync()
    try world[1].set(item, ["title": .string("mine")])
    way.allow(false)
    if isSent { await #expect(throws: ProtocolError.self) { try await world[1].sync() } }
    try world[0].set(item, ["note": .string("theirs")])
    try await world[0].sync()
    if isPurged { try purged.purge() }
    let error = await #expect(throws: ProtocolError.self) { try await world[1].sync() }
    #expect(error?.code == .forbidden)
    if !(isSent && isPurged) { #expect(try world[1].value(item, "note") == .string("theirs")) }
    #expect(try world[1].status.failure?.code == "forbidden")
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try world[1].value(item, "title") == .string("one"))
    #expect(try world[1].value(item, "note") == .string("theirs"))
    try await world[1].sync()
    #expect(try world[1].status.failure == nil)
    #expect(try world[1].export == world[0].export)
  }
}
