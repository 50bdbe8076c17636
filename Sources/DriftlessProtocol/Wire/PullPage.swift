public import Foundation

/// Some of a zone's log: the answer to a pull.
///
/// As HTTP, the body is the entries one after the other (see `Entry`), and the header fields
/// `Driftless-Generation` and `Driftless-Head` say where the log stands.
public struct PullPage: Hashable, Sendable {
  /// The header field with the zone's generation, a UUID.
  public static let generationField = "Driftless-Generation"
  /// The header field with the log's last sequence number, in decimal.
  public static let headField = "Driftless-Head"

  public var generation: UUID
  /// The last sequence number of the log.
  public var head: UInt64
  /// In the order of the log.
  public var entries: [Entry]

  public init(generation: UUID, head: UInt64, entries: [Entry]) {
    self.generation = generation
    self.head = head
    self.entries = entries
  }

  /// Reads the body of an answer to a pull.
  ///
  /// - Throws: `ProtocolError` when the bytes are cut, changed or not in the format: then nothing
  /// of the page counts.
  public init(
    body: Data, generation: UUID, head: UInt64, limits: ChangeSetLimits = ChangeSetLimits()
  ) throws(ProtocolError) {
    self.init(generation: generation, head: head, entries: [])
    var rest = body[...]
    while !rest.isEmpty {
      entries.append(try Entry(readingFrom: &rest, limits: limits))
    }
  }

  /// The body of the answer.
  public var body: Data {
    var data = Data(
      capacity: entries.reduce(0) { $0 + PullEntryHeader.size + $1.frame.count })
    for entry in entries {
      data.append(contentsOf: entry.headerBytes)
      data.append(entry.frame)
    }
    return data
  }
}

extension PullPage {
  /// One change set of the log, with what the zone gave it.
  ///
  /// | bytes | what (numbers little-endian) |
  /// |---|---|
  /// | 0..<4 | magic `DLLE` |
  /// | 4..<6 | version of the entry, 1 |
  /// | 6..<8 | flags: bit 0 = only the frame's 128-byte header follows |
  /// | 8..<16 | sequence number |
  /// | 16..<24 | zone object number of the first new object |
  /// | 24..<28 | length of what follows the entry's header |
  /// | 28..<32 | CRC-32 (zlib) of bytes 0..<28 and of the frame's first 128 bytes |
  /// | 32... | the frame as it was pushed, byte for byte, or its header |
  ///
  /// The frame's header holds a digest of the rest of the frame, so the CRC need not cover it.
  public struct Entry: Hashable, Sendable {
    public var sequence: UInt64
    public var firstObjectNumber: UInt64
    /// Whether `frame` is only the frame's header, because the change set is the asking replica's
    /// own.
    public var isOwnHeaderOnly: Bool
    /// The frame as it was pushed, or its first 128 bytes.
    public var frame: Data

    public init(
      sequence: UInt64, firstObjectNumber: UInt64, isOwnHeaderOnly: Bool, frame: Data
    ) {
      self.sequence = sequence
      self.firstObjectNumber = firstObjectNumber
      self.isOwnHeaderOnly = isOwnHeaderOnly
      self.frame = frame
    }

    /// The 32 bytes that stand before the frame: a server that streams sends them, then the frame.
    public var headerBytes: [UInt8] { PullEntryHeader(self).bytes }

    fileprivate init(
      readingFrom rest: inout Data.SubSequence, limits: ChangeSetLimits
    ) throws(ProtocolError) {
      let header = try PullEntryHeader(rest, limits: limits)
      let frame = rest.dropFirst(PullEntryHeader.size).prefix(header.length)
      guard header.checksum == header.expectedChecksum(of: frame) else {
        throw .damaged("The checksum of log entry \(header.sequence) does not fit")
      }
      self.init(
        sequence: header.sequence, firstObjectNumber: header.firstObjectNumber,
        isOwnHeaderOnly: header.isOwnHeaderOnly, frame: Data(frame))
      rest = rest.dropFirst(PullEntryHeader.size + header.length)
    }
  }
}
