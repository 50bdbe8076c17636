import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import Testing

@testable import DriftlessServer

@Suite("What is known of where logs end") struct ZoneNewsTests {
  @Test("The ends of logs that are no more are forgotten; one that begins meanwhile stays")
  func dead() async {
    let news = ZoneNews(waitersMax: 10)
    let (living, dead, new) = (UUID(), UUID(), UUID())
    news.publish(living, head: 3)
    news.publish(dead, head: 4)
    await news.forgetDead {
      news.publish(new, head: 1)
      return [living]
    }
    #expect(news.heads == [living: 3, new: 1])
    #expect(await news.wait(living, after: 2) == .over)
  }

  @Test("A server forgets the logs of zones that were renewed and deleted while it serves")
  func server() async throws {
    try await withServer { server in
      let folder = try DataFolder(server.data)
      for number in 0..<20 {
        let zone = try await server.zone()
        var replica = TestReplica()
        _ = try await server.server.storage.append(replica.push(zone.generation), to: zone)
        let administration = try Administration(folder: folder)
        defer { administration.close() }
        _ = try administration.renewZone("shop", intent: number % 2 == 0 ? .offer : .replace)
      }
      let care = Task { await server.server.forgetDeadLogs(every: .milliseconds(1)) }
      defer { care.cancel() }
      try await until { server.server.news.heads.isEmpty }
      let zone = try await server.zone()
      var replica = TestReplica()
      _ = try await server.server.storage.append(replica.push(zone.generation), to: zone)
      #expect(server.server.news.heads == [zone.generation: 1])
    }
  }
}
