import DriftlessProtocol
import Foundation
import Testing

/// Unique keys, the same cases for the zone in memory and for the server's storage.
@Suite("A zone's unique keys, in memory and in the server")
struct ZoneKeyTests {
  typealias Kind = TestedZone.Kind

  @Test(
    "S20 One living object of a zone holds a key, and its holder is told",
    arguments: Kind.allCases)
  func keys(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let stale = try await world.b {
      $0.inserts = 1
      $0.emails = [(.new(0), "two@")]
    }
    #expect(stale?.code == .stale)
    #expect(stale?.objects == [2])
    #expect(
      try await world.b {
        $0.known = [3: .update(["email"])]
        $0.emails = [(.known(3), "one@")]
      }?.objects == [1])
    #expect(
      try await world.b {
        $0.known = [2: .update(["email"])]
        $0.emails = [(.known(2), "two@")]
      } == nil, "its own key is no other's")
  }

  @Test(
    "S20 A key is free after a delete, another claim, and an edit without a claim",
    arguments: Kind.allCases, [0, 1, 2])
  func freed(kind: Kind, how: Int) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a {
      switch how {
      case 0: $0.known = [1: .delete]
      case 1:
        $0.known = [1: .update(["email"])]
        $0.emails = [(.known(1), "other@")]
      default: $0.known = [1: .update(["email"])]
      }
    }
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.emails = [(.new(0), "one@")]
      } == nil)
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.emails = [(.new(0), "one@")]
      }?.objects == [5])
    let other = try await world.b {
      $0.inserts = 1
      $0.emails = [(.new(0), "other@")]
    }
    #expect(other?.objects == (how == 1 ? [1] : nil))
  }

  @Test(
    "S20 Within a push keys are let go before they are taken: a swap, a delete and an insert",
    arguments: Kind.allCases)
  func swapped(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    #expect(
      try await world.b {
        $0.known = [1: .update(["email"]), 2: .update(["email"])]
        $0.emails = [(.known(1), "two@"), (.known(2), "one@")]
      } == nil)
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.known = [1: .delete]
        $0.emails = [(.new(0), "two@")]
      } == nil)
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.emails = [(.new(0), "two@")]
      }?.objects == [5])
  }

  @Test(
    "A claim builds on the constraint's properties; an edit of another property keeps the key",
    arguments: Kind.allCases)
  func claimsRely(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a {
      $0.known = [3: .update(["email"]), 1: .update(["a"])]
      $0.emails = [(.known(3), "three@")]
    }
    #expect(try await world.b { $0.emails = [(.known(3), "old@")] }?.objects == [3])
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.emails = [(.new(0), "one@")]
      }?.objects == [1])
  }

  @Test("A refused push leaves no key, no name and no number behind", arguments: Kind.allCases)
  func noTrace(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a { $0.known = [3: .update(["a"])] }
    let first = UUID()
    let refused = try await world.b {
      $0.inserts = 1
      $0.first = first
      $0.known = [1: .delete, 3: .update(["a"]), 4: .named]
      $0.emails = [(.new(0), "new@")]
    }
    #expect(refused?.code == .stale)
    var c = ZoneWriter(world.zone.generation)
    c.cursor = try await world.zone.head
    let reply = try await world.zone.push(
      c.frame {
        $0.inserts = 1
        $0.first = first
        $0.known = [4: .delete, 1: .update(["a"])]
        $0.emails = [(.new(0), "new@")]
      })
    #expect(reply.firstObjectNumber == 5)
  }
}
