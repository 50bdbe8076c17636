import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A server that was put back, and does not take byte for byte what it lost.
@Suite("Refused refills")
struct RefusedRefillTests {
  /// The zone, which takes pushes, and back nothing.
  private struct RefusingWay: ForwardingTransport {
    let next: any SyncTransport
    let code: ProtocolError.Code

    func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
      throw ProtocolError(code, "It is not taken back", suggestion: "Offer it.")
    }
  }

  @Test("What the server lost and does not take back, for its times, is offered")
  func offered() async throws {
    let world = try await World(1)
    let replica = try await TestReplica(
      "refused", zone: world.zone, clock: world.clock,
      transport: RefusingWay(next: world.zone, code: .clockAhead))
    try replica.insert("Item", ["title": .string("kept")])
    try await replica.sync()
    let backup = world.zone.log
    let lost = try replica.insert("Item", ["title": .string("lost")])
    try await replica.sync()
    world.zone.putBack(backup)
    let report = try await replica.sync()
    #expect(report.reconciliations.map(\.kind) == [.offered])
    try await world[0].sync()
    #expect(try world[0].value(lost, "title") == .string("lost"))
  }
}
