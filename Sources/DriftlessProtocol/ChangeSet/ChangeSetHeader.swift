public import Foundation

/// The plain header of a change set: who made it, on what, and how long its parts are.
///
/// The first 192 bytes, numbers little-endian:
///
/// | bytes | what |
/// |---|---|
/// | 0..<4 | magic `DLCS` |
/// | 4..<6 | format version, 2 |
/// | 6..<8 | length of the header, at least 192; what stands beyond is skipped |
/// | 8..<12 | required flags: bit 0 = index section not compressed, bit 1 = values section not, bit 2 = a part of a push in several, bit 3 = it names large values, whose bytes go by themselves; a reader that does not know a bit that is set leaves the change set alone |
/// | 12..<16 | optional flags: bit 0 = a mass delete in it is meant; unknown bits are skipped |
/// | 16..<32 | replica, a UUID |
/// | 32..<40 | push number |
/// | 40..<56 | generation of the zone, a UUID |
/// | 56..<64 | sequence number of the cursor that the change set was made on |
/// | 64..<80 | the log's chain there |
/// | 80..<88 | sequence number of the replica's mark; 0 where it has no entry in the log, or shows none |
/// | 88..<104 | the log's chain there; with 0 that of the log's beginning, and zeros from who shows no mark |
/// | 104..<108 | length of the index section as it stands in the frame |
/// | 108..<112 | … and inflated |
/// | 112..<116 | length of the values section as it stands in the frame |
/// | 116..<120 | … and inflated |
/// | 120..<124 | objects in the object table |
/// | 124..<128 | of them new |
/// | 128..<130 | format level |
/// | 130..<132 | which part of the push this is, from 1 on |
/// | 132..<134 | how many parts the push has |
/// | 134..<136 | of the first of several parts, how many MiB all of them take, rounded up; else 0 |
/// | 136..<140 | kept for a scope: how many parts it has; 0 |
/// | 140..<156 | kept for a scope: the digest over its parts; 0 |
/// | 156..<160 | kept for a signature: its length, behind the sections; 0 |
/// | 160..<176 | of a part after the first: the digest of the part before it; else 0 |
/// | 176..<192 | the first 16 bytes of SHA-256 over bytes 0..<176 and 192... |
///
/// Bytes that are 0 here are not looked at: a later version that uses them says so by a flag.
public struct ChangeSetHeader: Hashable, Sendable {
  /// The length of the header as this version writes it, and of what a page carries of a replica's
  /// own change set. Bytes.
  public static let size = 192
  /// The highest format level that this version writes and reads.
  public static let formatLevel: UInt16 = 1

  /// How long a section is. Bytes.
  public struct SectionSize: Hashable, Sendable {
    /// In the frame.
    public var stored = 0
    /// Inflated.
    public var raw = 0
    /// Whether it stands compressed in the frame.
    public var isCompressed = false
  }

  /// The replica that made it.
  public var replica: UUID
  /// Ascending in each replica, from 1 on, at most 63 bits, each for one push only, whose parts share it; gaps are fine.
  public var pushNumber: UInt64
  /// Up to where the replica had applied the log when it made the change set.
  public var cursor: Cursor
  /// The replica's highest acknowledged entry; nil when it has none.
  public var mark: LogMark?
  /// Whether the author meant to delete as much as this does.
  public var massDeleteIsMeant: Bool
  /// Which packings the values may be in.
  public var formatLevel: UInt16
  /// Which part of the push this is, from 1 on.
  public var part: UInt16
  /// How many parts the push has.
  public var parts: UInt16
  /// Of the first of several parts: how many MiB all of them take, rounded up. Else 0.
  public var pushMebibytes: UInt16 = 0
  /// Of a part after the first: the digest of the one before it, so that the last one says which all are. Else nil.
  public var digestBefore: Data?

  // What the encoder fills in:
  /// The length of the header in its frame. Bytes.
  public internal(set) var headerSize = Self.size
  /// Objects in the object table.
  public internal(set) var objectCount = 0
  /// Of them, objects that are new to the zone.
  public internal(set) var newObjectCount = 0
  /// Whether it names large values.
  public internal(set) var namesLargeValues = false
  /// The index section.
  public internal(set) var indexSize = SectionSize()
  /// The values section.
  public internal(set) var valuesSize = SectionSize()
  /// The first 16 bytes of SHA-256 over the rest of the frame; empty before it is encoded.
  public internal(set) var digest = Data()

  /// What a replica says of a change set; the encoder fills in the rest.
  public init(
    replica: UUID, pushNumber: UInt64, cursor: Cursor, mark: LogMark? = nil,
    massDeleteIsMeant: Bool = false, formatLevel: UInt16 = Self.formatLevel, part: UInt16 = 1,
    parts: UInt16 = 1
  ) {
    self.replica = replica
    self.pushNumber = pushNumber
    self.cursor = cursor
    self.mark = mark
    self.massDeleteIsMeant = massDeleteIsMeant
    self.formatLevel = formatLevel
    self.part = part
    self.parts = parts
  }

  /// Whether other parts of the same push come after it.
  public var isFollowedByParts: Bool { part < parts }

  /// The length of the whole frame. Bytes.
  public var frameSize: Int { headerSize + indexSize.stored + valuesSize.stored }

  /// The digest that a frame's header says, of whatever version it is; nil when there is no whole
  /// header.
  public static func storedDigest(of frame: Data) -> Data? {
    guard frame.count >= size else { return nil }
    return Data(frame.dropFirst(digestStart).prefix(digestSize))
  }

  /// The sequence number of the cursor that a frame says it was made on; nil when its header cannot
  /// be read.
  public static func storedPlace(of frame: Data) -> UInt64? {
    guard frame.count >= size else { return nil }
    return try? ChangeSetHeader(decoding: Array(frame.prefix(size))).cursor.sequence
  }

  /// Whether a frame, of whatever version, is as it was made: its digest fits its bytes.
  public static func isWhole(_ frame: Data) -> Bool {
    storedDigest(of: frame) == digest(of: frame)
  }
}
