import DriftlessProtocol
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

/// The server beside the protocol's zone in memory: the same pushes, the same answers.
@Suite("The server keeps the protocol's rules")
struct ReferenceLogTests {
  /// What a push came to: its place, or the code of its refusal.
  private enum Outcome: Equatable {
    case place(sequence: UInt64, firstObjectNumber: UInt64)
    case refused(String)
  }

  @Test(
    "Random pushes on random cursors get the same places and refusals",
    arguments: [1, 2, 3, 4] as [UInt64])
  func random(seed: UInt64) async throws {
    // The zone in memory holds nobody back.
    var limits = ServerLimits()
    limits.holdStaleAnswers = .max
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let zone = try await server.zone()
      var random = SeededNumbers(seed: seed)
      var reference = ZoneLog(name: "shop", generation: zone.generation)
      var makers = (0..<3).map { _ in FrameMaker(zone) }
      let identity = UUID()
      var seen: [String: Int] = [:]
      for step in 0..<150 {
        let place = Int.random(in: 0..<3, using: &random)
        let sequence = reference.head - min(reference.head, .random(in: 0...4, using: &random))
        let known = try #require(reference.place(at: sequence))
        makers[place].cursor = Cursor(
          generation: zone.generation, sequence: known.sequence, chain: known.chain)
        let before = makers[place].number
        let frame = try Self.push(&makers[place], reference, identity, &random)
        let expected = Self.outcome(of: frame, in: &reference)
        let actual = try await Self.outcome(of: frame, from: server, token)
        #expect(actual == expected, "seed \(seed), step \(step)")
        if case .refused(let code) = expected {
          makers[place].number = before
          seen[code, default: 0] += 1
        } else {
          seen["placed", default: 0] += 1
        }
      }
      #expect(seen["placed", default: 0] > 20, "\(seen)")
      #expect(seen["stale", default: 0] > 10, "\(seen)")
      let request = PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: 1 << 20, waitSeconds: 0,
        replica: makers[0].replica, ownThrough: reference.head / 2)
      let own = "&replica=\(makers[0].replica)&own_through=\(reference.head / 2)"
      let page = try await server.pull(after: 0, own, token: token)
      #expect(
        try page == reference.page(request, nowMilliseconds: page.serverTimeMilliseconds))
    }
  }

  /// A push of a random kind on a few of the first objects, so that pushes often meet.
  private static func push(
    _ maker: inout FrameMaker, _ reference: ZoneLog, _ identity: UUID, _ random: inout SeededNumbers
  ) throws -> Data {
    let numbers = (1...8).filter { _ in Int.random(in: 0..<4, using: &random) == 0 }.map(
      UInt64.init)
    switch Int.random(in: 0..<10, using: &random) {
    case _ where reference.head < 2:
      return try maker.insert(5)
    case 0:
      return try maker.insert(.random(in: 1...3, using: &random))
    case 1:
      let first = identity.advanced(by: .random(in: 0..<40, using: &random))
      return try maker.insert(.random(in: 1...10, using: &random), first: first)
    case 2 where !numbers.isEmpty:
      return try maker.touch(.delete, numbers)
    case 3 where !numbers.isEmpty:
      return try maker.touch(.revive, numbers)
    case 4:
      maker.number += 1
      return try maker.insert(1)
    default:
      let property = ["title", "width", "depth"].randomElement(using: &random) ?? "title"
      return try maker.update(numbers.isEmpty ? [1] : numbers, property: property)
    }
  }

  private static func outcome(of frame: Data, in reference: inout ZoneLog) -> Outcome {
    do {
      let reply = try reference.append(frame, nowMilliseconds: 0)
      return .place(sequence: reply.sequence, firstObjectNumber: reply.firstObjectNumber)
    } catch {
      return .refused(error.code.rawValue)
    }
  }

  private static func outcome(
    of frame: Data, from server: LiveServer, _ token: AccessToken
  ) async throws -> Outcome {
    let response = try await server.push(frame, token: token)
    guard response.status == 200 else { return .refused(response.code ?? "none") }
    let reply = try JSONDecoder().decode(PushReply.self, from: response.body)
    return .place(sequence: reply.sequence, firstObjectNumber: reply.firstObjectNumber)
  }
}
