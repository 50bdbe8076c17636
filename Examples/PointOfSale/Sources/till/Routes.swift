import DriftlessSync
import Foundation
import Hummingbird
import ServiceLifecycle

/// What a request has beside itself. Its body is bounded.
struct TillContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  var maxUploadSize: Int { Limits.requestBytes }

  init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }
}

/// What a till answers:
///
///     GET  /                    the page
///     GET  /events              what it shows, and every change of it, as server-sent events
///     POST /products            a new product
///     POST /products/ID/price   another price
///     POST /sales               a sale
///     POST /decisions/NUMBER    which of two prices it shall be
struct Routes {
  let shop: Shop
  let screen: Screen
  let page: ByteBuffer

  func router() -> Router<TillContext> {
    let router = Router(context: TillContext.self)
    router.add(middleware: PlainErrors())
    router.get("/") { _, _ in
      Response(
        status: .ok,
        headers: [
          .contentType: "text/html; charset=utf-8",
          .contentSecurityPolicy: "frame-ancestors 'none'",
        ],
        body: ResponseBody(byteBuffer: page))
    }
    router.get("/events") { request, _ in try await events(request) }
    router.post("/products") { request, context in
      try await shop.add(try await read(NewProduct.self, request, context))
      return HTTPResponse.Status.noContent
    }
    router.post("/products/:id/price") { request, context in
      guard let id = context.parameters.get("id", as: UUID.self) else { throw TillError.noProduct }
      try await shop.setPrice(of: id, to: try await read(NewPrice.self, request, context).price)
      return HTTPResponse.Status.noContent
    }
    router.post("/sales") { request, context in
      try await shop.sell(try await read(NewSale.self, request, context))
      return HTTPResponse.Status.noContent
    }
    router.post("/decisions/:number") { request, context in
      guard let number = context.parameters.get("number", as: Int64.self) else {
        throw TillError.noDecision
      }
      try shop.decide(number, for: try await read(Decision.self, request, context).side)
      await screen.decided()
      return HTTPResponse.Status.noContent
    }
    return router
  }

  /// The stream ends with the page, and with the program.
  private func events(_ request: Request) async throws -> Response {
    let views = try await screen.open()
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          for await view in views.cancelOnGracefulShutdown() {
            let json = String(decoding: try encoder.encode(view), as: UTF8.self)
            try await writer.write(ByteBuffer(string: "data: \(json)\n\n"))
          }
        }
        try await writer.finish(nil)
      })
  }

  /// A page of another site can make a browser send a form here, but nothing of this type.
  private func read<Value: Decodable>(
    _ type: Value.Type, _ request: Request, _ context: TillContext
  ) async throws -> Value {
    guard request.headers[.contentType] == "application/json" else { throw TillError.notUnderstood }
    return try await request.decode(as: type, context: context)
  }
}

/// Errors as one line of text, which the page shows as it is.
struct PlainErrors: RouterMiddleware {
  func handle(
    _ request: Request, context: TillContext,
    next: (Request, TillContext) async throws -> Response
  ) async throws -> Response {
    // Else a page of another site could read this one by a name of its own that leads here.
    let host = request.head.authority?.split(separator: ":").first
    guard host == "127.0.0.1" || host == "localhost" else {
      return answer(.forbidden, "This till answers to 127.0.0.1 and localhost alone.")
    }
    do {
      return try await next(request, context)
    } catch let error as TillError {
      return answer(error.status, error.line)
    } catch let error as any HTTPResponseError {
      return answer(error.status, "\(TillError.notUnderstood.line) (\(error.status))")
    } catch let error as SyncError {
      return answer(.conflict, "\(error)")
    } catch {
      // A full disk, say: what the store says of it.
      return answer(.internalServerError, "\(error)")
    }
  }

  private func answer(_ status: HTTPResponse.Status, _ line: String) -> Response {
    Response(
      status: status, headers: [.contentType: "text/plain; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: line + "\n")))
  }
}
