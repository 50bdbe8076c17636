import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

@testable import Driftless
@testable import DriftlessSync

/// What the zone never heard of what a model has no more: each of it is told, and comes back when the model has it again.
struct KeptCircleTests {
  private static func required(
    _ name: String, _ entity: String, _ inverse: String
  ) -> RelationshipDescription {
    RelationshipDescription(name, to: entity, inverse: inverse, isOptional: false)
  }

  /// Items, and beside them links of which each requires the next, in a ring; of two, each may be the other's own.
  ///
  /// - Parameter count: how many kinds of links; 0 for none.
  private func ring(_ count: Int, isOwn: Bool, version: Int) -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("name", .string)]
    item.versionHashModifier = "\(version)"
    let links = (0..<count).map { number in
      let link = EntityDescription("Link\(number)")
      let (next, former) = ((number + 1) % count, (number + count - 1) % count)
      link.properties = [AttributeDescription("name", .string)]
      if isOwn {
        link.properties.append(Self.required("next", "Link\(next)", "next"))
      } else {
        link.properties.append(Self.required("next", "Link\(next)", "formers"))
        link.properties.append(
          RelationshipDescription("formers", to: "Link\(former)", inverse: "next", toMany: true))
      }
      return link
    }
    return ManagedObjectModel(entities: [item] + links)
  }

  /// - Returns: the identities of the links.
  @discardableResult
  private func make(_ count: Int, named: Bool, _ replica: TestReplica) throws -> [UUID] {
    var links: [UUID] = []
    try replica.save { context in
      let objects = try (0..<count).map { try context.insert(entityNamed: "Link\($0)") }
      for (number, object) in objects.enumerated() {
        if named { try object.setValue("\(number)", forKey: "name") }
        try object.setValue(objects[(number + 1) % count], forKey: "next")
      }
      links = try objects.map { try $0.identity }
    }
    return links
  }

  @Test(
    "Objects that require each other come back together",
    arguments: [
      (2, true, true), (2, true, false), (2, false, true), (2, false, false), (3, false, true),
    ])
  func together(count: Int, isOwn: Bool, named: Bool) async throws {
    var fleet = try await Fleet(1, ring(count, isOwn: isOwn, version: 0))
    let links = try make(count, named: named, fleet[0])
    try await fleet.migrate(0, to: ring(0, isOwn: isOwn, version: 1))
    try await fleet.migrate(0, to: ring(count, isOwn: isOwn, version: 2))
    let entries = try fleet[0].conflicts
    let entry = try #require(entries.first { $0.object == links[0] })
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    for (number, link) in links.enumerated() {
      #expect(try fleet[0].reference(link, "next") == links[(number + 1) % count])
      #expect(try fleet[0].value(link, "name") == (named ? .string("\(number)") : .null))
    }
    // What came along as a whole is no question any more.
    let open = try fleet[0].conflicts.filter { $0.property == nil && $0.decision == nil }
    #expect(open.isEmpty, "\(open)")
    try await fleet.joinBothWays(ring(count, isOwn: isOwn, version: 2))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      for (number, link) in links.enumerated() {
        #expect(
          try replica.reference(link, "next") == links[(number + 1) % count], "\(replica.name)")
      }
      #expect(try SyncEngine.check(replica.store).isSound)
    }
  }

  /// A store with links of which the journal has each, as a migration left it, and that are gone.
  ///
  /// - Parameter isRing: whether the last one requires the first; else one that nobody has.
  private func gone(_ count: Int, isRing: Bool) async throws -> (replica: TestReplica, [UUID]) {
    let link = EntityDescription("Link")
    link.properties = [
      Self.required("next", "Link", "formers"),
      RelationshipDescription("formers", to: "Link", inverse: "next", toMany: true),
    ]
    let fleet = try await Fleet(1, ManagedObjectModel(entities: [link]))
    let (replica, links) = (fleet[0], (0..<count).map { _ in UUID() })
    let layout = try #require(replica.store.model.entitiesByName["Link"]).layout
    let next = try #require(layout.index(named: "next"))
    let entries = links.enumerated().map { number, object in
      var row = [PropertyValue](repeating: .null, count: layout.slots.count)
      row[next] = .uuid(number + 1 < count ? links[number + 1] : isRing ? links[0] : UUID())
      return (Self.dropped(object), Journal.Values(row: row))
    }
    _ = try replica.store.write(TransactionInfo()) { transaction in
      if try EngineTables.needCreation(transaction) { try EngineTables.create(in: transaction) }
      try Journal.append(entries, on: transaction.connection)
    }
    return (replica, links)
  }

  private static func dropped(_ object: UUID, by transaction: Int64 = 0) -> JournalEntry {
    JournalEntry(
      number: 0, object: object, entity: "Link", property: nil, policy: "deleteWins", base: nil,
      local: nil, remote: nil, kept: nil, outcome: .remote, origin: RemoteSide.unknown.origin,
      localTime: HybridTime(rawValue: 1), remoteTime: HybridTime(rawValue: 0),
      transaction: transaction, sequence: 0, explanation: "It went.")
  }

  @Test(
    "A chain of a hundred thousand that require each other is looked through, and none comes back alone"
  )
  func chain() async throws {
    let (replica, _) = try await gone(100_000, isRing: false)
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: 1, of: replica.store)
    }
    #expect(error?.suggestion == "Bring that one back first.", "\(error as Any)")
  }

  @Test("A ring of ten thousand that require each other comes back as one")
  func ring() async throws {
    let (replica, links) = try await gone(10_000, isRing: true)
    try SyncEngine.undo(conflict: 1, of: replica.store)
    #expect(try replica.identities(of: "Link").count == links.count)
    #expect(try replica.reference(links[links.count - 1], "next") == links[0])
    #expect(try replica.conflicts.allSatisfy { $0.decision == .local })
  }

  @Test(
    "What the journal has of an object from before it went with another one does not come back with that"
  )
  func older() async throws {
    let (replica, links) = try await gone(2, isRing: true)
    let newer = try replica.store.write(TransactionInfo()) { transaction -> [Int64] in
      let connection = transaction.connection
      // The second went once more, twice, and what it required then had nothing to tell.
      let row = try #require(try Journal.entry(2, on: connection)).values.row
      try Journal.append(
        [
          (Self.dropped(links[1]), .init(row: row)),
          (Self.dropped(links[1], by: 7), .init(row: row)),
        ], on: connection)
      return [3, 4]
    }.0
    for number in newer {
      #expect(throws: SyncError.self) { try SyncEngine.undo(conflict: number, of: replica.store) }
    }
    #expect(try replica.identities(of: "Link").isEmpty)
    try SyncEngine.undo(conflict: 1, of: replica.store)
    #expect(try replica.identities(of: "Link").count == 2)
  }

  @Test(
    "What a migration drops is counted with what it takes of memory, numbers and references too")
  func held() async throws {
    let fleet = try await Fleet(1, ring(2, isOwn: false, version: 0))
    try make(2, named: false, fleet[0])
    let source = fleet[0].store
    let destination = ring(0, isOwn: false, version: 1)
    let plan = try MigrationPlan(
      from: source.model, source.schema.entities, to: destination,
      StoreConfiguration(nil, of: destination).entityNames)
    let losses = try MigrationLosses(plan, source, isMapped: false)
    #expect(try losses.held(of: source)?.count == 2)
    #expect(
      try losses.held(of: source, bytesMax: 2 * MemoryLayout<EngineRows.UnsentChange>.stride) == nil
    )
  }

  @Test("A delete that was not sent before its entity went is told")
  func deleted() async throws {
    var fleet = try await Fleet(2, ring(2, isOwn: false, version: 0))
    let links = try make(2, named: true, fleet[0])
    let item = try fleet[0].insert("Item", ["name": .string("i")])
    try await fleet.sync(0, 1)
    try fleet[1].save { context in
      for link in links { context.delete(try #require(try context.object(withIdentity: link))) }
    }
    // One that was made and deleted meanwhile is nothing to anybody.
    let own = try make(2, named: true, fleet[1])
    try fleet[1].save { context in
      for link in own { context.delete(try #require(try context.object(withIdentity: link))) }
    }
    try fleet[1].delete(item)
    try await fleet.migrate(1, to: ring(0, isOwn: false, version: 1))
    let told = try fleet[1].conflicts
    #expect(Set(told.map(\.object)) == Set(links), "the item's is sent: \(told)")
    #expect(
      told.allSatisfy {
        $0.property == nil && $0.outcome == .remote
          && $0.explanation.hasSuffix("before the zone acknowledged this delete.")
      }, "\(told)")
    try await fleet.migrate(1, to: ring(2, isOwn: false, version: 2))
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: try #require(told.first).number, of: fleet[1].store)
    }
    #expect(error?.suggestion == "Delete the object where that is meant.", "\(error)")
    try await fleet.sync(1, 0)
    #expect(try !fleet[0].exists(item))
    for link in links { #expect(try fleet[1].exists(link)) }
  }

  @Test("A value that is larger than the journal tells comes back all the same")
  func large() async throws {
    func model(_ isThere: Bool, version: Int) -> ManagedObjectModel {
      let (item, photo) = (EntityDescription("Item"), EntityDescription("Photo"))
      item.properties = [AttributeDescription("name", .string)]
      item.versionHashModifier = "\(version)"
      photo.properties = [AttributeDescription("image", .binaryData)]
      return ManagedObjectModel(entities: isThere ? [item, photo] : [item])
    }
    var fleet = try await Fleet(1, model(true, version: 0))
    let image = Data(repeating: 7, count: JournalBounds.toldBytesMax + 1)
    let photo = UUID()
    _ = try fleet[0].insert("Photo", ["image": .data(image)], identity: photo)
    try await fleet.migrate(0, to: model(false, version: 1))
    let entry = try #require(try fleet[0].conflicts.first { $0.object == photo })
    #expect(entry.local == JournalBounds.text)
    try await fleet.migrate(0, to: model(true, version: 2))
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    #expect(try fleet[0].value(photo, "image") == .data(image))
  }
}
