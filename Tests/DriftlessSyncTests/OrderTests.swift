import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The order of ordered relationships crosses, and merges without losing either side's inserts.
struct OrderTests {
  /// A shelf with rows, on two replicas.
  private func world(rows count: Int) async throws -> (World, shelf: UUID, rows: [UUID]) {
    let world = try await World(2)
    // Saves take the test's time: the host's goes on while the zone's stands still.
    for replica in world.replicas {
      replica.store.setClock { [clock = world.clock] in clock.date }
    }
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    let rows = try (0..<count).map { try world[0].insert("Row", ["name": .string("\($0)")]) }
    if count > 0 { try world[0].arrange(shelf, rows) }
    try await world.settle()
    for replica in world.replicas { #expect(try replica.rows(of: shelf) == rows) }
    return (world, shelf, rows)
  }

  @Test("A new order reaches the other replicas, and only what moved is sent")
  func move() async throws {
    let (world, shelf, rows) = try await world(rows: 30)
    var order = rows
    order.insert(order.remove(at: 20), at: 3)
    try world[0].arrange(shelf, order)
    #expect(try world[0].status.pending.objects == 1)
    try await world.settle()
    #expect(try world[1].rows(of: shelf) == order)
    for replica in world.replicas { #expect(try replica.conflicts.isEmpty) }
  }

  @Test(
    "F43 What two replicas insert at one place is all there, in one order, each side's in its own")
  func bothInsert() async throws {
    let (world, shelf, rows) = try await world(rows: 4)
    var added: [[UUID]] = []
    for (index, replica) in world.replicas.enumerated() {
      let new = try (0..<5).map { try replica.insert("Row", ["name": .string("\(index)\($0)")]) }
      try replica.arrange(shelf, Array(rows[..<2]) + new + Array(rows[2...]))
      added.append(new)
    }
    try await world.settle()
    let order = try world[0].rows(of: shelf)
    #expect(try world[1].rows(of: shelf) == order)
    #expect(order.filter(rows.contains) == rows)
    #expect(Set(order[2..<12]) == Set(added[0] + added[1]))
    for new in added { #expect(order.filter(new.contains) == new) }
  }

  @Test("Two replicas that append to an empty relationship agree on the order")
  func bothAppend() async throws {
    let (world, shelf, _) = try await world(rows: 0)
    for replica in world.replicas {
      for index in 0..<5 {
        let row = try replica.insert("Row", ["name": .string("\(replica.name) \(index)")])
        try replica.arrange(shelf, replica.rows(of: shelf) + [row])
      }
    }
    try await world.settle()
    #expect(try world[0].rows(of: shelf).count == 10)
    #expect(try world[0].rows(of: shelf) == world[1].rows(of: shelf))
  }

  @Test(
    "F43 Moves of different objects both stand; of one object, the later one, and it is journaled")
  func bothMove() async throws {
    let (world, shelf, rows) = try await world(rows: 6)
    try world[0].arrange(shelf, [rows[5]] + rows[..<5])
    try world[1].arrange(shelf, Array(rows[1..<5]) + [rows[0], rows[5]])
    try await world.settle()
    #expect(
      try world[0].rows(of: shelf) == [rows[5], rows[1], rows[2], rows[3], rows[4], rows[0]])
    let order = try world[0].rows(of: shelf)
    let moved = order[3]
    try world[0].arrange(shelf, [moved] + order.filter { $0 != moved })
    world.clock.advance()
    try world[1].arrange(shelf, order.filter { $0 != moved } + [moved])
    try await world.settle()
    #expect(try world[0].rows(of: shelf).last == moved)
    #expect(try world.replicas.contains { try !$0.conflicts.isEmpty })
  }

  /// A shelf with rows of these names, made on each replica by itself under the same identities, as by an import of one file.
  private func importedTwice(
    _ orders: [[Int]]
  ) async throws -> (World, shelf: UUID, rows: [UUID]) {
    let world = try await World(2)
    let shelf = UUID()
    let rows = orders[0].map { _ in UUID() }
    for (replica, order) in zip(world.replicas, orders) {
      try replica.insert("Shelf", ["name": .string("s")], identity: shelf)
      for (name, row) in rows.enumerated() {
        try replica.insert("Row", ["name": .string("\(name)")], identity: row)
      }
      try replica.arrange(shelf, order.map { rows[$0] })
    }
    try await world.settle()
    return (world, shelf, rows)
  }

  @Test("Where two replicas import one list, its places differ and its order does not: no conflict")
  func importedAlike() async throws {
    let (world, shelf, rows) = try await importedTwice([Array(0..<40), Array(0..<40)])
    for replica in world.replicas {
      #expect(try replica.rows(of: shelf) == rows)
      #expect(try replica.conflicts == [])
      #expect(try replica.status.waiting == 0)
    }
  }

  @Test("Of two orders the journal tells who came after whom, and that is put back")
  func importedInTwoOrders() async throws {
    let (world, shelf, rows) = try await importedTwice([[0, 1, 2, 3, 4], [0, 3, 1, 2, 4]])
    let order = try world[0].rows(of: shelf)
    let entries = try world.replicas.flatMap { try $0.conflicts }
    #expect(Set(entries.map(\.object)) == [rows[1], rows[3], rows[4]])
    let moved = try #require(entries.first { $0.object == rows[3] })
    #expect(moved.explanation.hasPrefix("its place in Shelf.rows was changed on both sides"))
    func text(_ row: UUID) -> String { "\"\(row.uuidString.lowercased())\"" }
    let sides = [moved.local, moved.remote, moved.kept]
    #expect(Set(sides) == [text(rows[2]), text(rows[0])], "\(sides)")
    let replica = try #require(
      try world.replicas.first { try $0.conflicts.contains { $0 == moved } })
    try SyncEngine.keep(conflict: moved.number, of: replica.store)
    try SyncEngine.undo(conflict: moved.number, of: replica.store)
    try await world.settle()
    let other = order == rows ? [0, 3, 1, 2, 4] : [0, 1, 2, 3, 4]
    for replica in world.replicas { #expect(try replica.rows(of: shelf) == other.map { rows[$0] }) }
  }

  @Test("F43 A move to another relationship stands against a move within, by the later edit")
  func moveAway() async throws {
    let (world, shelf, rows) = try await world(rows: 4)
    let other = try world[0].insert("Shelf", ["name": .string("other")])
    let first = try world[0].insert("Row")
    try world[0].arrange(other, [first])
    try await world.settle()
    try world[0].arrange(shelf, [rows[2], rows[0], rows[1], rows[3]])
    world.clock.advance()
    try world[1].arrange(other, [rows[2], first])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.rows(of: other) == [rows[2], first])
      #expect(try replica.rows(of: shelf) == [rows[0], rows[1], rows[3]])
    }
  }

