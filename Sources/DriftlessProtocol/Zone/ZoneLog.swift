public import Foundation

/// A zone in memory: the rules of a server's log without a server. No I/O, no clock.
///
/// Test servers and simulations are this behind a lock; a server with a database keeps the same
/// rules. `append` and `page` answer as the routes do:
///
/// ```swift
/// var zone = ZoneLog(name: "shop")
/// let reply = try zone.append(frame, nowMilliseconds: 0)
/// let page = try zone.page(request)
/// ```
public struct ZoneLog: Sendable {
  private struct Author: Hashable {
    let replica: UUID
    let incarnation: UInt32
  }

  private struct Entry {
    let author: Author
    let pushNumber: UInt64
    let firstObjectNumber: UInt64
    let digest: Data
    let frame: Data
  }

  public let name: String
  public let generation: UUID
  /// Entry with sequence number `n` is at `n - 1`.
  private var entries: [Entry] = []
  /// Where each author's pushes stand in the log, by push number from 1 on.
  private var pushes: [Author: [UInt64]] = [:]
  private var index = ZoneIndex()
  private let decoder: ChangeSetDecoder

  public init(
    name: String, generation: UUID = UUID(), limits: ChangeSetLimits = ChangeSetLimits()
  ) {
    self.name = name
    self.generation = generation
    decoder = ChangeSetDecoder(limits: limits)
  }

  /// The last sequence number; 0 when the log is empty.
  public var head: UInt64 { UInt64(entries.count) }

  public func info(nowMilliseconds: UInt64) -> ZoneInfo {
    ZoneInfo(
      zone: name, generation: generation, head: head, serverTimeMilliseconds: nowMilliseconds)
  }

  /// Appends a change set, once however often it comes.
  ///
  /// - Throws: `ProtocolError`: `.generationChanged`, `.forked`, `.numberGap`, `.stale`, or what is
  ///   wrong with the bytes. Then nothing was applied.
  public mutating func append(
    _ frame: Data, nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PushReply {
    let (header, contents) = try decoder.decodeIndex(frame)
    guard header.cursor.generation == generation else { throw generationChanged }
    let author = Author(replica: header.replica, incarnation: header.incarnation)
    let before = pushes[author] ?? []
    if let place = Int(exactly: header.pushNumber - 1), place < before.count {
      return try repeated(header, sequence: before[place], nowMilliseconds)
    }
    guard header.pushNumber == UInt64(before.count) + 1 else {
      throw ProtocolError(
        .numberGap, "Push number \(header.pushNumber) does not follow \(before.count)",
        suggestion: "The store is a copy, or the zone lost pushes: enroll the store again.",
        head: head)
    }
    guard header.cursor.sequence <= head else { throw generationChanged }
    let sequence = head + 1
    let own = Set(before.reversed().prefix { $0 > header.cursor.sequence })
    let firstObjectNumber = index.nextNumber
    do {
      try index.apply(
        .init(cursor: header.cursor.sequence, own: own, contents: contents), sequence: sequence)
    } catch {
      throw ProtocolError(error.code, error.message, suggestion: error.suggestion, head: head)
    }
    entries.append(
      Entry(
        author: author, pushNumber: header.pushNumber, firstObjectNumber: firstObjectNumber,
        digest: header.digest, frame: frame))
    pushes[author, default: []].append(sequence)
    return reply(sequence, nowMilliseconds)
  }

  /// The log after a cursor: at least one entry when there is one, then as many as `maxBytes`
  /// allow.
  ///
  /// - Throws: `ProtocolError` (`.generationChanged`) when the cursor is not of this log.
  public func page(_ request: PullRequest) throws(ProtocolError) -> PullPage {
    guard request.cursor.generation == generation, request.cursor.sequence <= head else {
      throw generationChanged
    }
    let asking = Author(replica: request.replica, incarnation: request.incarnation)
    var page = PullPage(generation: generation, head: head, entries: [])
    var bytes = 0
    for place in Int(request.cursor.sequence)..<entries.count {
      let entry = entries[place]
      let isOwn = entry.author == asking && entry.pushNumber <= request.ownThrough
      let frame = isOwn ? entry.frame.prefix(ChangeSetHeader.size) : entry.frame
      bytes += PullEntryHeader.size + frame.count
      guard page.entries.isEmpty || bytes <= request.maxBytes else { break }
      page.entries.append(
        .init(
          sequence: UInt64(place) + 1, firstObjectNumber: entry.firstObjectNumber,
          isOwnHeaderOnly: isOwn, frame: Data(frame)))
    }
    return page
  }

  private func repeated(
    _ header: ChangeSetHeader, sequence: UInt64, _ nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PushReply {
    guard entries[Int(sequence) - 1].digest == header.digest else {
      throw ProtocolError(
        .forked, "Push number \(header.pushNumber) of this replica was something else",
        suggestion: "The store is a copy or was restored: give it a new incarnation.", head: head)
    }
    return reply(sequence, nowMilliseconds)
  }

  private func reply(_ sequence: UInt64, _ nowMilliseconds: UInt64) -> PushReply {
    PushReply(
      sequence: sequence, firstObjectNumber: entries[Int(sequence) - 1].firstObjectNumber,
      generation: generation, serverTimeMilliseconds: nowMilliseconds)
  }

  private var generationChanged: ProtocolError {
    ProtocolError(
      .generationChanged, "The cursor is not of this log: the zone was restored or made anew",
      suggestion: "Enroll the store again; what it holds is offered anew.", head: head)
  }
}
