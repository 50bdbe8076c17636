import Crypto
package import Foundation

extension ChangeSetHeader {
  static let digestSize = 16
  static let digestStart = size - digestSize
  /// Where the header says which part of its push it is.
  static let partStart = 130
  private static let magic: UInt32 = 0x5343_4c44  // "DLCS"
  private static let formatVersion: UInt16 = 2
  private static let plainIndexFlag: UInt32 = 1
  private static let plainValuesFlag: UInt32 = 2
  static let partFlag: UInt32 = 4
  private static let largeValuesFlag: UInt32 = 8
  /// Where the required flags stand.
  static let flagsStart = 8
  /// Where a part has the digest of the one before it.
  static let digestBeforeStart = 160
  private static let massDeleteIsMeantFlag: UInt32 = 1

  /// Bytes 0..<176: all but the digest. Sizes were checked against the limits, so they fit.
  var encodedFields: [UInt8] {
    var required: UInt32 = 0
    if !indexSize.isCompressed { required |= Self.plainIndexFlag }
    if !valuesSize.isCompressed { required |= Self.plainValuesFlag }
    if parts > 1 { required |= Self.partFlag }
    if namesLargeValues { required |= Self.largeValuesFlag }
    var writer = ByteWriter(capacity: Self.size)
    writer.append(Self.magic)
    writer.append(Self.formatVersion)
    writer.append(UInt16(Self.size))
    writer.append(required)
    writer.append(massDeleteIsMeant ? Self.massDeleteIsMeantFlag : 0)
    writer.append(replica)
    writer.append(pushNumber)
    writer.append(cursor.generation)
    writer.append(cursor.sequence)
    writer.append(contentsOf: cursor.chain.bytes)
    writer.append(mark?.sequence ?? 0)
    writer.append(contentsOf: mark?.chain.bytes ?? Data(count: LogChain.size))
    for size in [indexSize, valuesSize] {
      writer.append(UInt32(clamping: size.stored))
      writer.append(UInt32(clamping: size.raw))
    }
    writer.append(UInt32(clamping: objectCount))
    writer.append(UInt32(clamping: newObjectCount))
    writer.append(formatLevel)
    writer.append(part)
    writer.append(parts)
    writer.append(pushMebibytes)
    writer.append(contentsOf: repeatElement(0, count: Self.digestBeforeStart - writer.bytes.count))
    writer.append(contentsOf: digestBefore ?? Data(count: Self.digestSize))
    return writer.bytes
  }

  /// The digest that a frame of these bytes has.
  package static func digest(of frame: Data) -> Data {
    var hash = SHA256()
    hash.update(data: frame.prefix(digestStart))
    hash.update(data: frame.dropFirst(size))
    return Data(hash.finalize().prefix(digestSize))
  }

  /// - Parameter bytes: 192 of them.
  init(decoding bytes: [UInt8]) throws(ProtocolError) {
    var reader = ByteReader(bytes)
    guard try reader.next(UInt32.self) == Self.magic else {
      throw .malformed("The bytes do not begin with the magic number of a change set")
    }
    let version = try reader.next(UInt16.self)
    guard version == Self.formatVersion else {
      throw .unsupported("The change set is of format version \(version)")
    }
    let headerSize = Int(try reader.next(UInt16.self))
    let required = try reader.next(UInt32.self)
    let known =
      Self.plainIndexFlag | Self.plainValuesFlag | Self.partFlag | Self.largeValuesFlag
    guard required & ~known == 0 else {
      throw .unsupported("The change set needs what its flags \(required) stand for")
    }
    let optional = try reader.next(UInt32.self)
    let replica = try reader.nextUUID()
    let pushNumber = try reader.next(UInt64.self)
    let generation = try reader.nextUUID()
    let cursor = try reader.nextMark()
    let mark = try reader.nextMark()
    self.init(
      replica: replica, pushNumber: pushNumber,
      cursor: Cursor(generation: generation, sequence: cursor.sequence, chain: cursor.chain),
      mark: mark == LogMark.unshown ? nil : mark,
      massDeleteIsMeant: optional & Self.massDeleteIsMeantFlag != 0)
    self.headerSize = headerSize
    indexSize = try Self.sectionSize(&reader, isPlain: required & Self.plainIndexFlag != 0)
    valuesSize = try Self.sectionSize(&reader, isPlain: required & Self.plainValuesFlag != 0)
    namesLargeValues = required & Self.largeValuesFlag != 0
    objectCount = Int(try reader.next(UInt32.self))
    newObjectCount = Int(try reader.next(UInt32.self))
    formatLevel = try reader.next(UInt16.self)
    part = try reader.next(UInt16.self)
    parts = try reader.next(UInt16.self)
    pushMebibytes = try reader.next(UInt16.self)
    guard (required & Self.partFlag != 0) == (parts > 1) else {
      throw .malformed("The flags and the number of parts, \(parts), contradict each other")
    }
    _ = try reader.next(count: Self.digestBeforeStart - reader.position)
    let before = Data(try reader.next(count: Self.digestSize))
    digestBefore = part > 1 ? before : nil
    digest = Data(try reader.next(count: Self.digestSize))
  }