  @Test("An object that comes back from a delete has its place again")
  func revived() async throws {
    let (world, shelf, rows) = try await world(rows: 5)
    try world[0].delete(rows[2])
    try world[1].set(rows[2], ["name": .string("edited")])
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.rows(of: shelf) == rows) }
  }

  @Test("A replica that knows no places takes the references, keeps the rest, and is understood")
  func withoutPlaces() async throws {
    let (world, shelf, rows) = try await world(rows: 4)
    let old = try await TestReplica(
      "old", zone: world.zone, clock: world.clock, model: shopModel(withOrder: false))
    try await old.sync()
    #expect(try Set(old.rows(of: shelf)) == Set(rows))
    #expect(try old.status.parked > 0)
    let other = try old.insert("Shelf", ["name": .string("other")])
    let key = try #require(try old.store.read { try $0.key(of: other) })
    try old.set(rows[1], ["shelf": .reference(key)])
    try await old.sync()
    try world[0].arrange(shelf, [rows[3], rows[0], rows[1], rows[2]])
    try await world.settle()
    try await old.sync()
    for replica in world.replicas {
      #expect(
        try replica.rows(of: other)
          == (replica.reference(rows[1], "shelf") == other ? [rows[1]] : []))
      #expect(try replica.rows(of: shelf).filter { $0 != rows[1] } == [rows[3], rows[0], rows[2]])
    }
    #expect(try old.reference(rows[1], "shelf") == world[0].reference(rows[1], "shelf"))
  }

  @Test("What comes without a place has one order on all replicas, by the objects' identities")
  func unplaced() async throws {
    var world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    // Each makes some: the keys of the others' follow those of its own.
    var rows: [UUID] = []
    for number in 0..<8 {
      rows.append(try world[number % 2].insert("Row", ["name": .string("\(number)")]))
    }
    try await world.syncAll()
    let old = try await TestReplica(
      "old", zone: world.zone, clock: world.clock, model: shopModel(withOrder: false))
    try await old.sync()
    let key = try #require(try old.store.read { try $0.key(of: shelf) })
    for row in rows { try old.set(row, ["shelf": .reference(key)]) }
    try await old.sync()
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    world.replicas.append(
      try await TestReplica(
        "by the snapshot", zone: world.zone, clock: world.clock, transport: folded))
    try await world.settle()
    let order = rows.sorted { $0.uuidString < $1.uuidString }
    for replica in world.replicas {
      #expect(try replica.rows(of: shelf) == order, "\(replica.name)")
      #expect(try replica.prefetchedRows(of: shelf) == order, "\(replica.name)")
    }
    // What somebody moves stands, and so do those that it was moved in view of.
    let moved = [order[7]] + order[..<7]
    try world[1].arrange(shelf, moved)
    try await world.settle()
    for replica in world.replicas { #expect(try replica.rows(of: shelf) == moved) }
  }

  @Test("A gap that is used up gets new places, and the order stays")
  func narrow() async throws {
    let (world, shelf, rows) = try await world(rows: 2)
    var order = rows
    for index in 0..<60 {
      order.insert(try world[0].insert("Row", ["name": .string("\(index)")]), at: 1)
      try world[0].arrange(shelf, order)
    }
    try await world.settle()
    #expect(try world[1].rows(of: shelf) == order)
  }
}

