public import Foundation

/// The plain header of a change set: who made it, on what, and how long its parts are.
///
/// The 128 bytes, numbers little-endian:
///
/// | bytes | what |
/// |---|---|
/// | 0..<4 | magic `DLCS` |
/// | 4..<6 | format version, 1 |
/// | 6..<8 | flags: bit 0 = index section not compressed, bit 1 = values section not; others 0 |
/// | 8..<24 | replica, a UUID |
/// | 24..<28 | incarnation of the replica |
/// | 28..<32 | 0 |
/// | 32..<40 | push number: 1, 2, 3 … in each incarnation |
/// | 40..<56 | generation of the zone, a UUID |
/// | 56..<64 | sequence number of the cursor that the change set was made on |
/// | 64..<68 | length of the index section as it stands in the frame |
/// | 68..<72 | … and inflated |
/// | 72..<76 | length of the values section as it stands in the frame |
/// | 76..<80 | … and inflated |
/// | 80..<84 | objects in the object table |
/// | 84..<88 | of them new |
/// | 88..<112 | 0 |
/// | 112..<128 | the first 16 bytes of SHA-256 over bytes 0..<112 and 128... |
public struct ChangeSetHeader: Hashable, Sendable {
  /// The length of the header. Bytes.
  public static let size = 128

  /// How long a section is. Bytes.
  public struct SectionSize: Hashable, Sendable {
    /// In the frame.
    public var stored = 0
    /// Inflated.
    public var raw = 0
    public var isCompressed = false
  }

  public var replica: UUID
  public var incarnation: UInt32
  /// 1, 2, 3 … in each incarnation.
  public var pushNumber: UInt64
  /// Up to where the replica had applied the log when it made the change set.
  public var cursor: Cursor

  // What the encoder fills in:
  public internal(set) var objectCount = 0
  public internal(set) var newObjectCount = 0
  public internal(set) var indexSize = SectionSize()
  public internal(set) var valuesSize = SectionSize()
  /// The first 16 bytes of SHA-256 over the rest of the frame; empty before it is encoded.
  public internal(set) var digest = Data()

  public init(replica: UUID, incarnation: UInt32, pushNumber: UInt64, cursor: Cursor) {
    self.replica = replica
    self.incarnation = incarnation
    self.pushNumber = pushNumber
    self.cursor = cursor
  }

  /// The length of the whole frame. Bytes.
  public var frameSize: Int { Self.size + indexSize.stored + valuesSize.stored }
}
