import DriftlessProtocol
import Foundation

/// The logs that are added up, and where what they come to lies: what `ZoneFolding` knows of a storage. It is asked on threads
/// that may wait.
protocol FoldedLogs: Sendable {
  func zones() throws -> [ZoneRecord]

  /// The zone of that name; nil when there is none.
  func zone(named name: String) throws -> ZoneRecord?

  /// Bytes of a zone's log after an entry.
  ///
  /// - Parameter pause: called every now and then; what it throws ends it.
  func logBytes(of zone: ZoneRecord, after sequence: UInt64, pause: () throws -> Void) throws -> Int

  /// Entries of a zone's log after a place.
  func entries(of zone: ZoneRecord, _ request: PageRequest) throws -> [LogEntry]

  /// Whether a place is one of the zone's log: the log may have been put back since a snapshot was made.
  func isOwn(_ place: LogMark, _ zone: ZoneRecord) throws -> Bool

  /// The zone's snapshot; nil when there is none of its present generation.
  func snapshot(of zone: ZoneRecord) throws -> Snapshot?

  /// The bytes of a file of a snapshot.
  ///
  /// - Throws: `ProtocolError`: `.noSnapshot` for one that a newer fold has removed meanwhile.
  func bytes(of file: Snapshot.File, of zone: ZoneRecord) throws -> Data

  /// Adds up a zone's log to a snapshot.
  ///
  /// - Parameter page: the entries after a place; none where it is to end.
  /// - Throws: `ServerError`: `.locked` while another process folds the zone, `.diskFull`, what `page` throws.
  func fold(
    _ zone: ZoneRecord, options: FoldOptions, page: (LogMark) throws -> [LogEntry]
  ) throws -> Snapshot

  /// Removes what was added up of a zone's log: it is made anew.
  func forget(_ zone: ZoneRecord) throws

  /// Removes what was added up of zones that are no more.
  func sweep() throws

  /// How many bytes there is room for where a fold writes; nil where that cannot be told.
  var freeBytes: Int? { get }

  func close()
}
