import Crypto
import Foundation

extension ChangeSetHeader {
  static let digestSize = 16
  static let digestStart = size - digestSize
  private static let magic: UInt32 = 0x5343_4c44  // "DLCS"
  private static let formatVersion: UInt16 = 1
  private static let plainIndexFlag: UInt16 = 1
  private static let plainValuesFlag: UInt16 = 2

  /// Bytes 0..<112: all but the digest. Sizes were checked against the limits, so they fit.
  var encodedFields: [UInt8] {
    var flags: UInt16 = 0
    if !indexSize.isCompressed { flags |= Self.plainIndexFlag }
    if !valuesSize.isCompressed { flags |= Self.plainValuesFlag }
    var writer = ByteWriter(capacity: Self.size)
    writer.append(Self.magic)
    writer.append(Self.formatVersion)
    writer.append(flags)
    writer.append(replica)
    writer.append(incarnation)
    writer.append(UInt32(0))
    writer.append(pushNumber)
    writer.append(cursor.generation)
    writer.append(cursor.sequence)
    for size in [indexSize, valuesSize] {
      writer.append(UInt32(clamping: size.stored))
      writer.append(UInt32(clamping: size.raw))
    }
    writer.append(UInt32(clamping: objectCount))
    writer.append(UInt32(clamping: newObjectCount))
    writer.append(contentsOf: repeatElement(0, count: 24))
    return writer.bytes
  }

  /// The digest that a frame of these bytes has.
  static func digest(of frame: Data) -> Data {
    var hash = SHA256()
    hash.update(data: frame.prefix(digestStart))
    hash.update(data: frame.dropFirst(size))
    return Data(hash.finalize().prefix(digestSize))
  }

  /// - Parameter bytes: 128 of them.
  init(decoding bytes: [UInt8]) throws(ProtocolError) {
    var reader = ByteReader(bytes)
    guard try reader.next(UInt32.self) == Self.magic else {
      throw .malformed("The bytes do not begin with the magic number of a change set")
    }
    let version = try reader.next(UInt16.self)
    let flags = try reader.next(UInt16.self)
    guard version == Self.formatVersion, flags <= Self.plainIndexFlag | Self.plainValuesFlag else {
      throw ProtocolError(
        .unsupported, "The change set is of format version \(version), flags \(flags)",
        suggestion: "Update this program: it reads version \(Self.formatVersion).")
    }
    let replica = try reader.nextUUID()
    let incarnation = try reader.next(UInt32.self)
    guard try reader.next(UInt32.self) == 0 else { throw Self.reserved }
    let pushNumber = try reader.next(UInt64.self)
    let generation = try reader.nextUUID()
    let sequence = try reader.next(UInt64.self)
    self.init(
      replica: replica, incarnation: incarnation, pushNumber: pushNumber,
      cursor: Cursor(generation: generation, sequence: sequence))
    indexSize = try Self.sectionSize(&reader, isPlain: flags & Self.plainIndexFlag != 0)
    valuesSize = try Self.sectionSize(&reader, isPlain: flags & Self.plainValuesFlag != 0)
    objectCount = Int(try reader.next(UInt32.self))
    newObjectCount = Int(try reader.next(UInt32.self))
    guard try reader.next(count: 24).allSatisfy({ $0 == 0 }) else { throw Self.reserved }
    digest = Data(try reader.next(count: Self.digestSize))
  }

  /// - Throws: `ProtocolError` (`.tooLarge`, `.malformed`) when the numbers pass a limit or cannot
  /// be.
  func check(_ limits: ChangeSetLimits) throws(ProtocolError) {
    guard pushNumber > 0 else { throw .malformed("The push number is 0; numbers begin at 1") }
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

  private static var reserved: ProtocolError {
    ProtocolError(
      .unsupported, "The header of the change set uses bytes that are reserved",
      suggestion: "Update this program.")
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

extension ByteReader {
  mutating func nextUUID() throws(ProtocolError) -> UUID {
    UUID(bytes: try next(count: 16))
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
