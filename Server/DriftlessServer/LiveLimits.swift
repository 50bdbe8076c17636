import Synchronization

/// The limits that are in force: an operator may set others while the server serves.
@dynamicMemberLookup package final class LiveLimits: Sendable {
  private let limits: Mutex<ServerLimits>

  package init(_ limits: ServerLimits) { self.limits = Mutex(limits) }

  package var current: ServerLimits { limits.withLock { $0 } }

  package subscript(dynamicMember path: KeyPath<ServerLimits, Int>) -> Int {
    limits.withLock { $0[keyPath: path] }
  }

  func take(_ limits: ServerLimits) { self.limits.withLock { $0 = limits } }
}
