import DriftlessProtocol
import DriftlessTesting
import Foundation

/// The way between one host and the server. What it does to the requests of a step follows from the
/// step's dice.
// Sendable by use: the engine of one host calls it while the simulation's task waits for that engine.
final class SimulatedNetwork: SyncTransport, @unchecked Sendable {
  /// The network did not carry a request or its answer.
  struct Lost: Error, CustomStringConvertible {
    let description: String
  }

  /// A moment of a request at which something else may happen.
  enum Moment: Sendable { case beforeServer, afterServer }

  var server: any SyncTransport
  var isCut = false
  /// Whether the way back is cut.
  var isDeaf = false
  var faults = FaultyTransport.Faults.none
  /// Percent of requests with a bit flipped on their way.
  var flippedBits = 0
  /// Of which entries a byte is another one: those whose last byte is this number, by three.
  var damaged: UInt8?
  /// When the server has no time for pushes, pulls go on.
  var tooBusyForPushes: Moment?
  /// A word that the server refuses for good.
  var refused: String?
  /// What else happens during the requests of this step.
  var interlude: (@Sendable (Moment) async throws -> Void)?
  /// Refuses requests that go to a zone by a name that it has no more.
  var admit: (@Sendable () throws -> Void)?
  /// Whether the server refuses the host's token.
  var isRevoked = false
  /// How many callers the answers of this step are held for.
  var held: HeldReplies?
  private var generator = SeededGenerator(seed: 0)
  private var sent: [Data] = []
  /// Whether a bit was flipped since the step began.
  private(set) var hasFlipped = false
  /// How often the step has asked what the zone is.
  private(set) var questions = 0

  /// Old pushes that may come again are kept up to this many.
  private static let sentMax = 8

  private static let busy = ProtocolError(.busy, "There is no time", suggestion: "Come again.")

  init(_ server: any SyncTransport) { self.server = server }

  func begin(dice: UInt64) {
    generator = SeededGenerator(seed: dice)
    hasFlipped = false
    questions = 0
  }

  func zoneInfo() async throws -> ZoneInfo {
    questions += 1
    return try await checked { try await $0.zoneInfo() }
  }

  func push(_ frame: Data) async throws -> PushReply {
    if let refused, try Self.texts(frame).contains(refused) {
      throw ProtocolError(.malformed, "It says \(refused)", suggestion: "Say something else.")
    }
    let late = generator.chance(faults.lateRepeats) ? sent.randomElement(using: &generator) : nil
    sent.append(frame)
    if sent.count > Self.sentMax { sent.removeFirst() }
    let isTwice = generator.chance(faults.duplicates)
    let carried = flipped(frame)
    return try await checked { server in
      // The sender of an old push has its answer already: whatever comes of it, nobody listens.
      if let late { _ = try? await server.push(late) }
      if case .beforeServer? = tooBusyForPushes { throw Self.busy }
      let reply = try await server.push(carried)
      if case .afterServer? = tooBusyForPushes { throw Self.busy }
      if isTwice { _ = try? await server.push(frame) }
      return reply
    }
  }

  func stage(_ part: Data) async throws -> StagedReply {
    if let refused, part.count > ChangeSetHeader.size, try Self.texts(part).contains(refused) {
      throw ProtocolError(.malformed, "It says \(refused)", suggestion: "Say something else.")
    }
    let carried = flipped(part)
    return try await checked { try await $0.stage(carried) }
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    guard flippedBits > 0 else {
      let page = try await carry { try await $0.pull(request) }
      // A number that is not needed any more: the seeds that tests name are those with it.
      _ = generator.next()
      return spoiled(page)
    }
    return try await CarriedAnswer.page(
      to: { try await carry { try await $0.pull(request) } }, over: { flipped($0) })
  }

