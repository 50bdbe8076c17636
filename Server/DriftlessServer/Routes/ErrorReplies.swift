import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The outermost middleware: turns every error into the JSON of the wire, gives every answer its check, counts and logs
/// the request.
///
/// The log names the route, never the URL's text or a header: no token can get into it.
struct ErrorReplies: RouterMiddleware {
  let metrics: ServerMetrics
  let limits: LiveLimits
  private let answers: MemoryBudget

  init(metrics: ServerMetrics, limits: LiveLimits) {
    self.metrics = metrics
    self.limits = limits
    answers = MemoryBudget("large answers", most: limits.answersInMemoryBytesMax)
  }

  private static let requestIDField = HTTPField.Name("X-Request-Id")

  func handle(
    _ request: Request, context: ServerContext,
    next: (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    var response: Response
    var code: ServerError.Code?
    var closesConnection = false
    var charge: MemoryBudget.Charge?
    do {
      context.notes.note(answers)
      response = try await next(request, context)
      let size = response.body.contentLength ?? 0
      try context.notes.reserve(answer: size)
      charge = context.notes.takeCharge()
      charge?.shrink(to: size)
    } catch {
      context.notes.takeCharge()?.shrink(to: 0)
      let error = Self.serverError(error, path: String(request.uri.path.prefix(200)))
      code = error.code
      closesConnection = error.closesConnection
      metrics.countRefusal(error.code)
      if error.isDamage { metrics.countDamagedRead() }
      if error.code.status >= 500 {
        let reason = error.reason.map { "\(error): \($0)" } ?? "\(error)"
        context.logger.error(
          "request failed", metadata: ["error": "\(reason)", "request": "\(context.requestID)"])
      }
      response = try reply(error)
    }
    let duration = ContinuousClock.now - start
    let route = "\(request.method.rawValue.prefix(10)) \(context.endpointPath ?? "other")"
    let known = context.endpointPath == nil ? "other" : route
    metrics.count(
      route: known, status: response.status.code, duration: duration - context.notes.waited)
    let metadata: Logger.Metadata = [
      "route": "\(known)", "status": "\(response.status.code)", "code": "\(code?.name ?? "ok")",
      "milliseconds": "\(duration / .milliseconds(1))", "request": "\(context.requestID)",
      "address": "\(context.address)",
    ]
    context.logger.info("request", metadata: metadata.merging(context.notes.metadata) { $1 })
    if let name = Self.requestIDField { response.headers[name] = context.requestID }
    response.headers[.cacheControl] = "no-store"
    var body = try await response.checkBody(for: request)
    if request.method == .head {
      // The fields are those that GET would get, the body's length among them.
      response = response.createHeadResponse()
      body = ByteBuffer()
    } else if let charge {
      response.send(in: context.channel, charge, limits.bodySeconds)
    }
    if closesConnection { response.closeConnection(of: context.channel, after: body) }
    return response
  }

  static func serverError(_ error: any Error, path: String) -> ServerError {
    switch error {
    case let error as ServerError: return error
    case let error as HTTPError where error.status == .notFound:
      return ServerError(
        .notFound, "there is nothing at \(path)",
        suggestion: "Check the server's URL: the API is under /v1/zones/NAME.")
    case let error as ProtocolError:
      return ServerError(error)
    case is CancellationError: return .busy("the server stops")
    default: return ServerError(storage: error)
    }
  }

  private func reply(_ error: ServerError) throws -> Response {
    let wire = WireError(
      code: error.code.name, message: error.message, suggestion: error.suggestion, head: error.head,
      objects: error.objects.isEmpty ? nil : error.objects,
      serverTimeMilliseconds: error.serverTimeMilliseconds, floor: error.floor,
      values: error.values.isEmpty ? nil : error.values)
    var headers: HTTPFields = [.contentType: "application/json"]
    if error.code == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
    if error.code == .busy || error.code == .tooOften {
      headers[.retryAfter] = "\(error.retryAfterSeconds ?? limits.retryAfterSeconds)"
    }
    return Response(
      status: HTTPResponse.Status(code: error.code.status), headers: headers,
      body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(wire))))
  }
}

extension Response {
  /// Bytes of a large answer that are written at a time.
  static let pieceBytes = 256 << 10

  /// Has the body sent in pieces, each when those before it have gone: so long it is held. A client that takes none in time is hung
  /// up on.
  fileprivate mutating func send(
    in channel: any Channel, _ charge: MemoryBudget.Charge, _ seconds: Int
  ) {
    let whole = body
    guard whole.contentLength ?? 0 > 0 else { return }
    body = ResponseBody(contentLength: whole.contentLength) { writer in
      defer { charge.shrink(to: 0) }
      try await whole.write(PatientWriter(writer, channel: channel, seconds: seconds))
    }
  }

  /// Ends the connection with this answer.
  fileprivate mutating func closeConnection(of channel: any Channel, after bytes: ByteBuffer) {
    headers[.connection] = "close"
    body = ResponseBody(contentLength: bytes.readableBytes) { writer in
      try await writer.write(bytes)
      try await writer.finish(nil)
      // The client may still be sending. Closing both ways at once would reset the connection and
      // could take the answer with it: say that nothing more comes, and hang up a moment later.
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
  }
}

/// Writes what is to go to a client in pieces, and waits until they have gone.
private struct PatientWriter: ResponseBodyWriter {
  private var writer: any ResponseBodyWriter
  private let channel: any Channel
  private let seconds: Int
  /// Since the loop was waited for.
  private var bytes = 0

  /// - Parameter seconds: within which the client has to take something.
  init(_ writer: any ResponseBodyWriter, channel: any Channel, seconds: Int) {
    self.writer = writer
    self.channel = channel
    self.seconds = seconds
  }

  mutating func write(_ buffer: ByteBuffer) async throws {
    var rest = buffer
    while let piece = rest.readSlice(length: min(Response.pieceBytes, rest.readableBytes)),
      piece.readableBytes > 0
    {
      let end = deadline()
      defer { end.cancel() }
      try await writer.write(piece)
      bytes += piece.readableBytes
      // The writer hears that the connection takes no more when the loop has had the pieces: the next one waits then.
      guard bytes >= 2 * Response.pieceBytes else { continue }
      try await channel.eventLoop.submit {}.get()
      bytes = 0
    }
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    let end = deadline()
    defer { end.cancel() }
    let channel = channel
    try await writer.finish(trailingHeaders)
    var milliseconds = 1
    while channel.isActive,
      try await channel.getOption(ChannelOptions.bufferedWritableBytes).get() > 0
    {
      try await Task.sleep(for: .milliseconds(milliseconds))
      milliseconds = min(20, 2 * milliseconds)
    }
  }

  /// Hangs up, unless it is cancelled in time.
  private func deadline() -> Scheduled<Void> {
    let channel = channel
    return channel.eventLoop.scheduleTask(in: .seconds(Int64(seconds))) {
      channel.close(promise: nil)
    }
  }
}
