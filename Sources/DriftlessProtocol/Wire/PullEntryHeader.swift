import Foundation

/// The 48 bytes before each frame of a page; `PullPage.Entry` documents them.
struct PullEntryHeader {
  static let size = 48
  /// What the checksum covers of them.
  private static let coveredSize = 44
  private static let magic: UInt32 = 0x454c_4c44  // "DLLE"
  private static let version: UInt16 = 2
  private static let ownHeaderOnlyFlag: UInt16 = 1

  let sequence: UInt64
  let firstObjectNumber: UInt64
  let chain: LogChain
  let isOwnHeaderOnly: Bool
  let length: Int
  /// Bytes 0..<44.
  private let covered: [UInt8]
  let checksum: UInt32

  init(_ entry: PullPage.Entry) {
    sequence = entry.sequence
    firstObjectNumber = entry.firstObjectNumber
    chain = entry.chain
    isOwnHeaderOnly = entry.isOwnHeaderOnly
    length = entry.frame.count
    var writer = ByteWriter(capacity: Self.size)
    writer.append(Self.magic)
    writer.append(Self.version)
    writer.append(entry.isOwnHeaderOnly ? Self.ownHeaderOnlyFlag : 0)
    writer.append(sequence)
    writer.append(firstObjectNumber)
    writer.append(contentsOf: chain.bytes)
    writer.append(UInt32(clamping: length))
    covered = writer.bytes
    checksum = Self.checksum(covered, frame: entry.frame)
  }

  /// The largest number of an entry or an object that a zone can have: what is kept is kept in 64 bits with a sign, and is added to.
  static let numberMax = UInt64(Int64.max) >> 1

  /// - Throws: `ProtocolError` when `data` does not begin with a whole entry.
  init(_ data: Data.SubSequence, limits: ChangeSetLimits) throws(ProtocolError) {
    guard data.count >= Self.size else {
      throw .damaged("The page ends within the header of a log entry")
    }
    covered = Array(data.prefix(Self.coveredSize))
    checksum = data.dropFirst(Self.coveredSize).prefix(4).enumerated()
      .reduce(0) { $0 | UInt32($1.element) << UInt32(8 * $1.offset) }
    // Before anything of it is believed, a length above all.
    let frameHeader = Data(data.dropFirst(Self.size).prefix(ChangeSetHeader.size))
    guard frameHeader.count == ChangeSetHeader.size else {
      throw .damaged("The page ends within a log entry")
    }
    guard checksum == Self.checksum(covered, frame: frameHeader) else {
      throw .damaged("The checksum of a log entry does not fit")
    }
    var reader = ByteReader(covered)
    guard try reader.next(UInt32.self) == Self.magic else {
      throw .malformed("A log entry does not begin with its magic number")
    }
    let version = try reader.next(UInt16.self)
    let flags = try reader.next(UInt16.self)
    guard version == Self.version, flags <= Self.ownHeaderOnlyFlag else {
      throw ProtocolError(
        .unsupported, "The log entry is of version \(version), flags \(flags)",
        suggestion: "Update this program.")
    }
    isOwnHeaderOnly = flags == Self.ownHeaderOnlyFlag
    sequence = try reader.next(UInt64.self)
    firstObjectNumber = try reader.next(UInt64.self)
    // Both count from 1.
    guard (1...Self.numberMax).contains(sequence), (1...Self.numberMax).contains(firstObjectNumber)
    else {
      throw .malformed(
        "A log entry says that it is number \(sequence), with objects from \(firstObjectNumber) on")
    }
    guard let chain = LogChain(bytes: try reader.next(count: LogChain.size)) else {
      throw .damaged("The page ends within the header of a log entry")
    }
    self.chain = chain
    let length = Int(try reader.next(UInt32.self))
    guard length <= limits.frameBytesMax else {
      throw .tooLarge("Log entry \(sequence) has \(length) bytes (frameBytesMax)")
    }
    guard length >= ChangeSetHeader.size, !isOwnHeaderOnly || length == ChangeSetHeader.size else {
      throw .malformed("Log entry \(sequence) has \(length) bytes")
    }
    guard data.count - Self.size >= length else {
      throw .damaged("The page ends within log entry \(sequence)")
    }
    self.length = length
  }

  var bytes: [UInt8] {
    covered + withUnsafeBytes(of: checksum.littleEndian) { Array($0) }
  }

  private static func checksum(_ covered: [UInt8], frame: Data) -> UInt32 {
    Zlib.crc32(of: covered + frame.prefix(ChangeSetHeader.size))
  }
}
