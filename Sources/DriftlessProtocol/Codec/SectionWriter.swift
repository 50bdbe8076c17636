import Foundation

/// Takes the bytes of a section as they are made: compressed at once, so that they are not in memory whole.
struct SectionWriter {
  private let deflater: Deflater?
  private var plain: [UInt8] = []

  /// - Parameter level: zlib's; 0 leaves the section plain.
  init(level: Int32) { deflater = level == 0 ? nil : Deflater(level: level) }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if let deflater { deflater.append(bytes) } else { plain.append(contentsOf: bytes) }
  }

  /// A section as it is stored.
  struct Section {
    var size: ChangeSetHeader.SectionSize
    var pieces: [[UInt8]]
  }

  /// - Returns: The section, plain where that is shorter, or where it compresses so well that a reader would take it for a
  ///   bomb.
  func finish(_ limits: ChangeSetLimits) throws(ProtocolError) -> Section {
    guard let deflater else {
      return Section(
        size: .init(stored: plain.count, raw: plain.count, isCompressed: false), pieces: [plain])
    }
    guard deflater.finish() else { throw .tooLarge("A section cannot be compressed") }
    let (raw, stored) = (deflater.inputCount, deflater.outputCount)
    if stored < raw, raw < Int32.max, limits.allows(inflating: stored, to: raw) {
      return Section(
        size: .init(stored: stored, raw: raw, isCompressed: true), pieces: deflater.pieces)
    }
    // The header refuses what is so large.
    guard raw < Int32.max else {
      return Section(size: .init(stored: raw, raw: raw, isCompressed: false), pieces: [])
    }
    let stream = Array(deflater.pieces.joined())
    var plain: [UInt8] = []
    if raw > 0 {
      let inflated: Result<[UInt8], ProtocolError> = stream.withUnsafeBytes { bytes in
        do throws(ProtocolError) {
          return .success(try Zlib.inflate(bytes, size: raw))
        } catch { return .failure(error) }
      }
      plain = try inflated.get()
    }
    return Section(size: .init(stored: raw, raw: raw, isCompressed: false), pieces: [plain])
  }
}
