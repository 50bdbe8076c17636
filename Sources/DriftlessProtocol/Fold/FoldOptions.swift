/// What a fold may take, and what it keeps.
public struct FoldOptions: Sendable {
  /// Pieces of the log in memory before they go to a file as a run. Bytes.
  public var runBytes = 16 << 20
  /// Runs that lie side by side: so many become one.
  public var runsMax = 24
  /// A file of the snapshot, before it is compressed. Bytes. An object is never cut, so that one may be larger.
  public var segmentBytes = 8 << 20
  /// How long a snapshot tells the names of transactions, counted back from its newest one: as long as replicas remember
  /// deletes. Milliseconds.
  public var namesKeptMilliseconds: UInt64 = 90 * 24 * 3600 * 1000
  /// zlib's level.
  public var compressionLevel: Int32 = 6
  /// Called every now and then; what it throws ends the fold, which goes on from there another time.
  public var pause: (@Sendable () throws -> Void)?

  /// As the server folds.
  public init() {}

  /// Names of transactions before this time are told no more.
  ///
  /// - Parameter newest: the time of the newest transaction.
  package func namesForgotten(newest: UInt64) -> UInt64 {
    let newest = newest >> 16
    return newest > namesKeptMilliseconds ? (newest - namesKeptMilliseconds) << 16 : 0
  }
}
