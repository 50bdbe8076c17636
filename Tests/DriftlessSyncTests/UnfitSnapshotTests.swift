import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What only the log tells, and every way to the snapshot that leads nowhere: who joins reads the log then, and shows what the
/// others show.
struct UnfitSnapshotTests {
  /// Replicas of one model, and the zone's log added up.
  private func world(_ count: Int, _ model: @autoclosure () -> ManagedObjectModel) async throws
    -> World
  {
    var world = try await World(0)
    for index in 0..<count {
      world.replicas.append(
        try await TestReplica("r\(index)", zone: world.zone, clock: world.clock, model: model()))
    }
    return world
  }

  /// A new replica joins where the log is added up, and reads the log.
  private func expectLogIsRead(
    _ world: World, _ model: ManagedObjectModel, _ rule: FoldedZone.Rule = .init(),
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    var world = world
    let folded = try FoldedZone(world.zone, rule)
    try folded.fold()
    let newcomer = try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, model: model, transport: folded)
    try await newcomer.sync()
    #expect(folded.pulled > 0, "it joined by the snapshot", sourceLocation: location)
    world.replicas.append(newcomer)
    try await world.settle(location)
  }

  /// A log of programs whose model says less is read the same way by who joins as by who pulls all of it.
  private func expectLikeReader(
    _ zone: World, _ model: () -> ManagedObjectModel, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let folded = try FoldedZone(zone.zone)
    try folded.fold()
    func newcomer(_ name: String, _ way: any SyncTransport) async throws -> TestReplica {
      let replica = try await TestReplica(
        name, zone: zone.zone, clock: zone.clock, model: model(), transport: way)
      try await replica.sync()
      return replica
    }
    let joined = try await newcomer("joined", folded)
    #expect(folded.pulled > 0, "it joined by the snapshot", sourceLocation: location)
    let reader = try await newcomer("reader", zone.zone)
    #expect(try joined.export == reader.export, sourceLocation: location)
    #expect(try SyncEngine.check(joined.store).findings == [], sourceLocation: location)
  }

  /// The model without inverses, as of a program that does not know them.
  private func oneSided(_ model: ManagedObjectModel) -> ManagedObjectModel {
    for entity in model.entities {
      for case let relationship as RelationshipDescription in entity.properties {
        relationship.inverseRelationshipName = nil
      }
    }
    return model
  }

  @Test("Two objects with one partner: the log tells whose it was last")
  func onePartner() async throws {
    let world = try await world(1, oneSided(fleetModel()))
    let car = try world[0].insert("Car")
    for _ in 0..<2 {
      let driver = try world[0].insert("Driver")
      try world[0].save { context in
        let object = try #require(try context.object(withIdentity: driver))
        try object.setValue(try context.object(withIdentity: car), forKey: "car")
      }
      try await world[0].sync()
    }
    try await expectLikeReader(world, fleetModel)
  }

  @Test("Two objects with one unique key: the log tells who had it first")
  func oneKey() async throws {
    let free = staffModel()
    free.entitiesByName["Person"]?.uniquenessConstraints = []
    let world = try await world(1, free)
    for _ in 0..<2 { try world[0].insert("Person", ["email": .string("a")]) }
    try await world[0].sync()
    try await expectLikeReader(world) { staffModel() }
  }

  @Test("An ordered set with deleted members is no reason to read the log")
  func orderedSet() async throws {
    let world = try await world(1, oneSided(Playlists.model()))
    let list = try world[0].insert("Playlist")
    let songs = try (0..<3).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try world[0].save { context in
      let object = try #require(try context.object(withIdentity: list))
      try object.setValue(try songs.map { try context.object(withIdentity: $0) }, forKey: "songs")
    }
    try await world[0].sync()
    try world[0].delete(songs[1])
    try await world[0].sync()
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let joined = try await TestReplica(
      "joined", zone: world.zone, clock: world.clock, model: Playlists.model(),
      transport: folded)
    try await joined.sync()
    #expect(folded.pulled == 0)
    let reader = try await TestReplica(
      "reader", zone: world.zone, clock: world.clock, model: Playlists.model())
    try await reader.sync()
    #expect(try joined.export == reader.export)
  }

  @Test("An object that was deleted under another entity's name")
  func otherEntity() async throws {
    let world = try await world(1, shopModel())
    let id = try world[0].insert("Item", ["title": .string("stays")])
    try world[0].insert("Item", ["title": .string("other")])
    try await world[0].sync()
    var index = ChangeSetIndex()
    index.entities = [.init(name: "Label", properties: [])]
    index.knownNumbers = [1]
    index.transactions = [.init(hybridTime: world.clock.hybridTime.rawValue)]
    index.groups = [
      .init(
        kind: .delete, entity: 0, properties: [], objects: ObjectIndexes(0..<1),
        transactionRuns: [.init(transaction: 0, count: 1)])
    ]
    let info = try await world.zone.zoneInfo()
    let header = ChangeSetHeader(
      replica: UUID(), pushNumber: 1,
      cursor: Cursor(generation: info.generation, sequence: info.head, chain: world.zone.log.chain))
    let frame = try ChangeSetEncoder().encode(
      ChangeSet(header: header, index: index, columns: []))
    // A zone knows no models.
    _ = try await world.zone.push(frame)
    try await world[0].sync()
    #expect(try world[0].exists(id))
    try await expectLogIsRead(world, shopModel())
  }

  // MARK: Ways that lead nowhere

  /// What a proxy, or a server without snapshots, makes of the request.
  private struct Refused: TransportFailure {
    var name = "not-driftless"
    var message = "the answer is a page of something else"
    var suggestion = "Look at the address."
    var isTransient = false
    var retryAfterSeconds: Double?
  }

  private func folded() async throws -> World {
    let world = try await world(1, shopModel())
    for number in 0..<20 {
      try world[0].insert("Item", ["title": .string("item \(number)")])
      try await world[0].sync()
    }
    return world
  }

  @Test("A server that sends a byte at a time has a store write for ever: the log is read")
  func tinyPieces() async throws {
    var rule = FoldedZone.Rule()
    rule.pieceBytesMax = 1
    try await expectLogIsRead(folded(), shopModel(), rule)
  }

  @Test(
    "A server or proxy that refuses the list, or a file, has the log", arguments: [true, false])
  func refused(isList: Bool) async throws {
    let refusals: [any Error] = [
      Refused(), Refused(name: "damaged-body"), Refused(name: "body-too-large"),
      ProtocolError(ProtocolError.Code(rawValue: "not-found"), "no such path", suggestion: ""),
      ProtocolError(ProtocolError.Code(rawValue: "storage"), "cannot be read", suggestion: ""),
      ProtocolError(.damaged, "cannot be read", suggestion: ""),
      ProtocolError.noSnapshot,
    ]
    for refusal in refusals {
      var rule = FoldedZone.Rule()
      if isList { rule.listRefusal = refusal } else { rule.pieceRefusal = refusal }
      try await expectLogIsRead(folded(), shopModel(), rule)
    }
  }

  @Test("A refusal that is of the zone, not of the snapshot, is told", arguments: [true, false])
  func told(isList: Bool) async throws {
    let world = try await folded()
    var rule = FoldedZone.Rule()
    let refusal = ProtocolError(.unauthorized, "the token is not known", suggestion: "Enroll.")
    if isList { rule.listRefusal = refusal } else { rule.pieceRefusal = refusal }
    let folded = try FoldedZone(world.zone, rule)
    try folded.fold()
    let newcomer = try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, transport: folded)
    await #expect(throws: (any Error).self) { try await newcomer.sync() }
    #expect(folded.pulled == 0)
  }

  // MARK: What was deleted before

  @Test("Who joined tells a zone that begins anew what was deleted before it came")
  func deletesOfBefore() async throws {
    var world = try await world(2, shopModel())
    let stays = try world[0].insert("Item", ["title": .string("stays")])
    let goes = try world[0].insert("Item", ["title": .string("goes")])
    try await world.settle()
    try world[0].delete(goes)
    try await world[0].sync()
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let newcomer = try await TestReplica(
      "newcomer", zone: world.zone, clock: world.clock, transport: folded)
    try await newcomer.sync()
    #expect(folded.pulled == 0)
    // Who deleted it is gone for good; the other one has not heard of it.
    let sleeper = world[1]
    world.replicas = [newcomer, sleeper]
    world.zone.renew()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.identities(of: "Item") == [stays]) }
  }
}
