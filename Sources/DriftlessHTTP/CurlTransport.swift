public import DriftlessProtocol
public import Foundation
import Logging
import Synchronization

/// The engine's transport over HTTP, on libcurl.
///
/// One transport serves one store and one zone. Connections are kept and used again; proxies come
/// from the usual variables (`https_proxy`, `http_proxy`, `no_proxy`); certificates are verified;
/// redirects are never followed, so the token goes to the enrolled server only; every body is
/// bounded. A request that fails in passing is made again by `TransportOptions.retry`: a push may
/// arrive twice and still has one effect, because the server answers a push number once and for
/// all.
///
/// ```swift
/// let transport = try CurlTransport(server: url, zone: "shop", token: token)
/// let engine = SyncEngine(store: store, enrollingThrough: transport)
/// let report = try await engine.sync()
/// ```
///
/// Methods throw `ProtocolError` for what the server refused, with the server's own code and words,
/// and `TransportError` when no usable answer came. Cancelling the task ends a request at once.
public final class CurlTransport: ZoneTransport {
  /// The server's base address.
  public let server: URL
  /// The zone's name.
  public let zone: String
  let options: TransportOptions
  private let token: String
  private let zones: String
  private let zonePath: String
  /// The zone by its own UUID, and whether requests name it so: its operator gave it another name.
  private let identity = Mutex((zoneID: UUID?.none, isUsed: false))
  private let session: CurlSession
  private let answers: AnswerReader
  private let phaseBox = PhaseBox()
  private let pieces = PieceSize()

  /// What the transport does right now, for a person who waits.
  public var phase: TransportPhase { phaseBox.value }