  /// A page as it comes from a disk that has other bytes than were pushed.
  private func spoiled(_ page: PullPage) -> PullPage {
    guard let damaged else { return page }
    var page = page
    for place in page.entries.indices where !page.entries[place].isOwnHeaderOnly {
      let frame = page.entries[place].frame
      guard let last = frame.last, last % 3 == damaged else { continue }
      page.entries[place].frame[frame.index(before: frame.endIndex)] = last ^ 1
    }
    return page
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await checked { try await $0.refill(entries) }
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await checked {
      CommonPlaceReply(place: try await $0.commonPlace(of: marks, generation: generation))
    }.place
  }

  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    guard try await server.keptSnapshot(of: generation) != nil else { return nil }
    return try await checked { server in
      guard let snapshot = try await server.keptSnapshot(of: generation) else {
        throw ProtocolError.noSnapshot
      }
      return snapshot
    }
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    // Without one, nothing is drawn: what befalls the steps after it is the same.
    guard try await server.snapshot(of: generation) != nil else { return nil }
    return try await checked { server in
      guard let snapshot = try await server.snapshot(of: generation) else {
        throw ProtocolError.noSnapshot
      }
      return snapshot
    }
  }

  func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    // Not the whole of what was asked for: a server may cut it.
    let part = range.prefix(max(150, range.count / 2))
    return try await checked {
      try await $0.segment(
        name, of: generation, range: part.startIndex..<part.endIndex)
    }
  }

  func put(_ piece: ValuePiece) async throws -> ValueState {
    try await checked { try await $0.put(piece) }
  }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try await checked { try await $0.value(digest, of: generation, range: range) }
  }

  func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    try await checked { try await $0.lostValues(of: generation, after: digest) }
  }

  /// Carries a request, and its answer as bytes with the check that every answer has on its way.
  private func checked<Answer: Codable & Sendable>(
    _ request: (any SyncTransport) async throws -> Answer
  ) async throws -> Answer {
    guard flippedBits > 0 else { return try await carry(request) }
    return try await CarriedAnswer.answer(to: { try await carry(request) }, over: { flipped($0) })
  }

  func carry<Answer: Sendable>(
    _ request: (any SyncTransport) async throws -> Answer
  ) async throws -> Answer {
    guard !isCut else { throw Lost(description: "The network is cut") }
    try await interlude?(.beforeServer)
    if generator.chance(faults.lostRequests) { throw Lost(description: "The request was lost") }
    let isLost = generator.chance(faults.lostReplies)
    try admit?()
    if isRevoked {
      throw ProtocolError(.unauthorized, "The token is not known", suggestion: "Get another.")
    }
    let answer = try await request(server)
    try await interlude?(.afterServer)
    await held?.hold()
    if isLost || isDeaf { throw Lost(description: "The answer was lost") }
    return answer
  }

  /// Data as it comes out at the other end.
  func flipped(_ data: Data) -> Data {
    guard !data.isEmpty, generator.chance(flippedBits) else { return data }
    hasFlipped = true
    var data = data
    let place = Int(generator.next() % UInt64(data.count))
    data[data.startIndex + place] ^= 1 << UInt8(generator.next() % 8)
    return data
  }

  private static func texts(_ frame: Data) throws -> Set<String> {
    var texts: Set<String> = []
    for column in try ChangeSetDecoder().decode(frame).columns {
      guard case .strings(let rows) = column.values else { continue }
      for row in 0..<rows.count { texts.insert(rows.string(at: row)) }
    }
    return texts
  }
}

/// Holds the first answer until another has come, so that two callers' requests are under way at once.
actor HeldReplies {
  private var waiting = 0
  private var passed = 0

  /// An engine that does one thing at a time never sends the other request: the wait ends by itself.
  private static let patience = 200

  func hold() async {
    waiting += 1
    guard waiting == 1 else {
      passed += 1
      return
    }
    for _ in 0..<Self.patience where passed == 0 { await Task.yield() }
    waiting -= 1
    passed = 0
  }
}
