import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle

/// The sync API: what a zone is, push, pull, and coming back after the zone lost something.
struct ZoneRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let news: ZoneNews
  let limits: LiveLimits
  private let gate: Gate
  private let bodies: AdmittedBodies
  private let holds: ZoneHolds
  private let memory: MemoryBudget
  private let turns = DecodingTurns()

  init(
    storage: any ZoneStorage, metrics: ServerMetrics, news: ZoneNews, limits: LiveLimits,
    bodies: AdmittedBodies
  ) {
    self.storage = storage
    self.metrics = metrics
    self.news = news
    self.limits = limits
    gate = bodies.gate
    self.bodies = bodies
    holds = ZoneHolds(limits: limits)
    memory = MemoryBudget("large pushes", most: limits.valuesInMemoryBytesMax)
  }

  func add(to router: Router<ServerContext>) {
    router.get("v1/zones/:zone") { request, context in
      let admitted = try await admit(request, context, .read)
      let time = await storage.time()
      let floor = try await storage.floor(of: admitted.zone)
      let takesValues = storage.keepsValues && limits.valueBytesMax > 0
      return try Self.json(
        Self.info(
          admitted.zone, time: time, mayWrite: admitted.token.verbs.isSuperset(of: .write),
          floor: floor, valueBytesMax: takesValues ? limits.largestValue : nil))
    }
    router.post("v1/zones/:zone/changes") { request, context in
      try await AdmittedBodies.closingRefused(request) { try await push(request, context) }
    }
    router.post("v1/zones/:zone/refill") { request, context in
      try await AdmittedBodies.closingRefused(request) { try await refill(request, context) }
    }
    router.post("v1/zones/:zone/common") { request, context in
      try await AdmittedBodies.closingRefused(request) { try await common(request, context) }
    }
    router.get("v1/zones/:zone/changes") { request, context in try await pull(request, context) }
  }

  /// Lets a request in, and notes for the log who asks.
  private func admit(
    _ request: Request, _ context: ServerContext, _ verb: Verbs
  ) async throws -> Gate.Admission {
    let admitted = try await gate.admit(request, context, verb)
    context.notes.note("zone", admitted.zone.name)
    context.notes.note("token", admitted.token.id)
    // Names are not one token's alone.
    if let name = admitted.token.name { context.notes.note("tokenName", name) }
    if let name = request.headers.replicaName { context.notes.note("replicaName", name.text) }
    return admitted
  }

  private static func info(
    _ zone: ZoneRecord, time: UInt64, mayWrite: Bool, floor: UInt64, valueBytesMax: Int?
  ) -> ZoneInfo {
    ZoneInfo(
      zone: zone.name, zoneID: zone.zoneID, generation: zone.generation, parent: zone.parent,
      intent: zone.intent, replacements: zone.replacements, head: zone.head, chain: zone.chain,
      formatLevel: zone.formatLevel, serverTimeMilliseconds: time, mayWrite: mayWrite,
      floor: floor > 0 ? floor : nil, valueBytesMax: valueBytesMax)
  }

  // MARK: - Push

  private func push(_ request: Request, _ context: ServerContext) async throws -> Response {
    let admitted = try await admit(request, context, .write)
    let zone = admitted.zone
    return try await bodies.withBody(of: request, context, admitted, .write) { body in
      let header = try PushReader(limits: limits.current).header(of: body)
      // Who speaks of a generation that is gone takes another replica ID: this one is not to be bound.
      guard header.cursor.generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      try await gate.check(header.replica, mayUse: admitted.token)
      guard !header.isFollowedByParts else {
        return try await stage(body, header, admitted, request, context)
      }
      let (push, charge) = try await read(body, admitted)
      defer { charge.shrink(to: 0) }
      context.notes.note("replica", push.replica.wireText)
      let appended = try await append(push, to: zone)
      // With its own entry next after what it has, it has that too.
      let (cursor, own) = (push.cursor.sequence, appended.sequence)
      await storage.noteSeen(
        push.replica, in: zone, generation: push.cursor.generation,
        at: own == cursor &+ 1 ? own : cursor, given: nil, token: admitted.token.id,
        name: request.headers.replicaName, address: context.address,
        format: request.headers.formatLevel)
      context.logger.info(
        "appended",
        metadata: [
          "zone": "\(zone.name)", "sequence": "\(appended.sequence)",
          "repeat": "\(appended.isRepeat)", "replica": "\(push.replica)",
          "push": "\(push.number)", "bytes": "\(body.count)",
          "inserts": "\(push.contents.newCount)",
        ])
      let time = await storage.time()
      return try Self.json(
        PushReply(
          sequence: appended.sequence, firstObjectNumber: appended.firstObjectNumber,
          chain: appended.chain, chainBefore: appended.chainBefore,
          generation: push.cursor.generation, pushNumber: push.number, digest: push.digest,
          serverTimeMilliseconds: time))
    }
  }

  /// A part that others of its push follow is kept beside the log.
  private func stage(
    _ body: Data, _ header: ChangeSetHeader, _ admitted: Gate.Admission, _ request: Request,
    _ context: ServerContext
  ) async throws -> Response {
    let zone = admitted.zone
    context.notes.note("replica", header.replica.wireText)
    let isHeader = body.count == ChangeSetHeader.size && header.frameSize > body.count
    // What is read in place of a body takes as much memory as if it had been sent.
    let held = bodies.charge(for: admitted)
    defer { held.shrink(to: 0) }
    if isHeader { try held.grow(by: header.frameSize) }
    let frame = isHeader ? try await storage.stagedFrame(of: body, in: zone) : body
    let (part, charge) = try await read(frame, admitted)
    defer { charge.shrink(to: 0) }
    try await storage.stage(part, of: zone)
    await storage.noteSeen(
      part.replica, in: zone, generation: part.cursor.generation, at: part.cursor.sequence,
      given: nil, token: admitted.token.id, name: request.headers.replicaName,
      address: context.address, format: request.headers.formatLevel)
    context.logger.info(
      "staged",
      metadata: [
        "zone": "\(zone.name)", "replica": "\(part.replica)", "push": "\(part.number)",
        "part": "\(header.part)", "parts": "\(header.parts)", "bytes": "\(body.count)",
      ])
    return try Self.json(
      StagedReply(
        pushNumber: part.number, part: header.part, digest: part.digest,
        serverTimeMilliseconds: await storage.time()))
  }

  /// What a frame inflates to that is read where it came, since nobody waits long for it.
  private static let smallBytesMax = 64 << 10

  /// - Returns: the push, and what it holds in memory until it is answered.
  private func read(
    _ frame: Data, _ admitted: Gate.Admission
  ) async throws -> (Push, MemoryBudget.Charge) {
    let charge = memory.charge(for: admitted.holder)
    return (try await read(frame, admitted, charge), charge)
  }

  /// Reads a frame, and has what the push holds in memory held by a charge beside what that holds already.
  private func read(
    _ frame: Data, _ admitted: Gate.Admission, _ charge: MemoryBudget.Charge
  ) async throws -> Push {
    let reader = PushReader(limits: limits.current)
    let sizes = try reader.sizes(of: frame)
    let held = charge.held
    try charge.grow(by: sizes.index + sizes.values)
    let push =
      sizes.index + sizes.values <= Self.smallBytesMax
      ? try reader.read(frame)
      : try await turns.perform(for: admitted.zone.id) { try reader.read(frame) }
    charge.shrink(to: held + sizes.index)
    return push
  }

  private func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
    try holds.admit(push.replica, to: zone.id)
    do {
      let appended = try await storage.append(push, to: zone)
      holds.noteTaken(push.replica, in: zone.id)
      return appended
    } catch let error as ServerError where error.code == .stale {
      // What no pull mends would be stale in a zone of its own too.
      if error.hasNews { holds.noteStale(push.replica, in: zone.id) }
      throw error
    }
  }

  // MARK: - Coming back

  private func refill(_ request: Request, _ context: ServerContext) async throws -> Response {
    let admitted = try await admit(request, context, .write)
    let zone = admitted.zone
    return try await bodies.withBody(of: request, context, admitted, .write) { body in
      let entries = try PullPage.entries(of: body)
      let place = try await take(entries, admitted)
      context.logger.notice(
        "refilled",
        metadata: [
          "zone": "\(zone.name)", "entries": "\(entries.count)", "from": "\(zone.head)",
          "head": "\(place.sequence)",
        ])
      return try Self.json(RefillReply(head: place.sequence, chain: place.chain))
    }
  }

  /// Brings entries into the log, a portion at a time, and no more than the budget leaves room for: one of them alone always gets in
  /// where nothing else runs. Those that are in the log stay where a later one is refused; sent again, they are known.
  private func take(
    _ entries: [PullPage.Entry], _ admitted: Gate.Admission
  ) async throws -> LogMark {
    let charge = memory.charge(for: admitted.holder)
    defer { charge.shrink(to: 0) }
    var (read, bytes): ([Refill], Int) = ([], 0)
    func write() async throws {
      _ = try await storage.refill(read, of: admitted.zone)
      (read, bytes) = ([], 0)
      charge.shrink(to: 0)
    }
    for entry in entries {
      if RefillPortion.isFull(read.count, bytes, next: entry.frame.count) { try await write() }
      let push: Push
      do {
        push = try await self.read(entry.frame, admitted, charge)
      } catch let error as ServerError where error.code == .busy && !read.isEmpty {
        try await write()
        push = try await self.read(entry.frame, admitted, charge)
      }
      guard storage.keepsValues || push.contents.values.isEmpty else {
        throw ServerError(ProtocolError.takesNoValues)
      }
      read.append((entry: entry, push: push))
      bytes += entry.frame.count
    }
    return try await storage.refill(read, of: admitted.zone)
  }

  private func common(_ request: Request, _ context: ServerContext) async throws -> Response {
    let admitted = try await admit(request, context, .read)
    let zone = admitted.zone
    // A place takes some 70 bytes as clients write it.
    let most = 4096 + 128 * limits.commonPlacesMax
    return try await bodies.withBody(
      of: request, context, admitted, .read, bytesMax: most
    ) { body in
      try JSONNames.check(body)
      guard let asked = try? JSONDecoder().decode(CommonPlaceRequest.self, from: body),
        asked.marks.count <= limits.commonPlacesMax
      else {
        throw ServerError(
          .malformed,
          "the body does not ask after places, or after more than \(limits.commonPlacesMax)",
          suggestion: "Update the client.")
      }
      guard asked.generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      let place = try await storage.commonPlace(of: asked.marks, in: zone)
      return try Self.json(CommonPlaceReply(place: place))
    }
  }

  // MARK: - Pull

  private func pull(_ request: Request, _ context: ServerContext) async throws -> Response {
    let admitted = try await admit(request, context, .read)
    let zone = admitted.zone
    let query = try PullQuery(request.uri.queryParameters, limits: limits.current)
    guard query.generation == zone.generation else {
      throw ServerError.generationChanged(zone: zone.name)
    }
    if let replica = query.page.own?.replica {
      context.notes.note("replica", replica.wireText)
      try await gate.check(replica, mayUse: admitted.token)
    } else {
      try gate.checkIsUnbound(admitted.token)
    }
    var asked = query.page
    asked.reserve = { [notes = context.notes] in try notes.reserve(answer: $0) }
    var page = try await storage.page(of: zone, asked)
    // What is refused says nothing of how far it is.
    await noteSeen(query, given: page, admitted, request, context)
    let deadline = ContinuousClock.now + .seconds(query.waitSeconds)
    var mayWait = query.waitSeconds > 0
    while page.entries.isEmpty, mayWait {
      mayWait = await context.notes.waiting {
        await wait(for: zone, after: query.page.after.sequence, until: deadline, context)
      }
      // Zone and token may be others by now.
      try await gate.admitAgain(request.headers, zone: context.zone, verb: .read)
      page = try await storage.page(of: zone, asked)
      if !page.entries.isEmpty { await noteSeen(query, given: page, admitted, request, context) }
    }
    let response = PullPage.response(
      page, generation: zone.generation, nowMilliseconds: await storage.time())
    metrics.countSent(bytes: response.body.contentLength ?? 0)
    return response
  }

  private func noteSeen(
    _ query: PullQuery, given page: LogPage, _ admitted: Gate.Admission, _ request: Request,
    _ context: ServerContext
  ) async {
    guard let replica = query.page.own?.replica else { return }
    let after = query.page.after.sequence
    await storage.noteSeen(
      replica, in: admitted.zone, generation: query.generation, at: after,
      given: page.entries.last?.sequence ?? after, token: admitted.token.id,
      name: request.headers.replicaName, address: context.address,
      format: request.headers.formatLevel)
  }

  /// Waits until the log grows, an operator changes something, the time is over, the client hangs up, or the server stops.
  ///
  /// - Returns: whether it was woken before its time: where that brings nothing, it may wait on.
  private func wait(
    for zone: ZoneRecord, after: UInt64, until deadline: ContinuousClock.Instant,
    _ context: ServerContext
  ) async -> Bool {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Bool.self) { group in
        group.addTask {
          let ending = await news.wait(zone.generation, after: after)
          // Whoever was answered at once would ask again at once; a pause is what each of many can be given.
          if ending == .full { try? await Task.sleep(for: .milliseconds(.random(in: 1000...2000))) }
          return ending == .woken
        }
        group.addTask {
          await context.waitForHangUp()
          return false
        }
        group.addTask {
          try? await Task.sleep(until: deadline)
          return false
        }
        let isWoken = await group.next() ?? false
        group.cancelAll()
        return isWoken
      }
    }
  }

  // MARK: -

  private static func json(_ value: some Encodable) throws -> Response {
    Response(
      status: .ok, headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(value))))
  }
}

extension HTTPFields {
  /// The name that a replica tells of itself; nil for none, and for what is no name.
  fileprivate var replicaName: ReplicaName? {
    HTTPField.Name(ReplicaName.field).flatMap { self[$0] }.flatMap { ReplicaName(field: $0) }
  }

  /// The highest format level that the client says it reads; nil for none, and for what is none.
  fileprivate var formatLevel: UInt16? {
    HTTPField.Name(FormatLevel.field).flatMap { self[$0] }.flatMap { UInt16($0) }
      .flatMap { $0 > 0 ? $0 : nil }
  }
}

extension ServerContext {
  /// The zone's name in the path.
  fileprivate var zone: String? { parameters.get("zone") }
}
