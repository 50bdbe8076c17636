import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// How a store leaves its zone.
enum LeavingWay: CaseIterable { case unenrolled, rekeyed }

/// Tests of stores that leave their zone, count, and come back.
protocol LeavingStores {}

extension LeavingStores {
  func leave(_ replica: TestReplica, _ way: LeavingWay = .unenrolled) async throws {
    await replica.engine.close()
    switch way {
    case .unenrolled: try SyncEngine.unenroll(store: replica.store, leavingUnsent: true)
    case .rekeyed: _ = try SyncEngine.rekey(store: replica.store)
    }
  }

  func comeBack(_ replica: TestReplica) async throws {
    try await replica.enroll()
    await replica.restart()
  }

  func count(_ id: UUID, _ added: Int64, on replica: TestReplica) throws {
    guard case .integer(let stock)? = try replica.value(id, "stock") else {
      Issue.record("\(replica.name) has no stock")
      return
    }
    try replica.set(id, ["stock": .integer(stock + added)])
  }

  func expectStock(
    _ stock: Int64, of id: UUID, _ world: World, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await world.settle(location)
    for replica in world.replicas {
      #expect(
        try replica.value(id, "stock") == .integer(stock), "\(replica.name)",
        sourceLocation: location)
    }
  }
}
