public import DriftlessProtocol
public import Foundation
import Synchronization

/// A zone in memory: the rules of a server without a server, as a transport. For tests and
/// previews.
///
/// ```swift
/// let zone = MemoryZone(name: "shop")
/// try SyncEngine.enroll(
///   store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
/// let engine = SyncEngine(store: store, transport: zone)
/// ```
public final class MemoryZone: SyncTransport {
  /// What went over the wire so far.
  public struct Traffic: Hashable, Sendable {
    public var pushes = 0
    public var pulls = 0
    /// Entries that pulls carried, headers of own ones included.
    public var entries = 0
    public var bytes = 0
  }

  /// An address for `enroll`; nothing listens there.
  public static let url = URL(filePath: "/memory")

  public let name: String
  private let clock: ManualClock?
  private let state: Mutex<(log: ZoneLog, traffic: Traffic)>

  /// - Parameter clock: the server's clock; nil for the machine's.
  public init(name: String = "zone", clock: ManualClock? = nil) {
    self.name = name
    self.clock = clock
    state = Mutex((ZoneLog(name: name), Traffic()))
  }

  public var traffic: Traffic { state.withLock { $0.traffic } }
  public var head: UInt64 { state.withLock { $0.log.head } }

  public func zoneInfo() async throws -> ZoneInfo {
    let now = now
    return state.withLock { $0.log.info(nowMilliseconds: now) }
  }

  public func push(_ frame: Data) async throws -> PushReply {
    let now = now
    return try state.withLock { state in
      state.traffic.pushes += 1
      state.traffic.bytes += frame.count
      return try state.log.append(frame, nowMilliseconds: now)
    }
  }

  public func pull(_ request: PullRequest) async throws -> PullPage {
    try state.withLock { state in
      let page = try state.log.page(request)
      state.traffic.pulls += 1
      state.traffic.entries += page.entries.count
      state.traffic.bytes += page.entries.reduce(0) { $0 + $1.frame.count }
      return page
    }
  }

  private var now: UInt64 {
    clock?.milliseconds ?? UInt64(Date().timeIntervalSince1970 * 1000)
  }
}
