import Foundation

/// How a store is opened.
public struct StoreOptions: Hashable, Sendable {
  /// What a save waits for.
  public enum Durability: Hashable, Sendable {
    /// An acknowledged save survives a power cut.
    case full
    /// An acknowledged save survives a crash of the process; a power cut may lose the last ones.
    case normal
  }

  /// Whether writes are refused. A store that is read by one process may be written by another.
  public var isReadOnly: Bool
  /// What a save waits for.
  public var durability: Durability
  /// How long a read or a write waits for another process, in milliseconds.
  public var busyTimeoutMilliseconds: Int32
  /// Whether a file that is missing is created.
  public var createsFile: Bool
  /// Whether a model that differs from the one inside is accepted, as long as every table and column is there.
  public var ignoresVersioning: Bool
  /// Whether `.persistentStoreRemoteChange` is posted for what other processes commit, even while nobody reads
  /// `changes()`.
  public var postsRemoteChanges: Bool
  /// Whether `.persistentStoreRemoteChange` is posted as by Core Data: with ``postsRemoteChanges`` alone, and from a queue of its own,
  /// so that an observer may wait for whoever waits for the save.
  package var postsAsCoreData = false
  /// Whether the file is read as one that nobody changes: no lock is taken, and nothing is made beside it. For a file on a
  /// medium that cannot be written, or one that must stay as it is; wrong for a file that somebody may write meanwhile.
  public var isImmutable: Bool

  /// Whether a new file has to-many relationships without inverse as Core Data lays them out: as a column of the objects that
  /// are held. An object is then in one collection of the relationship at most, and the store cannot be enrolled for sync.
  /// Otherwise they are a table of pairs. A file that is there keeps what it has. A new one has an index of its changes by
  /// transaction then, as Core Data's have.
  public var holdsToManyInColumns = false

  /// How many readers of the store are at work at once in this process, each with a connection, and how many pieces of work
  /// that were sent to contexts, each with a thread: twice the number of cores at first, and no less than four. Others wait,
  /// first come, first served; less than one is one.
  ///
  /// A read inside of a read or a write of the same thread waits for nobody. A query generation that is pinned has a connection
  /// beside these for as long as it is held (``queryGenerationsMax``).
  public var readersMax = max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)

  /// How many query generations of the store this process holds at once. Each has a connection with two open files and memory of
  /// its own, and the store's log cannot be cut while it is held. One more is refused: who holds one lets go of it when it
  /// likes, so that waiting for one could take for ever. Those of ``LocalStore/read(_:)`` do not count: there are as many as pieces of
  /// work (``readersMax``), and they go with them.
  public var queryGenerationsMax = 32

  /// Whether the file says of itself, once nobody has it open any more, that it is written with a rollback journal, as one of
  /// `journal_mode = DELETE` does. While it is open it has a write-ahead log.
  var hasRollbackJournalWhenClosed = false

  /// What brings a store of another model to the one that it is opened with; nil where none was asked for.
  var migration: StoreMigrator?

  /// Options without a migration: a store of another model is refused.
  public init(
    isReadOnly: Bool = false, durability: Durability = .full,
    busyTimeoutMilliseconds: Int32 = 10_000, createsFile: Bool = true,
    ignoresVersioning: Bool = false, postsRemoteChanges: Bool = false,
    isImmutable: Bool = false
  ) {
    self.isReadOnly = isReadOnly || isImmutable
    self.durability = durability
    self.busyTimeoutMilliseconds = busyTimeoutMilliseconds
    self.createsFile = createsFile
    self.ignoresVersioning = ignoresVersioning
    self.postsRemoteChanges = postsRemoteChanges
    self.isImmutable = isImmutable
  }
}

/// The bounds of a store, each with its reason.
enum StoreTuning {
  /// Longer than the clock that stamps files stands still: a hundredth of a second, where it does for longest.
  static let fileClockStepNanoseconds: Int64 = 30_000_000
  /// A WAL of this size is checkpointed after a commit: large enough that random keys meet their pages again
  /// before they are copied into the file, small enough to be read back quickly after a crash.
  static let checkpointBytes = 16 << 20
  /// A WAL of so many times that size is worth waiting for those who write: others did so each time.
  static let longLogFactor = 3
  /// How long nobody waits again for those who write, once it was in vain: each commit would take that long.
  static let vainWaitPause: Duration = .seconds(1)
  /// How long a checkpoint, which keeps writers waiting, waits for readers.
  static let checkpointWaitMilliseconds: Int32 = 20
  /// How long a store whose log was removed waits for those who write, to save what the log held: longer than a save takes.
  static let completionWaitMilliseconds: Int32 = 2_000
  /// How long who opens a store waits for a process that has its log, whose name was removed: longer than a daemon takes to
  /// see it and to save what the log held.
  static let removedLogWaitMilliseconds = 8_000
  /// How often reads look whether the files are still those that are open; writes look each time.
  static let filesLookInterval: Duration = .milliseconds(100)
  /// How long a writer that has waited for others in its process still waits for those in another: a checkpoint takes as long.
  static let leastWaitMilliseconds: Int32 = 250
  /// A value of an attribute that allows it goes to a file of its own when it has more bytes: smaller ones are read faster
  /// from the pages of the store.
  static let externalBytes = 128 << 10
  /// Rows of a table, its first and its last ones each, that are looked at for files of large values that are gone.
  static let rowsLookedAt = 10_000
  /// Files that such rows name of which it is looked whether they are there, of the first and of the last rows each.
  static let filesLookedAt = 1_000
  /// A difference of this size between the host's clocks is a clock that was set: they run apart by less between two
  /// contacts.
  static let leastClockStepMilliseconds: Int64 = 1000
  /// An offset that differs by less is the same: each answer of a server measures it, within its round trip.
  static let leastClockChangeMilliseconds: Int64 = 50
  /// Readers kept open when idle.
  static let idleReaders = 4
  /// Stores of a container that are opened at once where the caller does not wait.
  static let openersMax = 8
  /// How long no reader of a store may have ended before the first that waits goes on beyond the bound: those at work may be
  /// waiting for it, in a way that nothing here can see.
  static let readerPatienceMilliseconds = 10_000
  /// How often the work of a write is done, where others change the same objects between it and its save: each time one of
  /// them has saved, so that all together come forward.
  static let writeAttemptsMax = 8
  /// SQLite's page cache of one connection, in KiB.
  static let cacheKibibytes = 65_536
  /// KiB of it while many saves are one transaction: the index of half a million identities stays in it.
  static let wholeCacheKibibytes = 24_576
  /// KiB of it while a check goes through all tables, whose pages are needed once.
  static let walkCacheKibibytes = 8_192
}
