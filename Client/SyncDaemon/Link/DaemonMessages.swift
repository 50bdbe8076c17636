package import DriftlessSync
package import Foundation

/// What is asked of a running daemon: one JSON object on one line of its unix socket.
package struct DaemonRequest: Hashable, Sendable, Codable {
  package enum Verb: String, Hashable, Sendable, Codable {
    /// How the daemon does, and each of its stores.
    case status
    /// Which stores the daemon keeps: answered at once, whatever these do.
    case stores
    /// Pull and push until nothing is left to do.
    case sync
    case push
    case pull
    /// Compare the store with its zone, and maybe mend it.
    case verify
    case repair
    /// Give up what was not sent, and take the zone's state.
    case giveUpUnsent
    /// A person changed what the next sync does: it begins now, and the answer does not wait for it.
    case wake
  }

  package var verb: Verb
  /// The path of the store; nil asks for all stores (status only).
  package var store: String?
  /// Whether deletes of a large part of the store are meant; nil is no.
  package var allowsMassDelete: Bool?

  package init(_ verb: Verb, store: String? = nil, allowsMassDelete: Bool? = nil) {
    self.verb = verb
    self.store = store
    self.allowsMassDelete = allowsMassDelete
  }
}

/// The daemon's answer: one JSON object on one line.
package struct DaemonReply: Hashable, Sendable, Codable {
  package var pid: Int32
  /// The stores that were asked about.
  package var stores: [DaemonStoreState]
  /// The paths of all stores that the daemon keeps, sorted; nil unless it was asked for them.
  package var paths: [String]?
  /// What a sync, push or pull did.
  package var report: SyncSummary?
  /// What a comparison with the zone found.
  package var verified: VerifyReport?
  /// Why the request failed; nil when it did not.
  package var failure: Failure?

  package init(
    pid: Int32, stores: [DaemonStoreState] = [], report: SyncSummary? = nil,
    failure: Failure? = nil
  ) {
    self.pid = pid
    self.stores = stores
    self.report = report
    self.failure = failure
  }
}

/// How a daemon does with one store.
package struct DaemonStoreState: Hashable, Sendable, Codable {
  package enum Activity: String, Hashable, Sendable, Codable {
    /// In step, and listening for changes here and at the zone.
    case listening
    /// A sync is under way.
    case syncing
    /// The last sync failed; the next one is at `nextAttempt`.
    case waiting
    /// The daemon is about to end, or the store left its configuration.
    case stopped
  }

  package var store: String
  package var activity: Activity
  package var lastSync: Date?
  package var lastError: String?
  /// How the last sync failed; nil after a success, and from an older daemon.
  package var failure: SyncStatus.Failure?
  package var nextAttempt: Date?
  /// Failed attempts since the last sync that succeeded.
  package var failedAttempts: Int

  package init(
    store: String, activity: Activity, lastSync: Date? = nil, lastError: String? = nil,
    failure: SyncStatus.Failure? = nil, nextAttempt: Date? = nil, failedAttempts: Int = 0
  ) {
    self.store = store
    self.activity = activity
    self.lastSync = lastSync
    self.lastError = lastError
    self.failure = failure
    self.nextAttempt = nextAttempt
    self.failedAttempts = failedAttempts
  }
}