  /// Prepares a transport; no connection is made yet.
  ///
  /// - Parameters:
  ///   - server: `https://HOST[:PORT][/PATH]`, or `http://` for this host or where `options` allow
  ///     it.
  ///   - zone: The zone's name, as the server knows it.
  ///   - token: The bearer token. It is sent in the Authorization header only, never logged.
  ///   - options: Bounds, delays and what is trusted.
  /// - Throws: `TransportError` with `.badConfiguration` that names the part that cannot be used.
  public init(
    server: URL, zone: String, token: String, options: TransportOptions = TransportOptions()
  ) throws(TransportError) {
    try ServerAddress.check(server, allowsPlaintext: options.allowsPlaintext)
    let zonePath = try ServerAddress.pathSegment(zone: zone)
    guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw TransportError(
        .badConfiguration, "The token is empty or has characters that no token has.",
        suggestion: "Give the token as `driftless-server token create` printed it.")
    }
    guard let session = CurlSession() else {
      throw TransportError(
        .unreachable, "libcurl could not start.",
        suggestion: "Free memory, or let the process open more files; it is tried again.")
    }
    self.server = server
    self.zone = zone
    self.token = token
    self.options = options
    self.session = session
    answers = AnswerReader(address: server.absoluteString)
    let root = server.absoluteString
    zones = (root.hasSuffix("/") ? String(root.dropLast()) : root) + WirePath.zones + "/"
    self.zonePath = zonePath
  }

  private var base: String {
    let zoneID = identity.withLock { $0.isUsed ? $0.zoneID : nil }
    return zones + (zoneID?.uuidString.lowercased() ?? zonePath)
  }

  /// Which zone is meant: where a token is told to be for another name, the zone is asked for by this.
  public func expect(zoneID: UUID) {
    identity.withLock { if $0.zoneID != zoneID { $0 = (zoneID, false) } }
  }

  /// Whether the zone has another name by now, and goes by its UUID from now on. Asked once such a refusal: a token that may not
  /// do what was asked is refused in the same words.
  private func followsRenaming() async -> Bool {
    guard let zoneID = identity.withLock({ $0.isUsed ? nil : $0.zoneID }) else { return false }
    let request = HTTPRequest(
      base: zones + zoneID.uuidString.lowercased(), path: "", method: .get, token: token,
      bodyBytesMax: options.jsonBytesMax, waitSeconds: 0, options: options, phase: phaseBox)
    guard let response = try? await session.send(request),
      (try? answers.check(response, to: request)) != nil,
      let info = try? answers.decode(ZoneInfo.self, from: response),
      info.zoneID == zoneID, info.zone != zone
    else { return false }
    let isFirst = identity.withLock { identity in
      defer { identity.isUsed = true }
      return !identity.isUsed
    }
    if isFirst {
      Logger(label: "driftless.http").notice(
        "zone \(zone) at \(answers.address) is called \(info.zone) now: it is followed")
    }
    return true
  }

  /// Whether another one asks the same server for the same zone, with the same token and options.
  ///
  /// - Parameter other: A way to some zone.
  public func isInterchangeable(with other: any ZoneTransport) -> Bool {
    guard let other = other as? CurlTransport else { return false }
    return server == other.server && zone == other.zone && token == other.token
      && options == other.options
  }

  /// Asks where the zone's log stands.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused.
  public func zoneInfo() async throws -> ZoneInfo {
    try await send(.get, path: "", bodyBytesMax: options.jsonBytesMax) { response in
      try self.answers.decode(ZoneInfo.self, from: response)
    }
  }

  /// Has the server take this transport's token for a code. The token itself is not sent.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.codeUsed` where another token was made for the code.
  public func enroll(code: String) async throws {
    guard let token = ReplicaToken(token) else {
      throw TransportError(
        .badConfiguration, "The token is none that was made for a code.",
        suggestion: "Make one by ReplicaToken.make(), and keep it before the code is sent.")
    }
    let request = EnrolmentRequest(code: code, token: token)
    do {
      let reply = try await send(
        .post(try JSONEncoder().encode(request), contentType: "application/json"),
        path: "/enroll", bodyBytesMax: options.jsonBytesMax, showsToken: false
      ) { response in
        try self.answers.decode(EnrolmentReply.self, from: response)
      }
      guard reply.token == token.id else { throw ProtocolError.knowsNoCodes }
    } catch let error as ProtocolError where error.code.rawValue == "not-found" {
      throw ProtocolError.knowsNoCodes
    }
  }

  /// Hands a change set to the zone.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.stale`, `.diverged`, `.tooLarge`.
  public func push(_ frame: Data) async throws -> PushReply {
    try await send(
      .post(frame, contentType: WirePath.changeSetType), path: "/changes",
      bodyBytesMax: options.jsonBytesMax
    ) { response in
      try self.answers.decode(PushReply.self, from: response)
    }
  }

  /// Hands a part of a push to the zone that others follow.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.notStaged`, `.unsupported`.
  public func stage(_ part: Data) async throws -> StagedReply {
    try await send(
      .post(part, contentType: WirePath.changeSetType), path: "/changes",
      bodyBytesMax: options.jsonBytesMax
    ) { response in
      try self.answers.decode(StagedReply.self, from: response)
    }
  }

  /// Reads the zone's log after a cursor; waits for news when asked to.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.diverged`, `.generationChanged`.
  public func pull(_ request: PullRequest) async throws -> PullPage {
    func sized() -> PullRequest {
      var sized = request
      sized.maxBytes = pieces.bound(request.maxBytes)
      return sized
    }
    return try await send(
      .get, path: "/changes?" + HTTPWire.query(of: sized()),
      bodyBytesMax: HTTPWire.pageBytesMax(of: request, slack: options.pageSlackBytes),
      waitSeconds: HTTPWire.waitSeconds(of: request), wantedBytes: request.maxBytes
    ) { response in
      try self.answers.page(from: response)
    }
  }

  /// Hands over entries that the zone lost.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.diverged`.
  public func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await send(
      .post(PullPage.body(of: entries), contentType: WirePath.logType), path: "/refill",
      bodyBytesMax: options.jsonBytesMax
    ) { response in
      try self.answers.decode(RefillReply.self, from: response)
    }
  }

  /// The highest of some places of a replica's log that is the zone's own.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused.
  public func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    let request = CommonPlaceRequest(generation: generation, marks: marks)
    return try await send(
      .post(try JSONEncoder().encode(request), contentType: "application/json"), path: "/common",
      bodyBytesMax: options.jsonBytesMax
    ) { response in
      try self.answers.decode(CommonPlaceReply.self, from: response).place
    }
  }

  /// What the zone's log comes to; nil where the server has not added it up.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused.
  public func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await snapshot("generation=\(generation.uuidString)")
  }

  /// What stands for the entries of the zone's log that were purged; nil where none were.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused.
  public func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    try await snapshot("generation=\(generation.uuidString)&kept=1")
  }

  private func snapshot(_ query: String) async throws -> Snapshot? {
    do {
      return try await send(
        .get, path: "/snapshot?\(query)",
        bodyBytesMax: HTTPWire.snapshotBytesMax
      ) { response in
        try self.answers.decode(Snapshot.self, from: response)
      }
    } catch let error as ProtocolError
      where error.code == .noSnapshot || error.code.rawValue == "not-found"
    {
      return nil
    }
  }

  /// A piece of a file of a snapshot: less of it than is asked for where the line breaks.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.noSnapshot`.
  public func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    let query = "generation=\(generation.uuidString)&first=\(range.lowerBound)&count="
    return try await send(
      .get, path: "/snapshot/\(name)?\(query)\(pieces.bound(range.count))",
      bodyBytesMax: range.count + options.jsonBytesMax, wantedBytes: range.count
    ) { response in
      guard response.mediaType == WirePath.segmentType else { throw self.answers.foreign(response) }
      return response.body
    }
  }

  /// Hands a piece of a large value to the zone.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.tooLarge`, `.damaged`.
  public func put(_ piece: ValuePiece) async throws -> ValueState {
    do {
      return try await send(
        .put(piece.bytes, contentType: WirePath.valueType), path: HTTPWire.path(of: piece),
        bodyBytesMax: options.jsonBytesMax
      ) { response in
        try self.answers.decode(ValueState.self, from: response)
      }
    } catch let error as ProtocolError where error.code == Self.notFound {
      throw ProtocolError.takesNoValues
    }
  }

  /// What a server of before large values says of their paths.
  private static let notFound = ProtocolError.Code(rawValue: "not-found")

  /// A piece of a large value of the zone.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.noValue`; `PartOfValue` where
  ///   some of the piece came before the line broke, nothing more came in time, or the task was cancelled.
  public func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    let part = AnswerPart()
    do {
      return try await send(
        .get,
        path: HTTPWire.path(
          ofValue: digest, generation, range.prefix(pieces.bound(range.count))),
        bodyBytesMax: range.count + options.jsonBytesMax, wantedBytes: range.count,
        repeatsTimeouts: false, part: part
      ) { response in
        guard response.mediaType == WirePath.valueType else { throw self.answers.foreign(response) }
        return response.body
      }
    } catch let error as ProtocolError where error.code == Self.notFound {
      throw ProtocolError.noValue(digest)
    } catch let error as TransportError {
      throw part.ofValue(range, error)
    }
  }

  /// Large values that the zone's log names and the zone lacks.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused.
  public func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    do {
      return try await send(
        .get, path: HTTPWire.path(ofLostValues: generation, after: digest),
        bodyBytesMax: options.jsonBytesMax
      ) { response in
        try self.answers.decode(LostValues.self, from: response)
      }
    } catch let error as ProtocolError where error.code == Self.notFound {
      return LostValues([])
    }
  }

  /// Digests of what the zone's log comes to.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.unsupported`, `.diverged`.
  public func digests(at cursor: Cursor) async throws -> ZoneDigests {
    do {
      return try await send(
        .get, path: "/digests?" + HTTPWire.query(of: cursor),
        bodyBytesMax: HTTPWire.snapshotBytesMax
      ) { response in
        try self.answers.decode(ZoneDigests.self, from: response)
      }
    } catch let error as ProtocolError where error.code.rawValue == "not-found" {
      throw ProtocolError.noDigests
    }
  }

  /// A part of the digests of a place, or the objects that they are of.
  ///
  /// - Throws: `TransportError` where no usable answer came, `ProtocolError` where the server refused: `.noSnapshot`.
  public func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    let (path, type) = HTTPWire.path(of: part)
    return try await send(
      .get, path: path + "&" + HTTPWire.query(of: cursor),
      bodyBytesMax: HTTPWire.bytesMax(of: part)
    ) { response in
      guard response.mediaType == type else { throw self.answers.foreign(response) }
      return response.body
    }
  }

  /// Closes every connection and ends requests under way. A closed transport answers `.cancelled`.
  public func close() { session.close() }

  /// Makes a request, again and again as the retry policy says, until an answer with status 200
  /// came and was read.
  ///
  /// - Parameters:
  ///   - path: said anew for each attempt.
  ///   - wantedBytes: what the answer shall have at most, where it may be less.
  ///   - repeatsTimeouts: whether what did not come in time is asked for again here; else who asked decides, and may go on with all else.
  ///   - part: gets what came of the last answer, where that did not come whole.
  private func send<Answer>(
    _ method: HTTPRequest.Method, path: @autoclosure () -> String, bodyBytesMax: Int,
    waitSeconds: Int = 0, wantedBytes: Int? = nil, repeatsTimeouts: Bool = true,
    showsToken: Bool = true, part: AnswerPart? = nil,
    read: (HTTPResponse) throws -> Answer
  ) async throws -> Answer {
    var attempt = 1
    while true {
      let asked = wantedBytes.map(pieces.bound)
      part?.set(nil)
      let request = HTTPRequest(
        base: base, path: path(), method: method, token: showsToken ? token : nil,
        bodyBytesMax: bodyBytesMax, waitSeconds: waitSeconds, options: options, phase: phaseBox,
        part: part)
      do {
        let response = try await session.send(request)
        try answers.check(response, to: request)
        if let asked { pieces.came(asking: asked) }
        return try read(response)
      } catch let error as ProtocolError where error.code == .forbidden && showsToken {
        guard await followsRenaming() else { throw error }
      } catch let error as TransportError {
        if let asked, RetryPolicy.isOfLine(error.code) { pieces.broke(asking: asked) }
        guard repeatsTimeouts || error.code != .timedOut,
          let seconds = options.retry.delaySeconds(
            after: error, attempt: attempt, jitter: .random(in: 0..<1))
        else { throw error }
        phaseBox.set(.pausing)
        do {
          try await Task.sleep(for: .milliseconds(Int(seconds * 1_000)))
        } catch {
          throw TransportError.cancelled(answers.address)
        }
        attempt += 1
      }
    }
  }
}
