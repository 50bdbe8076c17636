import Crypto
import Foundation

/// A segment: a part of a snapshot, as it lies in its file.
///
/// | bytes | what (numbers little-endian) |
/// |---|---|
/// | 0..<4 | magic `DLSG` |
/// | 4..<6 | version, 1 |
/// | 6..<8 | 1: objects, 2: notes |
/// | 8..<10 | 0: of a base, 1: of a delta |
/// | 10..<12 | how many change sets |
/// | 12..<16 | length of the places as they stand in the file |
/// | 16..<20 | … and inflated; equal: they stand plain |
/// | 20..<24 | 0 |
/// | 24..<32 | number of the first object that it may have |
/// | 32..<40 | number behind the last one |
/// | 40..<56 | generation, a UUID |
/// | 56... | length of each change set, 4 bytes; the places (`SegmentPlaces`); the change sets (`ChangeSetHeader`) |
struct SegmentBytes {
  enum Content: UInt16 { case objects = 1, notes }

  var content: Content
  var isDelta: Bool
  var first: UInt64
  var end: UInt64
  var generation: UUID
  var places: [UInt8]
  var frames: [Data]

  private static let magic: UInt32 = 0x4753_4c44  // "DLSG"
  private static let version: UInt16 = 1
  private static let headerSize = 56

  func encoded(_ encoder: ChangeSetEncoder) throws(ProtocolError) -> Data {
    var section = SectionWriter(level: encoder.compressionLevel)
    places.withUnsafeBytes { section.append($0) }
    let stored = try section.finish(encoder.limits)
    var writer = ByteWriter(capacity: Self.headerSize + 4 * frames.count)
    writer.append(Self.magic)
    writer.append(Self.version)
    writer.append(content.rawValue)
    writer.append(UInt16(isDelta ? 1 : 0))
    writer.append(UInt16(clamping: frames.count))
    writer.append(UInt32(clamping: stored.size.stored))
    writer.append(UInt32(clamping: stored.size.raw))
    writer.append(UInt32(0))
    writer.append(first)
    writer.append(end)
    writer.append(generation)
    for frame in frames { writer.append(UInt32(clamping: frame.count)) }
    var data = Data(writer.bytes)
    for piece in stored.pieces { data.append(contentsOf: piece) }
    for frame in frames { data.append(frame) }
    return data
  }

  init(
    content: Content, isDelta: Bool, first: UInt64, end: UInt64, generation: UUID,
    places: [UInt8], frames: [Data]
  ) {
    self.content = content
    self.isDelta = isDelta
    self.first = first
    self.end = end
    self.generation = generation
    self.places = places
    self.frames = frames
  }

  /// - Throws: `ProtocolError` when the bytes are no segment.
  init(_ data: Data, limits: ChangeSetLimits) throws(ProtocolError) {
    var reader = ByteReader(Array(data.prefix(Self.headerSize)))
    guard try reader.next(UInt32.self) == Self.magic else {
      throw .malformed("The bytes do not begin with the magic number of a segment")
    }
    let version = try reader.next(UInt16.self)
    guard version == Self.version, let content = Content(rawValue: try reader.next(UInt16.self))
    else { throw .unsupported("The segment is of version \(version), or holds something newer") }
    self.content = content
    isDelta = try reader.next(UInt16.self) == 1
    let count = Int(try reader.next(UInt16.self))
    guard count > 0 else { throw .malformed("The segment has no change sets") }
    let stored = Int(try reader.next(UInt32.self))
    let raw = Int(try reader.next(UInt32.self))
    _ = try reader.next(UInt32.self)
    first = try reader.next(UInt64.self)
    end = try reader.next(UInt64.self)
    generation = try reader.nextUUID()
    guard raw <= limits.indexBytesMax, stored <= raw else {
      throw .tooLarge("The places of the segment have \(raw) bytes (indexBytesMax)")
    }
    let rest = data.dropFirst(Self.headerSize)
    var lengths = ByteReader(Array(rest.prefix(4 * count)))
    var start = rest.startIndex + 4 * count
    func next(_ length: Int) throws(ProtocolError) -> Data {
      guard length >= 0, length <= data.endIndex - start else {
        throw .damaged("The segment ends too early")
      }
      defer { start += length }
      return Data(data[start..<start + length])
    }
    places = try Self.inflated(next(stored), raw)
    frames = []
    for _ in 0..<count { frames.append(try next(Int(try lengths.next(UInt32.self)))) }
    guard start == data.endIndex else { throw .damaged("Bytes stand behind the segment") }
  }

  private static func inflated(_ stored: Data, _ raw: Int) throws(ProtocolError) -> [UInt8] {
    guard stored.count < raw else { return Array(stored) }
    let inflated: Result<[UInt8], ProtocolError> = stored.withUnsafeBytes { bytes in
      do throws(ProtocolError) {
        return .success(try Zlib.inflate(bytes, size: raw))
      } catch { return .failure(error) }
    }
    return try inflated.get()
  }

  /// What a file of these bytes is named.
  static func name(of data: Data) -> String {
    SHA256.hash(data: data).map {
      let digits = String($0, radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }.joined()
  }
}

extension ChangeSetLimits {
  /// What a segment may have: as much as its bytes let it, since an object is never cut.
  static var segment: ChangeSetLimits {
    var limits = ChangeSetLimits()
    limits.objectsMax = 8_000_000
    limits.frameBytesMax = 512 << 20
    limits.indexBytesMax = 256 << 20
    limits.valuesBytesMax = 512 << 20
    limits.valueRowBytesMax = .max
    return limits
  }
}
