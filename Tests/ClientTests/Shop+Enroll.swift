import DriftlessProtocol
import DriftlessSync
import Foundation
import Testing

extension Shop {
  /// Has the store be a replica of an empty zone whose server is away.
  func enroll() throws {
    let generation = UUID()
    try SyncEngine.enroll(
      store: store, server: try #require(URL(string: "http://127.0.0.1:1")), zone: "shop",
      info: ZoneInfo(
        zone: "shop", zoneID: UUID(), generation: generation, head: 0,
        chain: .start(generation: generation), serverTimeMilliseconds: 0))
  }
}
