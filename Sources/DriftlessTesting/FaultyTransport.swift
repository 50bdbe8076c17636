public import DriftlessProtocol
public import Foundation
import Synchronization

/// A transport that loses, repeats and delays, as a seed says.
///
/// A request may be lost before the zone sees it; its reply may be lost after the zone acted; a
/// push may arrive twice; and an old push may arrive again at any later time, out of order.
public final class FaultyTransport: SyncTransport {
  /// How often each thing happens, in percent of requests.
  public struct Faults: Hashable, Sendable {
    public var lostRequests: Int
    public var lostReplies: Int
    public var duplicates: Int
    public var lateRepeats: Int

    public init(
      lostRequests: Int = 10, lostReplies: Int = 10, duplicates: Int = 10, lateRepeats: Int = 5
    ) {
      self.lostRequests = lostRequests
      self.lostReplies = lostReplies
      self.duplicates = duplicates
      self.lateRepeats = lateRepeats
    }

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

  public init(_ zone: any SyncTransport, seed: UInt64, faults: Faults = Faults()) {
    self.zone = zone
    state = Mutex(State(generator: SeededGenerator(seed: seed), faults: faults))
  }

  /// Cuts the network, or mends it.
  public func setCut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

  public func setFaults(_ faults: Faults) { state.withLock { $0.faults = faults } }

  public func zoneInfo() async throws -> ZoneInfo {
    try passRequest()
    return try await zone.zoneInfo()
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
    let reply = try await zone.push(frame)
    if isTwice { _ = try? await zone.push(frame) }
    try passReply()
    return reply
  }

  public func pull(_ request: PullRequest) async throws -> PullPage {
    try passRequest()
    let page = try await zone.pull(request)
    try passReply()
    return page
  }

  public func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try passRequest()
    let reply = try await zone.refill(entries)
    try passReply()
    return reply
  }

  public func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try passRequest()
    let place = try await zone.commonPlace(of: marks, generation: generation)
    try passReply()
    return place
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
