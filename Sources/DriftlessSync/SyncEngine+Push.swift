import Driftless
import DriftlessProtocol
import Foundation

extension SyncEngine {
  /// Pushes everything that is pending. When the zone has something newer of the same properties,
  /// pulls it first.
  ///
  /// After a return everything that was saved before the call is acknowledged by the zone.
  ///
  /// - Throws: `SyncError`, `ProtocolError` or `StoreError`. What was not acknowledged stays
  ///   pending.
  public func push() async throws -> PushReport {
    try await recorded { try await self.runPush().push }
  }

  /// Pulls, pushes, and goes on until neither has anything to do.
  public func sync() async throws -> SyncReport {
    try await recorded {
      var report = SyncReport()
      report.pull = try await self.runPull(waitSeconds: 0)
      let pushed = try await self.runPush()
      report.pull.add(pushed.pull)
      report.push = pushed.push
      return report
    }
  }

  func runPush() async throws -> SyncReport {
    try lock()
    var report = SyncReport()
    var pusher = Pusher(
      objectsMax: options.pushObjectsMax, staleRetriesMax: options.staleRetriesMax)
    var action = pusher.handle(.begin(hasOutbox: try hasOutbox()))
    while true {
      switch action {
      case .build(let objectsMax):
        let objects = try buildOutbox(objectsMax: objectsMax)
        action = pusher.handle(.built(isEmpty: objects == nil, objects: objects ?? 0))
      case .sendOutbox:
        let answer = await sendOutbox(&report)
        if case .stale = answer { report.push.staleAnswers += 1 }
        action = pusher.handle(.answered(answer))
      case .acknowledge(let reply):
        try acknowledge(reply)
        action = pusher.handle(.acknowledged)
      case .discardOutbox:
        try discardOutbox()
        action = pusher.handle(.discarded)
      case .pull:
        report.pull.add(try await runPull(waitSeconds: 0))
        action = pusher.handle(.pulled)
      case .renewIncarnation:
        try renewIncarnation()
        action = pusher.handle(.renewed)
      case .quarantine(let reason):
        try quarantineOutbox(reason)
        throw reason
      case .finish:
        return report
      case .fail(let error):
        throw error
      }
    }
  }

  /// Sends the bytes in the outbox and sorts the answer.
  private func sendOutbox(_ report: inout SyncReport) async -> Pusher.Answer {
    do {
      guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else {
        return .failed(SyncError.damaged("the change set in flight"))
      }
      let reply = try await transport.push(outbox.frame)
      report.push.changeSets += 1
      report.push.objects += outbox.objects
      report.push.properties += outbox.properties
      report.push.bytes += outbox.frame.count
      return .accepted(reply)
    } catch let error as ProtocolError {
      return Self.answer(error)
    } catch {
      return .failed(error)
    }
  }

  private static func answer(_ error: ProtocolError) -> Pusher.Answer {
    switch error.code {
    case .stale: .stale
    case .generationChanged: .generationChanged
    case .forked, .numberGap: .forked
    case .tooLarge: .tooLarge
    case .malformed:
      .refused(
        SyncError(
          .refused, "The server refuses the change set: \(error.message)",
          suggestion: error.suggestion))
    default: .failed(error)
    }
  }
}
