public import DriftlessProtocol
public import Foundation
import Synchronization

/// A transport that loses, repeats and delays, as a seed says.
///
/// A request may be lost before the zone sees it; its reply may be lost after the zone acted, or
/// have a bit flipped; a push may arrive twice; and an old push may arrive again at any later time,
/// out of order.
public final class FaultyTransport: SyncTransport {
  /// How often each thing happens, in percent of requests.
  public struct Faults: Hashable, Sendable {
    /// Requests that do not arrive.
    public var lostRequests: Int
    /// Answers that do not come back, after the zone acted.
    public var lostReplies: Int
    /// Pushes that arrive twice.
    public var duplicates: Int
    /// Pushes that arrive again later.
    public var lateRepeats: Int
    /// Answers, refusals too, with a bit that is another.
    public var flippedAnswers: Int

    /// - Parameters:
    ///   - lostRequests: Per cent of requests that do not arrive.
    ///   - lostReplies: Per cent of answers that do not come back.
    ///   - duplicates: Per cent of pushes that arrive twice.
    ///   - lateRepeats: Per cent of pushes before which an old one arrives again.
    ///   - flippedAnswers: Per cent of answers with a bit that is another.
    public init(
      lostRequests: Int = 10, lostReplies: Int = 10, duplicates: Int = 10, lateRepeats: Int = 5,
      flippedAnswers: Int = 0
    ) {
      self.lostRequests = lostRequests
      self.lostReplies = lostReplies
      self.duplicates = duplicates
      self.lateRepeats = lateRepeats
      self.flippedAnswers = flippedAnswers
    }

    /// A network that carries everything.
    public static let none = Faults(
      lostRequests: 0, lostReplies: 0, duplicates: 0, lateRepeats: 0)
  }

  /// The network did not carry a request or its reply.
  public struct Lost: Error, Hashable, CustomStringConvertible {
    public let description: String
  }

  private struct State {
    var generator: SeededGenerator
    var faults: Faults
    var isCut = false
    var sent: [Data] = []
  }

  /// Old pushes that may come again are kept up to this many.
  private static let sentMax = 16

  private let zone: any SyncTransport
  private let state: Mutex<State>

  /// - Parameters:
  ///   - zone: Where requests go that arrive.
  ///   - seed: Says what happens to which request.
  ///   - faults: How often each thing happens.
  public init(_ zone: any SyncTransport, seed: UInt64, faults: Faults = Faults()) {
    self.zone = zone
    state = Mutex(State(generator: SeededGenerator(seed: seed), faults: faults))
  }

  /// Cuts the network, or mends it.
  public func setCut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

  /// Changes how often each thing happens, from the next request on.
  public func setFaults(_ faults: Faults) { state.withLock { $0.faults = faults } }

  public func zoneInfo() async throws -> ZoneInfo {
    try passRequest()
    return try await carried { try await zone.zoneInfo() }
  }

  public func push(_ frame: Data) async throws -> PushReply {
    try passRequest()
    let (isTwice, late) = state.withLock { state -> (Bool, Data?) in
      let late =
        state.generator.chance(state.faults.lateRepeats)
        ? state.sent.randomElement(using: &state.generator) : nil
      state.sent.append(frame)
      if state.sent.count > Self.sentMax { state.sent.removeFirst() }
      return (state.generator.chance(state.faults.duplicates), late)
    }
    // The sender of an old push has its answer already: whatever comes of it, nobody listens.
    if let late { _ = try? await zone.push(late) }
    let reply = try await carried { try await zone.push(frame) }
    if isTwice { _ = try? await zone.push(frame) }
    try passReply()
    return reply
  }

  public func stage(_ part: Data) async throws -> StagedReply {
    try passRequest()
    let reply = try await carried { try await zone.stage(part) }
    try passReply()
    return reply
  }

  public func pull(_ request: PullRequest) async throws -> PullPage {
    try passRequest()
    let page = try await CarriedAnswer.page(to: { try await zone.pull(request) }, over: flipped)
    try passReply()
    return page
  }

  public func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try passRequest()
    let reply = try await carried { try await zone.refill(entries) }
    try passReply()
    return reply
  }

  public func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try passRequest()
    let reply = try await carried {
      CommonPlaceReply(place: try await zone.commonPlace(of: marks, generation: generation))
    }
    try passReply()
    return reply.place
  }

  public func put(_ piece: ValuePiece) async throws -> ValueState {
    try passRequest()
    let reply = try await carried { try await zone.put(piece) }
    try passReply()
    return reply
  }

  public func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try passRequest()
    let piece = try await carried { try await zone.value(digest, of: generation, range: range) }
    try passReply()
    return piece
  }

  public func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    try passRequest()
    let lost = try await carried { try await zone.lostValues(of: generation, after: digest) }
    try passReply()
    return lost
  }

  private func carried<Answer: Codable>(
    _ request: () async throws -> Answer
  ) async throws -> Answer {
    try await CarriedAnswer.answer(to: request, over: flipped)
  }

  /// An answer's bytes as they come out at the other end.
  private func flipped(_ bytes: Data) -> Data {
    state.withLock { state in
      // Without such faults no number is drawn: what a seed did before stays as it was.
      guard state.faults.flippedAnswers > 0, state.generator.chance(state.faults.flippedAnswers)
      else { return bytes }
      return bytes.flippingBit(state.generator.next())
    }
  }

  private func passRequest() throws {
    try state.withLock { state in
      guard !state.isCut else { throw Lost(description: "The network is cut") }
      if state.generator.chance(state.faults.lostRequests) {
        throw Lost(description: "The request was lost")
      }
    }
  }

  private func passReply() throws {
    try state.withLock { state in
      if state.generator.chance(state.faults.lostReplies) {
        throw Lost(description: "The reply was lost")
      }
    }
  }
}

extension Data {
  /// The bytes with one bit that is another, which the dice choose.
  package func flippingBit(_ dice: UInt64) -> Data {
    guard !isEmpty else { return self }
    var bytes = self
    bytes[startIndex + Int(dice % UInt64(count))] ^= 1 << UInt8(dice >> 61)
    return bytes
  }
}
