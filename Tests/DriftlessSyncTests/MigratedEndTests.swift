import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Edits of a relationship that wait when the store goes over to a model that says the relationship from its other end, where no
/// model before it kept what the zone had.
struct MigratedEndTests {
  enum End: Sendable { case none, one, many, list }

  /// A relationship of Bs to As, before and after.
  struct Change: Sendable {
    var before: End
    var after: (a: End, bs: End)
  }

  static let changes = [
    Change(before: .many, after: (.many, .many)), Change(before: .many, after: (.one, .one)),
    Change(before: .none, after: (.one, .one)), Change(before: .many, after: (.many, .list)),
  ]

  /// - Parameters:
  ///   - a: the end at Bs.
  ///   - bs: the end at As.
  private func model(a: End, bs: End) -> ManagedObjectModel {
    let (one, other) = (EntityDescription("A"), EntityDescription("B"))
    one.deletePolicy = .editWins
    one.properties = [AttributeDescription("name", .string)]
    other.properties = [
      AttributeDescription("name", .string)
    ]
    if a != .none {
      other.properties.append(
        RelationshipDescription(
          "a", to: "A", inverse: bs == .none ? nil : "bs", toMany: a == .many))
    }
    if bs != .none {
      one.properties.append(
        RelationshipDescription(
          "bs", to: "B", inverse: a == .none ? nil : "a", toMany: bs != .one,
          isOrdered: bs == .list))
    }
    return ManagedObjectModel(entities: [one, other])
  }

  private struct Stage {
    var fleet: Fleet
    var a: [UUID] = []
    var b: [UUID] = []
  }

  /// Two replicas in step: of three Bs, the first two refer to the first two As.
  private func stage(_ change: Change) async throws -> Stage {
    var stage = Stage(fleet: try await Fleet(2, model(a: .one, bs: change.before)))
    for _ in 0..<3 {
      stage.a.append(try stage.fleet[0].insert("A"))
      stage.b.append(try stage.fleet[0].insert("B"))
    }
    for place in 0..<2 { try point(stage.b[place], to: stage.a[place], stage.fleet[0]) }
    try await stage.fleet.sync(0, 1)
    return stage
  }

