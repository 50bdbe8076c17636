import Foundation
import Hummingbird

/// What an operator's tools ask: is it well, is it ready, and how is it doing. None says anything about
/// content.
struct OperatorRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let news: ZoneNews
  let entryCheck: EntryCheck
  let certificate: LiveCertificate
  let operators: OperatorGate
  let readiness: Readiness
  private let cache = StatusCache()

  init(server: ReferenceServer, operators: OperatorGate) {
    storage = server.storage
    metrics = server.metrics
    news = server.news
    entryCheck = server.storage.entryCheck
    certificate = server.certificate
    self.operators = operators
    readiness = Readiness(
      storage: server.storage, metrics: server.metrics, limits: server.limits)
    ProcessFigures.begin()
  }

  func add(to router: Router<ServerContext>) {
    router.getAndHead("healthz") { _, _ in
      // A read goes through the database, so a server that lost its disk is not called healthy.
      let generations = try await storage.generations()
      // It serves what is whole: whoever asks is to read on, not to end it.
      let damaged = entryCheck.damagedEntries(of: generations)
      let status = damaged == 0 ? "ok" : "damaged"
      return Self.response(
        "{\"damagedEntries\":\(damaged),\"status\":\"\(status)\"}\n", type: "application/json")
    }
    router.getAndHead("readyz") { _, _ in
      try await readiness.check()
      return Self.response("{\"status\":\"ready\"}\n", type: "application/json")
    }
    router.getAndHead("metrics") { request, context in
      try await operators.admitReader(request, context)
      // Metrics are told also where the database cannot be read.
      let generations = try? await storage.generations()
      let look = try? await cache.look("") { [storage] in
        try await storage.look(from: "", count: 0)
      }
      return Self.response(
        MetricsPage(
          values: metrics.current, waiting: news.waiting,
          damagedEntries: entryCheck.damagedEntries(of: generations),
          certificateEnds: certificate.current?.ends, storage: look, process: .current
        ).text,
        type: "text/plain; version=0.0.4; charset=utf-8")
    }
  }

  private static func response(_ text: String, type: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}

extension Router<ServerContext> {
  /// What monitors and balancers of load look at: many of them ask with HEAD. `ErrorReplies` leaves the body out.
  func getAndHead(
    _ path: RouterPath = "",
    use handler: @escaping @Sendable (Request, ServerContext) async throws -> Response
  ) {
    get(path, use: handler)
    head(path, use: handler)
  }
}
