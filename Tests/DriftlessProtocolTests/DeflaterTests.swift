import Foundation
import Testing

@testable import DriftlessProtocol

/// Sections that are compressed as they are made.
struct DeflaterTests {
  /// The same numbers in every run.
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  private func stream(of bytes: [UInt8], in pieces: [Int]) -> [UInt8] {
    let deflater = Deflater(level: 6)
    var start = 0
    for size in pieces + [bytes.count] {
      let end = min(bytes.count, start + size)
      bytes[start..<end].withUnsafeBytes { deflater.append($0) }
      start = end
    }
    #expect(deflater.finish())
    #expect(deflater.inputCount == bytes.count)
    let stream = Array(deflater.pieces.joined())
    #expect(stream.count == deflater.outputCount)
    return stream
  }

  @Test(
    "A stream is the same however its bytes come, and inflates to them",
    arguments: [0, 1, 1000, 300_000, 2_000_000])
  func pieces(size: Int) throws {
    var random = Numbers(state: UInt64(size))
    // Compressible in part, and more than one piece of output.
    let bytes = (0..<size).map { place in
      place / 5000 % 2 == 0
        ? UInt8.random(in: 0...255, using: &random) : UInt8(truncatingIfNeeded: place / 7)
    }
    let whole = stream(of: bytes, in: [])
    for _ in 0..<4 {
      let pieces = (0..<200).map { _ in Int.random(in: 0...max(1, size / 50), using: &random) }
      #expect(stream(of: bytes, in: pieces) == whole)
    }
    #expect(try whole.withUnsafeBytes { try Zlib.inflate($0, size: size) } == bytes)
  }

  @Test("A section that would pass for a bomb is stored as it is")
  func bomb() throws {
    var writer = SectionWriter(level: 6)
    let zeros = [UInt8](repeating: 0, count: 3 << 20)
    zeros.withUnsafeBytes { writer.append($0) }
    let section = try writer.finish(ChangeSetLimits())
    #expect(!section.size.isCompressed)
    #expect(section.size.stored == zeros.count)
    #expect(Array(section.pieces.joined()) == zeros)
  }

  @Test("A section is read in pieces of any size as it was written", arguments: [0, 6])
  func readInPieces(level: Int32) throws {
    var random = Numbers(state: 7)
    let bytes = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 / 900 ^ $0 % 3) }
    var writer = SectionWriter(level: level)
    bytes.withUnsafeBytes { writer.append($0) }
    let section = try writer.finish(ChangeSetLimits())
    let stored = Array(section.pieces.joined())
    try stored.withUnsafeBytes { stored in
      var reader = SectionReader(stored, section.size)
      var read: [UInt8] = []
      while reader.left > 0 {
        if Bool.random(using: &random) {
          read.append(try #require(try reader.nextByte()))
        } else {
          read += try reader.next(min(reader.left, Int.random(in: 0...90_000, using: &random)))
        }
      }
      #expect(read == bytes)
      #expect(try reader.nextByte() == nil)
      try reader.finish()
    }
  }

  @Test("A stream of another length than the header says is damaged")
  func otherLength() throws {
    let bytes = [UInt8](repeating: 5, count: 100_000)
    let stream = stream(of: bytes, in: [])
    func read(_ stored: [UInt8], raw: Int) throws {
      try stored.withUnsafeBytes { stored in
        var reader = SectionReader(
          stored, .init(stored: stored.count, raw: raw, isCompressed: true))
        _ = try reader.next(raw)
        try reader.finish()
      }
    }
    try read(stream, raw: bytes.count)
    for (stored, raw) in [
      (stream, bytes.count - 1), (stream, bytes.count + 1), (stream + [0], bytes.count),
      (Array(stream.dropLast()), bytes.count), (Array(stream.dropLast(9)), bytes.count),
    ] {
      let error = #expect(throws: ProtocolError.self) { try read(stored, raw: raw) }
      #expect(error?.code == .damaged)
    }
  }
}
