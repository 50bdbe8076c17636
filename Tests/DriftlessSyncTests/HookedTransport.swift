import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation

/// A transport that lets a test act between the zone's commit and the engine's hearing of it. Used
/// by one task.
// Sendable by use: set up before the engine has it, called by that engine alone.
final class HookedTransport: ForwardingTransport, @unchecked Sendable {
  let next: any SyncTransport
  /// Called after the zone took a push, once; what it throws is the push's outcome.
  var afterPush: (() throws -> Void)?
  /// Called before each question for what the zone is.
  var beforeZoneInfo: (() throws -> Void)?
  /// Called before each request for a page.
  var beforePull: (() throws -> Void)?
  /// Called once the zone has given a page, before the engine has it.
  var afterPull: (() async throws -> Void)?
  /// Called once the zone has named a common place, before the engine hears of it.
  var afterCommonPlace: (() async throws -> Void)?
  /// What goes to the zone in place of a frame.
  var rewritten: ((Data) throws -> Data)?
  private(set) var pushed: [Data] = []
  /// Called before each part of a push that others follow.
  var beforeStage: (() async throws -> Void)?
  private(set) var staged: [Data] = []

  init(_ zone: any SyncTransport) { next = zone }

  func zoneInfo() async throws -> ZoneInfo {
    try beforeZoneInfo?()
    return try await next.zoneInfo()
  }

  func push(_ frame: Data) async throws -> PushReply {
    pushed.append(frame)
    let reply = try await next.push(rewritten?(frame) ?? frame)
    let hook = afterPush
    afterPush = nil
    try hook?()
    return reply
  }

  func stage(_ part: Data) async throws -> StagedReply {
    staged.append(part)
    try await beforeStage?()
    return try await next.stage(part)
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    try beforePull?()
    let page = try await next.pull(request)
    try await afterPull?()
    return page
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    let place = try await next.commonPlace(of: marks, generation: generation)
    try await afterCommonPlace?()
    return place
  }
}

extension TestReplica {
  /// Another engine on the store, in place of the replica's own.
  func engine(
    through transport: any SyncTransport, options: SyncOptions = SyncOptions()
  ) async throws -> SyncEngine {
    await engine.close()
    return SyncEngine(store: store, transport: transport, options: options)
  }
}
