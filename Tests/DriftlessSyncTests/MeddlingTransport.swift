import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation

/// A transport under which the replica is edited while its requests are on their way, as a seed
/// says.
// Sendable by use: set up before the engine has it, called by that engine alone.
final class MeddlingTransport: SyncTransport, @unchecked Sendable {
  private let next: any SyncTransport
  private var generator: SeededGenerator
  weak var replica: TestReplica?

  init(_ next: any SyncTransport, seed: UInt64) {
    self.next = next
    generator = SeededGenerator(seed: seed)
  }

  func zoneInfo() async throws -> ZoneInfo { try await next.zoneInfo() }

  func push(_ frame: Data) async throws -> PushReply {
    try meddle()
    let reply = try await next.push(frame)
    try meddle()
    return reply
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    let page = try await next.pull(request)
    try meddle()
    return page
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await next.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await next.commonPlace(of: marks, generation: generation)
  }

  /// One item counts on or gets another title, or one goes. Rarely, so that a push comes to an end.
  private func meddle() throws {
    guard let replica, generator.chance(20) else { return }
    let items = try replica.identities(of: "Item")
    guard let id = items.randomElement(using: &generator) else { return }
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: try replica.delete(id)
    case 1..<5:
      guard case .integer(let stock)? = try replica.value(id, "stock") else { return }
      try replica.set(id, ["stock": .integer(stock + 1)])
    default: try replica.set(id, ["title": .string("meddled"), "text": .string("meddled")])
    }
  }
}
