public import Foundation

/// A zone in memory: the rules of a server's log without a server. No I/O, no clock.
///
/// Test servers and simulations are this behind a lock; a server with a database keeps the same
/// rules. `append`, `page` and the others answer as the routes do:
///
/// ```swift
/// var zone = ZoneLog(name: "shop")
/// let reply = try zone.append(frame, nowMilliseconds: 0)
/// let page = try zone.page(request, nowMilliseconds: 0)
/// ```
///
/// A copy of the value is a backup: put back in the place of the zone, it is a server that was
/// restored to an older state.
public struct ZoneLog: Sendable {
  struct Entry: Sendable {
    let replica: UUID
    let pushNumber: UInt64
    let firstObjectNumber: UInt64
    let digest: Data
    let chain: LogChain
    let frame: Data
  }

  /// Where one replica's pushes stand.
  struct Pushes {
    /// Sequence numbers by push number.
    var places: [UInt64: UInt64] = [:]
    /// Sequence numbers, ascending.
    var sequences: [UInt64] = []
    var lastNumber: UInt64 = 0
  }

  /// The zone's name.
  public let name: String
  /// The zone's own identity, kept over generations.
  public let zoneID: UUID
  /// The life of the log.
  public let generation: UUID
  /// The place that this generation began after; nil for a zone's first one.
  public let parent: ZoneParent?
  /// What replicas do with what they hold of the generation before.
  public let intent: ZoneIntent
  /// The generations that began with `ZoneIntent.replace`, newest last.
  public private(set) var replacements: [UUID]
  /// The highest format level of change sets that the zone takes.
  public var formatLevel = ChangeSetHeader.formatLevel
  /// The large values that its change sets name, and such as wait to be named.
  public var values = ZoneValues()
  /// How far ahead of the server's clock a transaction's time may be; nil: times are not looked at.
  public var clockToleranceMilliseconds: UInt64?
  /// Entry with sequence number `n` is at `n - 1`.
  private(set) var entries: [Entry] = []
  var pushes: [UUID: Pushes] = [:]
  var index = ZoneIndex()
  /// Parts of pushes whose last one has not come.
  var staged: [UUID: [StagedPart]] = [:]
  /// Entries of pushes in several parts that are taken back, whose last one has not come, by sequence number.
  var refilling: [UInt64: PullPage.Entry] = [:]
  /// The newest time of a transaction in the log. Milliseconds since 1970.
  private var newestMilliseconds: UInt64 = 0
  /// The server's clock when it took the last push: its time never goes back within a zone.
  var receivedMilliseconds: UInt64 = 0
  let decoder: ChangeSetDecoder

  /// An empty log.
  public init(
    name: String, zoneID: UUID = UUID(), generation: UUID = UUID(), parent: ZoneParent? = nil,
    intent: ZoneIntent = .offer, limits: ChangeSetLimits = ChangeSetLimits()
  ) {
    self.name = name
    self.zoneID = zoneID
    self.generation = generation
    self.parent = parent
    self.intent = intent
    replacements = intent == .replace ? [generation] : []
    decoder = ChangeSetDecoder(limits: limits)
  }

  /// An empty log that follows this one: the zone's next generation.
  public func renewed(intent: ZoneIntent = .offer, generation: UUID = UUID()) -> ZoneLog {
    var next = ZoneLog(
      name: name, zoneID: zoneID, generation: generation,
      parent: ZoneParent(generation: self.generation, sequence: head, chain: chain),
      intent: intent, limits: decoder.limits)
    next.replacements = (replacements + next.replacements).suffix(ZoneInfo.replacementsMax)
    next.formatLevel = formatLevel
    next.values = values.unnamed
    next.clockToleranceMilliseconds = clockToleranceMilliseconds
    // What replicas offer has the times of this log.
    next.newestMilliseconds = newestMilliseconds
    return next
  }

  /// The last sequence number; 0 when the log is empty.
  public var head: UInt64 { UInt64(entries.count) }

  /// The log's chain at its head.
  public var chain: LogChain { entries.last?.chain ?? .start(generation: generation) }

  /// The chain of a place; nil above the head.
  public func place(at sequence: UInt64) -> LogMark? {
    guard sequence <= head else { return nil }
    let chain =
      sequence == 0 ? .start(generation: generation) : entries[Int(sequence) - 1].chain
    return LogMark(sequence: sequence, chain: chain)
  }

  /// What the zone says of itself.
  ///
  /// - Parameter nowMilliseconds: The server's clock, in milliseconds since 1970.
  public func info(nowMilliseconds: UInt64) -> ZoneInfo {
    ZoneInfo(
      zone: name, zoneID: zoneID, generation: generation, parent: parent, intent: intent,
      replacements: replacements, head: head, chain: chain, formatLevel: formatLevel,
      serverTimeMilliseconds: nowMilliseconds, valueBytesMax: values.bytesMax)
  }

