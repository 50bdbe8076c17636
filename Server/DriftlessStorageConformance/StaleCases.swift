import DriftlessProtocol
import DriftlessServer
import Foundation

/// When a push is stale.
enum StaleCases {
  static let all = [
    StorageCase(
      "The same property of one object is stale until pulled; another property is not", properties),
    StorageCase("One stale object refuses the whole push, and nothing of it stays", whole),
    StorageCase("A replica's own pushes above its cursor do not make its next one stale", own),
    StorageCase(
      "An object that the replica inserted above its cursor is its own to change", ownInsert),
    StorageCase(
      "A delete is stale against any later change, a change against a later delete", deletes),
    StorageCase("A deleted object revives on a cursor after the delete, as a whole", revive),
    StorageCase("A number that the zone never gave out is malformed", unknown),
    StorageCase("An identity enters a zone once, alone or inside a range", identities),
    StorageCase("A range that runs over the end of its eight bytes is malformed", overflow),
  ]

  /// A zone with objects 1…10 that both replicas have pulled.
  private struct World {
    let test: StorageWorld
    let zone: ZoneRecord
    var a = TestReplica()
    var b = TestReplica()

    init(_ kind: StorageUnderTest) async throws {
      test = try await StorageWorld(kind)
      zone = try await test.zone()
      let insert = a.push(zone.generation, inserts: [.init(first: UUID(), count: 10)])
      _ = try await test.storage.append(insert, to: zone)
      a.cursor = try await test.place(at: 1)
      b.cursor = a.cursor
    }

    func append(_ push: Push) async throws -> Bool {
      do {
        _ = try await test.storage.append(push, to: zone)
        return true
      } catch let error as ServerError where error.code == .stale {
        return false
      }
    }

    mutating func a(_ touch: Push.Touch) async throws -> Bool {
      let accepted = try await append(a.push(zone.generation, touch))
      if !accepted { a.number -= 1 }
      return accepted
    }

    mutating func b(_ touch: Push.Touch) async throws -> Bool {
      let accepted = try await append(b.push(zone.generation, touch))
      if !accepted { b.number -= 1 }
      return accepted
    }
  }

  /// The same property of one object is stale until pulled; another property is not.
  static func properties(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    try expect(await world.a(.update(["title"], of: [3])))
    try expect(await !world.b(.update(["title"], of: [3])))
    try expect(await world.b(.update(["pages"], of: [3])))
    try expect(await world.b(.update(["title"], of: [4])))
    world.b.cursor = try await world.test.place(at: 4)
    try expect(await world.b(.update(["title"], of: [3])))
  }

  /// One stale object refuses the whole push, and nothing of it stays.
  static func whole(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    try expect(await world.a(.update(["title"], of: [10])))
    try expect(await !world.b(.update(["title"], of: Array(1...10))))
    world.a.cursor = try await world.test.place(at: 2)
    try expect(await world.a(.update(["title"], of: Array(1...9))), "b's push left no trace")
    try expect(await world.test.zone().head == 3)
  }

  /// A replica's own pushes above its cursor do not make its next one stale.
  static func own(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    try expect(await world.a(.update(["title"], of: [1])))
    try expect(await world.a(.update(["title"], of: [1])))
    try expect(await world.a(.delete([1])))
  }

  /// An object that the replica inserted above its cursor is its own to change.
  static func ownInsert(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    let insert = world.a.push(
      world.zone.generation, inserts: [.init(first: UUID(), count: 1)])
    try expect(await world.append(insert))
    try expect(await world.a(.update(["title"], of: [11])))
    try expect(await !world.b(.update(["title"], of: [11])), "b has not pulled the insert")
  }

  /// A delete is stale against any later change, a change against a later delete.
  static func deletes(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    try expect(await world.a(.update(["pages"], of: [1])))
    try expect(await !world.b(.delete([1])))
    try expect(await world.a(.delete([2])))
    try expect(await !world.b(.update(["title"], of: [2])))
    try expect(await !world.b(.delete([2])))
  }

  /// A deleted object revives on a cursor after the delete, as a whole.
  static func revive(kind: StorageUnderTest) async throws {
    var world = try await World(kind)
    try expect(await world.a(.delete([5])))
    try expect(await !world.b(.revive([5])))
    world.b.cursor = try await world.test.place(at: 2)
    try expect(await world.b(.revive([5])))
    try expect(await world.a(.update(["title"], of: [6])))
    try expect(await !world.a(.update(["title"], of: [5])), "the revival set all of it")
    world.a.cursor = try await world.test.place(at: 4)
    try expect(await world.a(.update(["title"], of: [5])))
  }

  /// A number that the zone never gave out is malformed.
  static func unknown(kind: StorageUnderTest) async throws {
    for number in [UInt64(0), 11, .max] as [UInt64] { try await unknownOne(kind, number) }
  }

  private static func unknownOne(_ kind: StorageUnderTest, _ number: UInt64) async throws {
    var world = try await World(kind)
    let push = world.a.push(world.zone.generation, .update(["title"], of: [number]))
    let refused = try await code {
      _ = try await world.test.storage.append(push, to: world.zone)
    }
    try expect(refused == .malformed)
  }

  /// An identity enters a zone once, alone or inside a range.
  static func identities(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    func insert(_ last: UInt8, _ count: UInt64) async throws -> ServerError.Code? {
      let first = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x80, 8, 0x80, 0, 0, 0, 0, 0, 0, last))
      let push = replica.push(zone.generation, inserts: [.init(first: first, count: count)])
      let refused = try await code { _ = try await test.storage.append(push, to: zone) }
      if refused != nil { replica.number -= 1 }
      return refused
    }
    try expect(await insert(100, 50) == nil)
    try expect(await insert(100, 1) == .stale)
    try expect(await insert(149, 1) == .stale)
    try expect(await insert(90, 11) == .stale)
    try expect(await insert(90, 100) == .stale)
    try expect(await insert(150, 1) == nil)
    try expect(await insert(90, 10) == nil)
    try expect(await test.zone().head == 3)
  }

  /// A range that runs over the end of its eight bytes is malformed.
  static func overflow(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    let last = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 255))
    let push = replica.push(zone.generation, inserts: [.init(first: last, count: 2)])
    let refused = try await code { _ = try await test.storage.append(push, to: zone) }
    try expect(refused == .malformed)
  }
}