extension TestReplica {
  /// Gives an item these labels, in place of those that it has.
  func label(_ item: UUID, _ labels: some Sequence<UUID>) throws {
    try save { context in
      let object = try #require(try context.object(withIdentity: item))
      let all = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(all, forKey: "labels")
    }
  }

  func labels(of item: UUID) throws -> Set<UUID> {
    try store.read { transaction in
      guard let key = try transaction.key(of: item),
        let relationship = store.schema.entity(numbered: key.entity)?.relationshipsByName["labels"]
      else { return [] }
      return Set(
        try transaction.toManyKeys(of: key, relationship).map { try transaction.identity(of: $0) })
    }
  }

  /// Puts rows on a shelf, in this order, in place of those that are there.
  func arrange(_ shelf: UUID, _ rows: [UUID]) throws {
    try save { context in
      let object = try #require(try context.object(withIdentity: shelf))
      let all = try rows.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(all, forKey: "rows")
    }
  }

  /// The rows of a shelf as objects that were fetched with it.
  func prefetchedRows(of shelf: UUID) throws -> [UUID] {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    var request = FetchRequest<ManagedObject>(entityName: "Shelf")
    request.relationshipKeyPathsForPrefetching = ["rows"]
    let object = try #require(try context.fetch(request).first { try $0.identity == shelf })
    let rows = try #require(try object.value(forKey: "rows") as? [ManagedObject])
    return try rows.map { try $0.identity }
  }

  /// The rows of a shelf, in order.
  func rows(of shelf: UUID) throws -> [UUID] {
    try store.read { transaction in
      guard let key = try transaction.key(of: shelf),
        let relationship = store.schema.entity(numbered: key.entity)?.relationshipsByName["rows"]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship).map {
        try transaction.identity(of: $0)
      }
    }
  }
}