  /// - Throws: `ProtocolError` (`.tooLarge`, `.malformed`) when the numbers pass a limit or cannot
  /// be.
  func check(_ limits: ChangeSetLimits) throws(ProtocolError) {
    guard headerSize >= Self.size else {
      throw .malformed("The header has \(headerSize) bytes, fewer than \(Self.size)")
    }
    guard pushNumber > 0 else { throw .malformed("The push number is 0; numbers begin at 1") }
    guard pushNumber <= UInt64(Int64.max) else {
      throw .malformed("The push number \(pushNumber) has more than 63 bits")
    }
    guard part > 0, part <= parts else {
      throw .malformed("The change set is part \(part) of \(parts)")
    }
    guard frameSize <= limits.frameBytesMax else {
      throw .tooLarge("The change set has \(frameSize) bytes (frameBytesMax)")
    }
    guard indexSize.raw <= limits.indexBytesMax else {
      throw .tooLarge("The index section has \(indexSize.raw) bytes (indexBytesMax)")
    }
    guard valuesSize.raw <= limits.valuesBytesMax else {
      throw .tooLarge("The values section has \(valuesSize.raw) bytes (valuesBytesMax)")
    }
    guard objectCount <= limits.objectsMax else {
      throw .tooLarge("The change set has \(objectCount) objects (objectsMax)")
    }
    guard newObjectCount <= objectCount else {
      throw .malformed("The header counts more new objects than objects")
    }
    for size in [indexSize, valuesSize] {
      guard size.isCompressed ? size.stored < size.raw : size.stored == size.raw else {
        throw .malformed("The header's lengths of a section contradict each other")
      }
      guard !size.isCompressed || limits.allows(inflating: size.stored, to: size.raw) else {
        throw .tooLarge(
          "A section of \(size.stored) bytes would inflate to \(size.raw) (inflationRatioMax)")
      }
    }
  }

  private static func sectionSize(
    _ reader: inout ByteReader, isPlain: Bool
  ) throws(ProtocolError) -> SectionSize {
    let stored = Int(try reader.next(UInt32.self))
    let raw = Int(try reader.next(UInt32.self))
    return SectionSize(stored: stored, raw: raw, isCompressed: !isPlain)
  }
}

extension ChangeSetLimits {
  func allows(inflating stored: Int, to raw: Int) -> Bool {
    raw <= inflationRatioFreeBytes || raw / inflationRatioMax <= stored
  }
}

extension ByteWriter {
  mutating func append(_ uuid: UUID) {
    withUnsafeBytes(of: uuid.uuid) { append(contentsOf: $0) }
  }
}

extension LogMark {
  /// What a header has in place of a mark that is not shown. That of who has no entry in the log is the log's beginning.
  fileprivate static let unshown: LogMark? = LogChain(bytes: Data(count: LogChain.size)).map {
    LogMark(sequence: 0, chain: $0)
  }
}

extension ByteReader {
  mutating func nextUUID() throws(ProtocolError) -> UUID {
    UUID(bytes: try next(count: 16))
  }

  /// A sequence number and a chain.
  mutating func nextMark() throws(ProtocolError) -> LogMark {
    let sequence = try next(UInt64.self)
    guard let chain = LogChain(bytes: try next(count: LogChain.size)) else {
      throw .damaged("The bytes end too early")
    }
    return LogMark(sequence: sequence, chain: chain)
  }
}

extension UUID {
  /// - Parameter bytes: 16 of them; any other number gives zeros for those that are missing.
  init(bytes: ArraySlice<UInt8>) {
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes.prefix(16)) }
    self.init(uuid: uuid)
  }
}
