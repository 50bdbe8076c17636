import Foundation
import Hummingbird

/// What an operator's tools ask: is it well, and how is it doing. Neither says anything about
/// content.
struct OperatorRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let news: ZoneNews
  let entryCheck: EntryCheck
  let certificate: LiveCertificate

  func add(to router: Router<ServerContext>) {
    router.get("healthz") { _, _ in
      // A read goes through the database, so a server that lost its disk is not called healthy.
      let generations = try await storage.generations()
      // It serves what is whole: whoever asks is to read on, not to end it.
      let damaged = entryCheck.damagedEntries(of: generations)
      let status = damaged == 0 ? "ok" : "damaged"
      return Self.response(
        "{\"damagedEntries\":\(damaged),\"status\":\"\(status)\"}\n", type: "application/json")
    }
    router.get("metrics") { _, _ in
      // Metrics are told also where the database cannot be read.
      let generations = try? await storage.generations()
      return Self.response(
        metrics.text(
          waiting: news.waiting, damagedEntries: entryCheck.damagedEntries(of: generations),
          certificateEnds: certificate.current?.ends),
        type: "text/plain; version=0.0.4; charset=utf-8")
    }
  }

  private static func response(_ text: String, type: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
