import DriftlessServer
import Foundation
import Testing

@Suite("The stale check")
struct StaleCheckTests {
  /// A zone with objects 1…10 that both replicas have pulled.
  private struct World {
    let test: TestZone
    let zone: ZoneRecord
    var a = TestReplica()
    var b = TestReplica()

    init() async throws {
      test = try TestZone()
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

  @Test("The same property of one object is stale until pulled; another property is not")
  func properties() async throws {
    var world = try await World()
    #expect(try await world.a(.update(["title"], of: [3])))
    #expect(try await !world.b(.update(["title"], of: [3])))
    #expect(try await world.b(.update(["pages"], of: [3])))
    #expect(try await world.b(.update(["title"], of: [4])))
    world.b.cursor = try await world.test.place(at: 4)
    #expect(try await world.b(.update(["title"], of: [3])))
  }

  @Test("One stale object refuses the whole push, and nothing of it stays")
  func whole() async throws {
    var world = try await World()
    #expect(try await world.a(.update(["title"], of: [10])))
    #expect(try await !world.b(.update(["title"], of: Array(1...10))))
    world.a.cursor = try await world.test.place(at: 2)
    #expect(try await world.a(.update(["title"], of: Array(1...9))), "b's push left no trace")
    #expect(try await world.test.zone().head == 3)
  }

  @Test("A replica's own pushes above its cursor do not make its next one stale")
  func own() async throws {
    var world = try await World()
    #expect(try await world.a(.update(["title"], of: [1])))
    #expect(try await world.a(.update(["title"], of: [1])))
    #expect(try await world.a(.delete([1])))
  }

  @Test("An object that the replica inserted above its cursor is its own to change")
  func ownInsert() async throws {
    var world = try await World()
    let insert = world.a.push(
      world.zone.generation, inserts: [.init(first: UUID(), count: 1)])
    #expect(try await world.append(insert))
    #expect(try await world.a(.update(["title"], of: [11])))
    #expect(try await !world.b(.update(["title"], of: [11])), "b has not pulled the insert")
  }

  @Test("A delete is stale against any later change, a change against a later delete")
  func deletes() async throws {
    var world = try await World()
    #expect(try await world.a(.update(["pages"], of: [1])))
    #expect(try await !world.b(.delete([1])))
    #expect(try await world.a(.delete([2])))
    #expect(try await !world.b(.update(["title"], of: [2])))
    #expect(try await !world.b(.delete([2])))
  }

  @Test("A deleted object revives on a cursor after the delete, as a whole")
  func revive() async throws {
    var world = try await World()
    #expect(try await world.a(.delete([5])))
    #expect(try await !world.b(.revive([5])))
    world.b.cursor = try await world.test.place(at: 2)
    #expect(try await world.b(.revive([5])))
    #expect(try await world.a(.update(["title"], of: [6])))
    #expect(try await !world.a(.update(["title"], of: [5])), "the revival set all of it")
    world.a.cursor = try await world.test.place(at: 4)
    #expect(try await world.a(.update(["title"], of: [5])))
  }

  @Test("A number that the zone never gave out is malformed", arguments: [UInt64(0), 11, .max])
  func unknown(number: UInt64) async throws {
    var world = try await World()
    let push = world.a.push(world.zone.generation, .update(["title"], of: [number]))
    let refused = try await code {
      _ = try await world.test.storage.append(push, to: world.zone)
    }
    #expect(refused == .malformed)
  }

  @Test("An identity enters a zone once, alone or inside a range")
  func identities() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    func insert(_ last: UInt8, _ count: UInt64) async throws -> ServerError.Code? {
      let first = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x80, 8, 0x80, 0, 0, 0, 0, 0, 0, last))
      let push = replica.push(zone.generation, inserts: [.init(first: first, count: count)])
      let refused = try await code { _ = try await test.storage.append(push, to: zone) }
      if refused != nil { replica.number -= 1 }
      return refused
    }
    #expect(try await insert(100, 50) == nil)
    #expect(try await insert(100, 1) == .stale)
    #expect(try await insert(149, 1) == .stale)
    #expect(try await insert(90, 11) == .stale)
    #expect(try await insert(90, 100) == .stale)
    #expect(try await insert(150, 1) == nil)
    #expect(try await insert(90, 10) == nil)
    #expect(try await test.zone().head == 3)
  }

  @Test("A range that runs over the end of its eight bytes is malformed")
  func overflow() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let last = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 255))
    let push = replica.push(zone.generation, inserts: [.init(first: last, count: 2)])
    let refused = try await code { _ = try await test.storage.append(push, to: zone) }
    #expect(refused == .malformed)
  }
}
