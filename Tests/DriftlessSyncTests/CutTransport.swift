import DriftlessProtocol
import DriftlessTesting
import Foundation

/// A way that breaks with a request, before or after the zone had it, and stays broken.
final class CutTransport: ForwardingTransport, @unchecked Sendable {
  struct Cut: Error {}

  let next: any SyncTransport
  private let last: Int
  private let isAfter: Bool
  private var requests = 0

  init(_ zone: any SyncTransport, after last: Int, isAfter: Bool) {
    next = zone
    self.last = last
    self.isAfter = isAfter
  }

  private func pass<Answer>(_ request: () async throws -> Answer) async throws -> Answer {
    requests += 1
    if requests > last || requests == last && !isAfter { throw Cut() }
    let answer = try await request()
    if requests == last { throw Cut() }
    return answer
  }

  func push(_ frame: Data) async throws -> PushReply {
    try await pass { try await next.push(frame) }
  }
  func stage(_ part: Data) async throws -> StagedReply {
    try await pass { try await next.stage(part) }
  }
  func pull(_ request: PullRequest) async throws -> PullPage {
    try await pass { try await next.pull(request) }
  }
}