  /// Appends a change set, once however often it comes.
  ///
  /// - Throws: `ProtocolError`: `.generationChanged`, `.diverged`, `.forked`, `.stale`,
  ///   `.clockAhead`, or what is wrong with the bytes. Then nothing was applied.
  public mutating func append(
    _ frame: Data, nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PushReply {
    let (header, contents) = try read(frame)
    guard header.cursor.generation == generation else { throw generationChanged }
    let before = pushes[header.replica] ?? Pushes()
    if header.pushNumber <= before.lastNumber {
      return try repeated(header, before, nowMilliseconds)
    }
    try check(header.cursor.mark)
    if let mark = header.mark { try check(mark) }
    try check(contents.transactions, nowMilliseconds)
    if header.parts > 1 { return try publish(frame, header, nowMilliseconds) }
    try append(frame, header, contents, before)
    receivedMilliseconds = max(receivedMilliseconds, nowMilliseconds)
    return reply(head, nowMilliseconds)
  }

  mutating func append(
    _ frame: Data, _ header: ChangeSetHeader, _ contents: ChangeSetIndex, _ before: Pushes
  ) throws(ProtocolError) {
    let own = before.sequences.reversed().prefix { $0 > header.cursor.sequence }
    if let mark = header.mark, let newest = own.first, newest > mark.sequence {
      throw ProtocolError(
        .forked, "Entry \(newest) came from this replica, which does not know of it",
        suggestion: "The store is a copy or was restored: give it a new replica ID.", head: head)
    }
    do {
      try enter(frame, header, contents, own: Set(own))
    } catch {
      throw ProtocolError(
        error.code, error.message, suggestion: error.suggestion, head: head,
        objects: error.objects, values: error.values)
    }
  }

  /// The log after a cursor: at least one entry when there is one, then as many as `maxBytes`
  /// allow.
  ///
  /// - Throws: `ProtocolError`: `.generationChanged` or `.diverged` when the cursor or the mark is
  ///   not of this log.
  public func page(
    _ request: PullRequest, nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PullPage {
    guard request.cursor.generation == generation else { throw generationChanged }
    try check(request.cursor.mark)
    if let mark = request.mark { try check(mark) }
    var page = PullPage(
      generation: generation, head: head, serverTimeMilliseconds: nowMilliseconds, entries: [])
    page.lostValues = values.lostMark
    var bytes = 0
    for place in Int(request.cursor.sequence)..<entries.count {
      let entry = entries[place]
      let isOwn = entry.replica == request.replica && place < request.ownThrough
      let frame = isOwn ? entry.frame.prefix(ChangeSetHeader.size) : entry.frame
      bytes += PullEntryHeader.size + frame.count
      guard page.entries.isEmpty || bytes <= request.maxBytes else { break }
      page.entries.append(
        .init(
          sequence: UInt64(place) + 1, firstObjectNumber: entry.firstObjectNumber,
          chain: entry.chain, isOwnHeaderOnly: isOwn, frame: Data(frame)))
    }
    return page
  }

  /// Takes back entries that the log lost, as they are, all or none. Those that it has are skipped.
  ///
  /// - Throws: `ProtocolError`: `.diverged` when the log does not go on with them.
  public mutating func refill(_ lost: [PullPage.Entry]) throws(ProtocolError) -> RefillReply {
    var refilled = self
    for entry in lost {
      if entry.sequence <= refilled.head {
        try refilled.check(entry.mark)
        continue
      }
      try refilled.takeInParts(entry)
    }
    self = refilled
    return RefillReply(head: head, chain: chain)
  }

  /// The highest of some places that is this log's own; nil when none is.
  ///
  /// - Throws: `ProtocolError` (`.generationChanged`).
  public func commonPlace(
    of marks: [LogMark], generation: UUID
  ) throws(ProtocolError) -> LogMark? {
    guard generation == self.generation else { throw generationChanged }
    return marks.filter { isOwn($0) }.max { $0.sequence < $1.sequence }
  }
}

extension ZoneLog {
  func read(
    _ frame: Data
  ) throws(ProtocolError) -> (ChangeSetHeader, ChangeSetIndex) {
    let (header, contents) = try decoder.checkedIndex(frame)
    guard header.formatLevel <= formatLevel else {
      throw ProtocolError(
        .unsupported,
        "The change set is of format level \(header.formatLevel), the zone of \(formatLevel)",
        suggestion: "Write it at the zone's level, or raise that.")
    }
    guard header.parts > 1 || contents.farthestMadeBefore == 0 else {
      throw .malformed("The change set names an object of a part before it, and has none")
    }
    return (header, contents)
  }

  private mutating func enter(
    _ frame: Data, _ header: ChangeSetHeader, _ contents: ChangeSetIndex, own: Set<UInt64>,
    isChecked: Bool = true
  ) throws(ProtocolError) {
    let sequence = head + 1
    let firstObjectNumber = index.nextNumber
    assert(
      header.pushNumber >= pushes[header.replica]?.lastNumber ?? 0
        && sequence > pushes[header.replica]?.sequences.last ?? 0,
      "a replica's pushes stand in the log in their order")
    let push = ZoneIndex.Push(
      replica: header.replica, cursor: header.cursor.sequence, own: own, contents: contents)
    let missing = isChecked ? values.missing(contents.values) : []
    if !missing.isEmpty {
      // That it is stale is said first; nothing of it is applied.
      var probe = index
      try probe.apply(push, sequence: sequence, isChecked: isChecked)
      throw .valuesMissing(missing)
    }
    try index.apply(push, sequence: sequence, isChecked: isChecked)
    values.use(contents.values)
    entries.append(
      Entry(
        replica: header.replica, pushNumber: header.pushNumber,
        firstObjectNumber: firstObjectNumber, digest: header.digest,
        chain: chain.next(
          digest: header.digest, sequence: sequence, firstObjectNumber: firstObjectNumber),
        frame: frame))
    pushes[header.replica, default: Pushes()].places[header.pushNumber] = sequence
    pushes[header.replica]?.sequences.append(sequence)
    pushes[header.replica]?.lastNumber = header.pushNumber
    let newest = contents.transactions.lazy.map { $0.hybridTime >> 16 }.max() ?? 0
    newestMilliseconds = max(newestMilliseconds, newest)
  }

  mutating func take(_ entry: PullPage.Entry) throws(ProtocolError) {
    guard !entry.isOwnHeaderOnly, entry.follows(LogMark(sequence: head, chain: chain)),
      entry.firstObjectNumber == index.nextNumber
    else { throw diverged }
    var (header, contents) = try read(entry.frame)
    contents.number(from: entry.firstObjectNumber)
    guard header.cursor.generation == generation else { throw generationChanged }
    let last = pushes[header.replica]?.lastNumber ?? 0
    guard header.pushNumber > last || header.part > 1 && header.pushNumber == last else {
      throw diverged
    }
    do {
      try enter(entry.frame, header, contents, own: [], isChecked: false)
    } catch {
      throw .malformed("Entry \(entry.sequence) contradicts the log: \(error.message)")
    }
  }

  /// - Throws: `ProtocolError` (`.diverged`) when a place is not this log's own.
  func check(_ mark: LogMark) throws(ProtocolError) {
    guard isOwn(mark) else { throw diverged }
  }

  private func isOwn(_ mark: LogMark) -> Bool {
    place(at: mark.sequence) == mark
  }

  func check(
    _ transactions: [ChangeSetIndex.Transaction], _ nowMilliseconds: UInt64
  ) throws(ProtocolError) {
    guard let clockToleranceMilliseconds else { return }
    // A clock that was set back does not make those wait whose time is right.
    let now = max(nowMilliseconds, receivedMilliseconds)
    let limit = max(now + clockToleranceMilliseconds, newestMilliseconds)
    guard let newest = transactions.lazy.map({ $0.hybridTime >> 16 }).max(), newest > limit else {
      return
    }
    throw ProtocolError(
      .clockAhead,
      "A transaction's time is \(newest - now) ms ahead of the server's clock",
      suggestion: "Set the machine's clock.", head: head, serverTimeMilliseconds: now)
  }

  private func repeated(
    _ header: ChangeSetHeader, _ before: Pushes, _ nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PushReply {
    guard let sequence = before.places[header.pushNumber],
      entries[Int(sequence) - 1].digest == header.digest
    else {
      throw ProtocolError(
        .forked, "Push number \(header.pushNumber) of this replica was something else",
        suggestion: "The store is a copy or was restored: give it a new replica ID.", head: head)
    }
    return reply(sequence, nowMilliseconds)
  }

  func reply(_ sequence: UInt64, _ nowMilliseconds: UInt64) -> PushReply {
    let entry = entries[Int(sequence) - 1]
    let parts = UInt64((try? decoder.decodeHeader(entry.frame))?.parts ?? 1)
    return PushReply(
      sequence: sequence, firstObjectNumber: entry.firstObjectNumber, chain: entry.chain,
      chainBefore: parts > 1 ? place(at: sequence - min(parts, sequence))?.chain : nil,
      generation: generation, pushNumber: entry.pushNumber, digest: entry.digest,
      serverTimeMilliseconds: nowMilliseconds)
  }

  var generationChanged: ProtocolError {
    ProtocolError(
      .generationChanged, "The cursor is not of this log: the zone was made anew",
      suggestion: "Enroll the store again; what it holds is offered anew.", head: head)
  }

  var diverged: ProtocolError {
    ProtocolError(
      .diverged, "What the replica knows is not this log: the server was put back to an older copy",
      suggestion: "Hand over what the zone lost, or offer what the store holds.", head: head)
  }
}