  private func point(_ b: UUID, to a: UUID?, _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: b))
      let target = try a.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(target, forKey: "a")
    }
  }

  /// What an object refers to, whichever kind the relationship has.
  private func targets(_ b: UUID, _ replica: TestReplica) throws -> Set<UUID> {
    let isToMany =
      replica.store.model.entitiesByName["B"]?.relationshipsByName["a"]?.isToMany == true
    guard !isToMany else { return try replica.elements(b, "a") }
    return Set([try replica.reference(b, "a")].compactMap(\.self))
  }

  enum Edit: CaseIterable { case moves, clears, sets }

  @Test(
    "A reference that waits to be sent is sent from the end that says it by now",
    arguments: 0..<4, Edit.allCases)
  func carried(number: Int, edit: Edit) async throws {
    let change = Self.changes[number]
    var stage = try await stage(change)
    let (b, a): (UUID, UUID?) =
      switch edit {
      case .moves: (stage.b[0], stage.a[2])
      case .clears: (stage.b[0], nil)
      case .sets: (stage.b[2], stage.a[2])
      }
    try point(b, to: a, stage.fleet[0])
    let new = model(a: change.after.a, bs: change.after.bs)
    try await stage.fleet.migrate(0, to: new)
    #expect(try stage.fleet[0].status.pending.objects == 1)
    try await stage.fleet.sync(0)
    try await stage.fleet.migrate(1, to: new)
    try await stage.fleet.sync(1, 0)
    try await stage.fleet.joinBothWays(new)
    try await stage.fleet.world.settle()
    for replica in stage.fleet.world.replicas {
      #expect(try targets(b, replica) == Set([a].compactMap(\.self)), "\(replica.name)")
      #expect(try targets(stage.b[1], replica) == [stage.a[1]], "\(replica.name)")
    }
  }

  @Test("What was acknowledged above the cursor is what the zone has of an end")
  func aboveTheCursor() async throws {
    let change = Self.changes[0]
    var stage = try await stage(change)
    try stage.fleet[1].set(stage.b[1], ["name": .string("other")])
    try await stage.fleet[1].push()
    try point(stage.b[0], to: stage.a[1], stage.fleet[0])
    try await stage.fleet[0].push()
    try point(stage.b[0], to: stage.a[2], stage.fleet[0])
    let new = model(a: .many, bs: .many)
    for number in 0..<2 { try await stage.fleet.migrate(number, to: new) }
    try await stage.fleet.joinBothWays(new)
    try await stage.fleet.world.settle()
    for replica in stage.fleet.world.replicas {
      #expect(try targets(stage.b[0], replica) == [stage.a[2]], "\(replica.name)")
    }
  }

  @Test("A reference to what is deleted beside it comes back with that")
  func deletedBeside() async throws {
    let change = Self.changes[0]
    var stage = try await stage(change)
    try stage.fleet[0].delete(stage.a[1])
    stage.fleet.world.clock.advance()
    try stage.fleet[1].set(stage.a[1], ["name": .string("edited")])
    try await stage.fleet.sync(1)
    let new = model(a: .many, bs: .many)
    for number in 0..<2 { try await stage.fleet.migrate(number, to: new) }
    try await stage.fleet.joinBothWays(new)
    try await stage.fleet.world.settle()
    for replica in stage.fleet.world.replicas {
      #expect(try targets(stage.b[1], replica) == [stage.a[1]], "\(replica.name)")
    }
  }

  @Test(
    "Where nobody knows what a reference was, what it is goes on, and the journal tells the rest")
  func purged() async throws {
    let old = model(a: .one, bs: .many)
    var stage = try await stage(Change(before: .many, after: (.many, .many)))
    let way = try PurgedZone(stage.fleet.world.zone)
    try way.purge()
    try await stage.fleet.join(old, "late", by: way)
    try await stage.fleet.sync(2)
    #expect(way.fetched > 0)
    try point(stage.b[0], to: stage.a[2], stage.fleet[2])
    let new = model(a: .many, bs: .many)
    try await stage.fleet.migrate(2, to: new, by: way)
    try await stage.fleet.sync(2)
    #expect(try stage.fleet[2].conflicts.map(\.property) == ["a"])
    for number in 0..<2 { try await stage.fleet.migrate(number, to: new) }
    try await stage.fleet.world.settle()
    for replica in stage.fleet.world.replicas {
      #expect(
        try targets(stage.b[0], replica) == [stage.a[0], stage.a[2]], "\(replica.name)")
    }
  }

  @Test("A set whose other end is gone, which said it, is what the zone has of it")
  func lostOwner() async throws {
    var stage = try await stage(Self.changes[0])
    let new = model(a: .none, bs: .many)
    for number in 0..<2 { try await stage.fleet.migrate(number, to: new) }
    try await stage.fleet.joinBothWays(new)
    try await stage.fleet.world.settle()
    for replica in stage.fleet.world.replicas {
      #expect(try replica.elements(stage.a[0], "bs") == [], "\(replica.name)")
    }
  }

  @Test("An undo of a reference that is a set by now makes it the set of one")
  func undone() async throws {
    var stage = try await stage(Change(before: .list, after: (.many, .none)))
    try point(stage.b[0], to: stage.a[1], stage.fleet[0])
    stage.fleet.world.clock.advance()
    try point(stage.b[0], to: stage.a[2], stage.fleet[1])
    try await stage.fleet.sync(1, 0)
    let entry = try #require(try stage.fleet[0].conflicts.first { $0.property == "a" })
    let new = model(a: .many, bs: .none)
    try await stage.fleet.migrate(0, to: new)
    try SyncEngine.undo(conflict: entry.number, of: stage.fleet[0].store)
    #expect(try targets(stage.b[0], stage.fleet[0]) == [stage.a[1]])
    try await stage.fleet.migrate(1, to: new)
    try await stage.fleet.world.settle()
    #expect(try targets(stage.b[0], stage.fleet[1]) == [stage.a[1]])
  }
}
