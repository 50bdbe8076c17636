public import Foundation

/// Some of a zone's log: the answer to a pull.
///
/// As HTTP, the body is the entries one after the other (see `Entry`), and the header fields
/// `Driftless-Generation`, `Driftless-Head` and `Driftless-Time` say where the log stands. `Driftless-Lost` is there where the
/// zone lacks large values that its log names.
public struct PullPage: Hashable, Sendable {
  /// The header field with the zone's generation, a UUID.
  public static let generationField = "Driftless-Generation"
  /// The header field with the log's last sequence number, in decimal.
  public static let headField = "Driftless-Head"
  /// The header field with the server's clock, in milliseconds since 1970, in decimal.
  public static let timeField = "Driftless-Time"

  /// The header field that changes with the values which the zone lacks. The check of an answer does not cover it: it says no
  /// more than that a question may be worth while.
  public static let lostField = "Driftless-Lost"

  /// The life of the log that the entries are of.
  public var generation: UUID
  /// The last sequence number of the log.
  public var head: UInt64
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64
  /// In the order of the log.
  public var entries: [Entry]
  /// What changes with the large values that the zone lacks (``SyncTransport/lostValues(of:after:)``); nil where it lacks none.
  public var lostValues: String?

  /// - Parameters:
  ///   - generation: The life of the log.
  ///   - head: The last sequence number of the log.
  ///   - serverTimeMilliseconds: The server's clock, in milliseconds since 1970.
  ///   - entries: In the order of the log.
  public init(
    generation: UUID, head: UInt64, serverTimeMilliseconds: UInt64, entries: [Entry]
  ) {
    self.generation = generation
    self.head = head
    self.serverTimeMilliseconds = serverTimeMilliseconds
    self.entries = entries
  }

  /// Reads the body of an answer to a pull.
  ///
  /// - Throws: `ProtocolError` when the bytes are cut, changed or not in the format: then nothing
  /// of the page counts.
  public init(
    body: Data, generation: UUID, head: UInt64, serverTimeMilliseconds: UInt64,
    limits: ChangeSetLimits = ChangeSetLimits()
  ) throws(ProtocolError) {
    guard head <= PullEntryHeader.numberMax else {
      throw .malformed("The page says that the zone's log has \(head) entries")
    }
    self.init(
      generation: generation, head: head, serverTimeMilliseconds: serverTimeMilliseconds,
      entries: try Self.entries(of: body, limits: limits))
  }

  /// The body of the answer.
  public var body: Data { Self.body(of: entries) }

  /// Reads entries of a log that follow each other.
  ///
  /// - Throws: `ProtocolError` when the bytes are cut, changed or not in the format.
  public static func entries(
    of body: Data, limits: ChangeSetLimits = ChangeSetLimits()
  ) throws(ProtocolError) -> [Entry] {
    var entries: [Entry] = []
    var rest = body[...]
    while !rest.isEmpty { entries.append(try Entry(readingFrom: &rest, limits: limits)) }
    return entries
  }

  /// Entries as bytes: the answer to a pull, and what a refill sends.
  public static func body(of entries: [Entry]) -> Data {
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
  /// | 4..<6 | version of the entry, 2 |
  /// | 6..<8 | flags: bit 0 = only the frame's first 192 bytes follow |
  /// | 8..<16 | sequence number |
  /// | 16..<24 | zone object number of the first new object |
  /// | 24..<40 | the log's chain at this entry |
  /// | 40..<44 | length of what follows the entry's header |
  /// | 44..<48 | CRC-32 (zlib) of bytes 0..<44 and of the frame's first 192 bytes |
  /// | 48... | the frame as it was pushed, byte for byte, or its first 192 bytes |
  ///
  /// The frame's header holds a digest of the rest of the frame, so the CRC need not cover it.
  public struct Entry: Hashable, Sendable {
    /// The length of what stands before the frame. Bytes.
    public static let headerSize = PullEntryHeader.size

    /// The sequence number.
    public var sequence: UInt64
    /// The zone object number of its first new object.
    public var firstObjectNumber: UInt64
    /// The log's chain at this entry.
    public var chain: LogChain
    /// Whether `frame` is only the frame's header, because the change set is the asking replica's
    /// own.
    public var isOwnHeaderOnly: Bool
    /// The frame as it was pushed, or its first 192 bytes.
    public var frame: Data

    /// What the zone gave a frame, and the frame.
    public init(
      sequence: UInt64, firstObjectNumber: UInt64, chain: LogChain, isOwnHeaderOnly: Bool,
      frame: Data
    ) {
      self.sequence = sequence
      self.firstObjectNumber = firstObjectNumber
      self.chain = chain
      self.isOwnHeaderOnly = isOwnHeaderOnly
      self.frame = frame
    }

    /// The place of the entry.
    public var mark: LogMark { LogMark(sequence: sequence, chain: chain) }

    /// Whether the entry follows a place of the log: number and chain say so.
    public func follows(_ place: LogMark) -> Bool {
      guard sequence > place.sequence, sequence - place.sequence == 1,
        let digest = ChangeSetHeader.storedDigest(of: frame)
      else { return false }
      return chain
        == place.chain.next(
          digest: digest, sequence: sequence, firstObjectNumber: firstObjectNumber)
    }

    /// The 48 bytes that stand before the frame: a server that streams sends them, then the frame.
    public var headerBytes: [UInt8] { PullEntryHeader(self).bytes }

    fileprivate init(
      readingFrom rest: inout Data.SubSequence, limits: ChangeSetLimits
    ) throws(ProtocolError) {
      let header = try PullEntryHeader(rest, limits: limits)
      let frame = rest.dropFirst(PullEntryHeader.size).prefix(header.length)
      self.init(
        sequence: header.sequence, firstObjectNumber: header.firstObjectNumber,
        chain: header.chain, isOwnHeaderOnly: header.isOwnHeaderOnly, frame: Data(frame))
      rest = rest.dropFirst(PullEntryHeader.size + header.length)
    }
  }
}
