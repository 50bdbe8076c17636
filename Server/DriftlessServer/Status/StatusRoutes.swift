import Foundation
import HTTPTypes
import Hummingbird
import Logging

/// The status page: for operators with a token of their own, who sign in with it. What it shows is read, never changed.
struct StatusRoutes: Sendable {
  let server: ReferenceServer
  let activity: ServerActivity
  private let sessions: Sessions
  private let cache = StatusCache()
  private let operators: OperatorGate
  private let signIns: RateLimit

  init(server: ReferenceServer, activity: ServerActivity, operators: OperatorGate) {
    self.server = server
    self.activity = activity
    self.operators = operators
    sessions = Sessions(limits: server.limits)
    signIns = RateLimit(
      countMax: server.limits.signInsPerTokenMax, seconds: server.limits.rateSeconds)
  }

  private static let zonesMax = 100
  private static let formBytesMax = 1024

  func add(to router: Router<ServerContext>) {
    router.getAndHead { request, context in
      try await page(home: "./", context) {
        guard let name = try await signedIn(request, context) else {
          return Self.redirect("sign-in")
        }
        return Self.html(try await zones(request, operator: name))
      }
    }
    router.get("sign-in") { _, context in
      try await page(home: "./", context) { Self.html(StatusPage.signIn(nil)) }
    }
    router.post("sign-in") { request, context in
      try await page(home: "./", context) { try await signIn(request, context) }
    }
    router.post("sign-out") { request, context in
      try await page(home: "./", context) { try await signOut(request, context) }
    }
    router.get("zones/:zone") { request, context in
      try await page(home: "../", context) {
        guard let name = try await signedIn(request, context) else {
          return Self.redirect("../sign-in")
        }
        return Self.html(try await zone(context, operator: name))
      }
    }
  }

  // MARK: Pages

  private func zones(_ request: Request, operator name: String) async throws -> HTML {
    let query = request.uri.queryParameters
    // What no name has is in nobody's way, and no database is asked for it.
    let from = String((query.get("from") ?? "").filter { ZoneName.isValid("a\($0)") }.prefix(100))
    // The zone after one: no name of a zone has what is put behind it here.
    let key = query.get("after") == nil ? from : from + "!"
    let look: StorageLook?
    do {
      look = try await cache.look(key) { [storage = server.storage] in
        try await storage.look(from: key, count: Self.zonesMax)
      }
    } catch {
      server.logger.error("the status page cannot be read", metadata: ["error": "\(error)"])
      look = nil
    }
    let generations = try? await server.storage.generations()
    let runs = (ContinuousClock.now - activity.began) / .milliseconds(1)
    let totals = server.metrics.totals
    return await StatusPage(home: "./", now: now).zones(
      look, from: from,
      server: StatusPage.Server(
        totals: totals, waiting: server.news.waiting, samples: activity.samples,
        runsMilliseconds: Int64(runs),
        damagedEntries: server.storage.entryCheck.damagedEntries(of: generations),
        certificateEnds: server.certificate.current?.ends),
      operator: name)
  }

  private func zone(_ context: ServerContext, operator name: String) async throws -> HTML {
    guard let zoneName = context.parameters.get("zone"), ZoneName.isValid(zoneName),
      let zone = try await server.storage.zone(named: zoneName)
    else {
      throw ServerError(
        .noZone, "There is no such zone", suggestion: "It may have been renamed or deleted.")
    }
    let replicas = try await server.storage.replicas(of: zone, countMax: StatusPage.replicasMax)
    return await StatusPage(home: "../", now: now)
      .zone(zone, replicas: replicas, operator: name)
  }

  private var now: Int64 { get async { Int64(clamping: await server.storage.time()) } }

  // MARK: Signing in and out

  /// The name of the operator whose session a request is of, as long as his token is one.
  private func signedIn(_ request: Request, _ context: ServerContext) async throws -> String? {
    guard let secret = Sessions.secret(inCookies: request.headers[values: .cookie]),
      let id = sessions.operator(secret)
    else { return nil }
    guard let record = try await server.storage.operatorToken(id: id),
      await record.isValid(at: now)
    else {
      sessions.end(secret)
      return nil
    }
    context.notes.note("operator", record.name)
    return record.name
  }

