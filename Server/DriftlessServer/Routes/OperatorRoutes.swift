import Foundation
import Hummingbird

/// What an operator's tools ask: is it well, and how is it doing. Neither says anything about
/// content.
struct OperatorRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let news: ZoneNews

  func add(to router: Router<ServerContext>) {
    router.get("healthz") { _, _ in
      // A read goes through the database, so a server that lost its disk is not called healthy.
      _ = try await storage.zone(named: "-")
      return Self.response("{\"status\":\"ok\"}\n", type: "application/json")
    }
    router.get("metrics") { _, _ in
      Self.response(
        metrics.text(waiting: news.waiting), type: "text/plain; version=0.0.4; charset=utf-8")
    }
  }

  private static func response(_ text: String, type: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
