public import Foundation

/// How a store does that an engine keeps in step (`SyncEngine.run`).
public enum SyncState: Hashable, Sendable {
  /// How far something has come.
  public struct Progress: Hashable, Sendable {
    /// Objects that were sent, change sets that were received.
    public var done: Int
    /// Of so many, as far as is known; it grows with what is saved or pushed meanwhile.
    public var total: Int
    /// Bytes sent or received.
    public var bytes: Int

    /// - Parameters:
    ///   - done: Objects that were sent, change sets that were received.
    ///   - total: Of so many, as far as is known.
    ///   - bytes: Bytes sent or received.
    public init(done: Int, total: Int, bytes: Int) {
      self.done = done
      self.total = max(done, total)
      self.bytes = bytes
    }
  }

  /// Sync failed, and is tried again.
  public struct Pause: Hashable, Sendable {
    /// What went wrong.
    public var failure: SyncFailure
    /// When the first attempt failed.
    public var since: Date
    /// When the next attempt is due; a person's request is sooner.
    public var nextAttempt: Date
    /// Failed attempts in a row.
    public var attempts: Int
  }

  /// Looks for what there is to do.
  case syncing
  /// Change sets of others come in.
  case receiving(Progress)
  /// Objects go out.
  case sending(Progress)
  /// Nothing is left to do, here or at the zone. It waits for saves and for news.
  case inStep(SyncReport)
  /// No usable answer, or one that says "later". Saves go on as ever, and are sent when time has
  /// healed it.
  case offline(Pause)
  /// Nothing moves until a person has decided.
  case waitingForPerson(Pause)
  /// The server or the store refuses, and time alone does not heal that.
  case refused(Pause)
}

/// Why a sync failed, and whether time may heal it.
public struct SyncFailure: Hashable, Sendable {
  /// A short name that programs can compare.
  public var code: String
  /// What went wrong, as a sentence.
  public var message: String
  /// What the reader can do about it.
  public var suggestion: String
  /// Whether the same attempt can succeed later without anybody doing anything.
  public var isTransient: Bool
  /// Whether a person has to decide something.
  public var needsPerson = false
  /// Whether the host lacks something: space on the store's file system, or files that this process may open. It may be there
  /// again at any time, and nothing tells.
  public var waitsForRoom = false
  /// How long the server asked to wait, in seconds.
  public var retryAfterSeconds: Double?
}