  private func signIn(_ request: Request, _ context: ServerContext) async throws -> Response {
    try Self.checkIsOwn(request)
    let token = try await token(in: request)
    guard let record = try await operators.admit(token, from: context.address) else {
      server.metrics.countRefusal(.unauthorized)
      server.logger.notice(
        "an operator was not let in", metadata: ["address": "\(context.address)"])
      return Self.html(
        StatusPage.signIn("That is no token of an operator, or it was revoked, or has ended."),
        status: .unauthorized)
    }
    // Each is a line in the record of who did what.
    if let seconds = signIns.secondsToWait(of: record.id) {
      throw ServerError.tooOften("This token", retryAfterSeconds: seconds)
    }
    server.logger.notice(
      "an operator signed in",
      metadata: [
        "address": "\(context.address)", "operator": "\(record.name)", "token": "\(record.id)",
      ])
    await server.storage.audit([
      AuditEvent(
        .signedIn, by: record.name, subject: record.id, detail: "from \(context.address)",
        at: now)
    ])
    var response = Self.redirect("./")
    response.headers[.setCookie] = cookie(
      sessions.begin(for: record.id), seconds: server.limits.sessionSeconds, request)
    return response
  }

  private func signOut(_ request: Request, _ context: ServerContext) async throws -> Response {
    try Self.checkIsOwn(request)
    if let secret = Sessions.secret(inCookies: request.headers[values: .cookie]) {
      if let name = try? await signedIn(request, context) {
        server.logger.notice("an operator signed out", metadata: ["operator": "\(name)"])
      }
      sessions.end(secret)
    }
    var response = Self.redirect("sign-in")
    response.headers[.setCookie] = cookie("", seconds: 0, request)
    return response
  }

  /// A form of another site is not taken. Programs that are no browsers say nothing of it.
  private static func checkIsOwn(_ request: Request) throws {
    let site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
    guard site == nil || site == "same-origin" || site == "none" else {
      throw ServerError(
        .forbidden, "Another site sent this form", suggestion: "Open the page itself.")
    }
  }

  private func cookie(_ secret: String, seconds: Int, _ request: Request) -> String {
    // A browser that came to a proxy by TLS says so by it; who says so himself harms himself alone.
    let forwarded = HTTPField.Name("X-Forwarded-Proto").flatMap { request.headers[$0] }
    let isSecure =
      server.certificate.current != nil || !server.options.isLoopback || forwarded == "https"
    // Without a path it is for the folder of this page alone: behind a proxy others have the rest of the host.
    return "\(Sessions.cookie)=\(secret); Max-Age=\(seconds); HttpOnly; SameSite=Strict"
      + (isSecure ? "; Secure" : "")
  }

  /// The field `token` of a small form.
  private func token(in request: Request) async throws -> String {
    let length = request.headers[.contentLength].map { Int($0) ?? .max } ?? 0
    guard length <= Self.formBytesMax else { throw Self.tooLarge }
    var form = ByteBuffer()
    let deadline = ContinuousClock.now + .seconds(server.limits.bodySeconds)
    do {
      for try await piece in request.body {
        guard form.readableBytes + piece.readableBytes <= Self.formBytesMax,
          ContinuousClock.now < deadline
        else { throw Self.tooLarge }
        form.writeImmutableBuffer(piece)
      }
    } catch let error where !(error is ServerError) && !(error is CancellationError) {
      throw ServerError(.malformed, "The form ended before its end", suggestion: "Send it again.")
        .closing()
    }
    for field in String(buffer: form).split(separator: "&") where field.hasPrefix("token=") {
      let text = field.dropFirst("token=".count).replacing("+", with: " ")
      return text.removingPercentEncoding ?? ""
    }
    return ""
  }

  private static var tooLarge: ServerError {
    ServerError(
      .tooLarge, "The form is too large, or came too slowly", suggestion: "Send the token alone."
    ).closing()
  }

  // MARK: Answers

  /// Answers with a page also where something fails.
  private func page(
    home: String, _ context: ServerContext, _ body: () async throws -> Response
  ) async throws -> Response {
    do {
      return try await body()
    } catch {
      let error = ErrorReplies.serverError(error, path: "")
      // The connection ends with the answer that all routes have for that.
      guard !error.closesConnection else { throw error }
      if error.code.status >= 500 {
        server.logger.error(
          "a page could not be shown",
          metadata: [
            "error": "\(error.reason ?? error.description)", "request": "\(context.requestID)",
          ])
      }
      server.metrics.countRefusal(error.code)
      var response = Self.html(
        StatusPage.failure(error, home: home), status: .init(code: error.code.status))
      if let seconds = error.retryAfterSeconds { response.headers[.retryAfter] = "\(seconds)" }
      return response
    }
  }

  private static func redirect(_ place: String) -> Response {
    var response = html("")
    response.status = .seeOther
    response.headers[.location] = place
    return response
  }

  private static func html(_ html: HTML, status: HTTPResponse.Status = .ok) -> Response {
    var headers: HTTPFields = [.contentType: "text/html; charset=utf-8"]
    for (name, value) in [
      ("Content-Security-Policy", StatusStyle.policy), ("X-Content-Type-Options", "nosniff"),
      ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ] {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    return Response(
      status: status, headers: headers,
      body: .init(byteBuffer: ByteBuffer(string: html.description)))
  }
}
