import DriftlessProtocol
import DriftlessServer
import Foundation
import Testing

@Suite("Appending to a log")
struct AppendTests {
  @Test("Sequence numbers are dense and object numbers follow each other")
  func numbers() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let first = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 10)]), to: zone)
    let second = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    #expect(first.sequence == 1 && first.firstObjectNumber == 1 && !first.isRepeat)
    #expect(second.sequence == 2 && second.firstObjectNumber == 11 && !second.isRepeat)
    #expect(try await test.zone().chain == second.chain)
    #expect(try await test.zone().head == 2)
  }

  @Test("The same push again has one effect and the same answer")
  func repeats() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let push = replica.push(zone.generation, inserts: [.init(first: UUID(), count: 3)])
    let first = try await test.storage.append(push, to: zone)
    _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    let again = try await test.storage.append(push, to: zone)
    #expect(again.isRepeat)
    #expect((again.sequence, again.firstObjectNumber, again.chain) == (1, 1, first.chain))
    #expect(try await test.zone().head == 2)
  }

  @Test("Other bytes under a known number are a fork, and leave the log as it was")
  func fork() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let replica = TestReplica()
    _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let forked = try await code {
      _ = try await test.storage.append(replica.push(1, zone.generation, fill: 8), to: zone)
    }
    #expect(forked == .forked)
    #expect(try await test.zone().head == 1)
  }

  @Test("A gap in the push numbers is fine", arguments: [UInt64(2), 3, UInt64(Int64.max)])
  func gap(number: UInt64) async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let replica = TestReplica()
    let first = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let later = try await test.storage.append(replica.push(number, zone.generation), to: zone)
    #expect([first.sequence, later.sequence] == [1, 2])
    let push = replica.push(number, zone.generation)
    #expect(try await test.storage.append(push, to: zone).isRepeat)
  }

  @Test("A push for another generation, or from beyond the log's end, is refused")
  func generation() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let other = try await code {
      _ = try await test.storage.append(replica.push(1, UUID()), to: zone)
    }
    #expect(other == .generationChanged)
    replica.cursor = LogMark(sequence: 1, chain: zone.chain)
    let beyond = try await code {
      _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    }
    #expect(beyond == .diverged)
  }

  @Test("A replica of one zone cannot push to another")
  func otherZone() async throws {
    let test = try TestZone()
    let administration = try Administration(folder: test.folder)
    let other = try administration.createZone("other")
    administration.close()
    let zone = try await test.zone()
    let replica = TestReplica()
    _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let refused = try await code {
      _ = try await test.storage.append(replica.push(1, other.generation), to: other)
    }
    #expect(refused == .forbidden)
    #expect(try await test.zone("other").head == 0)
  }

  @Test("The log gives back each frame byte for byte, and the replica's own as headers")
  func page() async throws {
    let test = try TestZone()
    var zone = try await test.zone()
    var mine = TestReplica()
    var others = TestReplica()
    let first = mine.push(zone.generation, size: 1000)
    let second = others.push(zone.generation, size: 5000)
    let third = mine.push(zone.generation, size: ChangeSetHeader.size)
    for push in [first, second, third] { _ = try await test.storage.append(push, to: zone) }
    zone = try await test.zone()
    var request = PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 100)
    let whole = try await test.storage.page(of: zone, request)
    #expect(whole.entries.map(\.bytes) == [first.frame, second.frame, third.frame])
    #expect(whole.head == 3)
    request.own = (mine.id, 1)
    let part = try await test.storage.page(of: zone, request)
    #expect(
      part.entries.map(\.bytes) == [
        first.frame.prefix(ChangeSetHeader.size), second.frame, third.frame,
      ])
    #expect(part.entries.map(\.isHeaderOnly) == [true, false, false])
  }

  @Test("A page ends at its bytes, but holds one entry however large; pages join without a gap")
  func pages() async throws {
    let test = try TestZone()
    var zone = try await test.zone()
    var replica = TestReplica()
    for size in [3000, 3000, 9000, 3000] {
      _ = try await test.storage.append(replica.push(zone.generation, size: size), to: zone)
    }
    zone = try await test.zone()
    var pages: [[UInt64]] = []
    var request = PageRequest(after: zone.beginning, bytesMax: 7000, entriesMax: 100)
    while request.after.sequence < zone.head {
      let page = try await test.storage.page(of: zone, request)
      pages.append(page.entries.map(\.sequence))
      let last = try #require(page.entries.last)
      request.after = LogMark(sequence: last.sequence, chain: last.chain)
    }
    #expect(pages == [[1, 2], [3], [4]])
  }

  @Test("What was acknowledged is there after the server was started anew")
  func restart() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let push = replica.push(zone.generation, inserts: [.init(first: UUID(), count: 2)])
    _ = try await test.storage.append(push, to: zone)
    test.storage.close()
    let storage = try SQLiteZoneStorage(folder: test.folder)
    defer { storage.close() }
    let reopened = try #require(try await storage.zone(named: "shop"))
    #expect(reopened.head == 1)
    #expect(reopened.generation == zone.generation)
    #expect(try await storage.append(push, to: reopened).isRepeat)
    let page = try await storage.page(
      of: reopened, PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 10))
    #expect(page.entries.map(\.bytes) == [push.frame])
  }

  @Test("Pushes at one time get dense numbers, in fewer commits than pushes")
  func concurrent() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let sequences = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<20 {
        group.addTask {
          var replica = TestReplica()
          var given: [UInt64] = []
          for _ in 0..<10 {
            let run = Push.IdentityRun(first: UUID(), count: 1)
            let push = replica.push(zone.generation, inserts: [run])
            given.append(try await test.storage.append(push, to: zone).sequence)
          }
          return given
        }
      }
      return try await group.reduce(into: [UInt64]()) { $0 += $1 }
    }
    #expect(sequences.sorted() == Array(1...200))
    let page = try await test.storage.page(
      of: test.zone(), PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: 1000))
    #expect(page.entries.map(\.sequence) == Array(1...200))
    #expect(page.entries.map(\.firstObjectNumber) == Array(1...200))
    let commits = test.storage.metrics.commits
    #expect(commits.pushes == 200)
    #expect(commits.groups < commits.pushes, "a group commit serves many pushes")
  }
}
