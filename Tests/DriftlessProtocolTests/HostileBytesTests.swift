import DriftlessProtocol
import Foundation
import TestSupport
import Testing

/// Any bytes whatever give a change set or a `ProtocolError`, within the limits. (Seeds make each
/// failure come again.)
@Suite struct HostileBytesTests {
  /// Decodes; what is read must keep the laws, which the encoder checks.
  private func decode(
    _ bytes: Data, limits: ChangeSetLimits = ChangeSetLimits()
  ) -> ProtocolError.Code? {
    let changeSet: ChangeSet
    do {
      changeSet = try ChangeSetDecoder(limits: limits).decode(bytes)
    } catch {
      return error.code
    }
    #expect(throws: Never.self, "\(changeSet.index)") { try ChangeSetEncoder().encode(changeSet) }
    return nil
  }

  private func sealed(_ frame: Data, _ change: (inout Data) -> Void) -> Data {
    var frame = frame
    change(&frame)
    ChangeSetEncoder.seal(&frame)
    return frame
  }

  @Test("A frame cut at any length is refused", arguments: [0, 6] as [Int32])
  func truncated(level: Int32) throws {
    let frame = try ChangeSetEncoder(compressionLevel: level).encode(Samples.library)
    for length in 0..<frame.count {
      #expect(decode(frame.prefix(length)) != nil, "\(length) bytes")
    }
  }

  @Test("A frame with any one bit flipped is refused", arguments: [0, 6] as [Int32])
  func flipped(level: Int32) throws {
    let frame = try ChangeSetEncoder(compressionLevel: level).encode(Samples.library)
    for place in frame.indices {
      for bit in 0..<8 {
        var damaged = frame
        damaged[place] ^= 1 << UInt8(bit)
        #expect(decode(damaged) != nil, "bit \(bit) of byte \(place)")
      }
    }
  }

  @Test("A frame with any one bit flipped and a digest that fits never traps")
  func flippedAndSealed() throws {
    let frame = try ChangeSetEncoder(compressionLevel: 0).encode(Samples.library)
    var refused = 0
    for place in frame.indices {
      for bit in 0..<8 {
        let damaged = sealed(frame) { $0[place] ^= 1 << UInt8(bit) }
        refused += decode(damaged) == nil ? 0 : 1
      }
    }
    #expect(refused > frame.count)
  }

  @Test("Many bytes changed at random, with a digest that fits, never trap")
  func shaken() throws {
    let count = try (0..<40 as Range<UInt64>).reduce(0) { try $0 + taken(seed: $1) }
    #expect((1..<12_000).contains(count), "\(count) of 12,000")
  }

  /// How many of three hundred damaged frames are read.
  private func taken(seed: UInt64) throws -> Int {
    var taken = 0
    var numbers = SeededNumbers(seed: seed)
    let original = RandomChangeSet.make(seed: seed)
    let frame = try ChangeSetEncoder(compressionLevel: 0).encode(original)
    try #require(frame.count > ChangeSetHeader.size)
    for _ in 0..<300 {
      let damaged = sealed(frame) { frame in
        for _ in 0...numbers.number(below: 4) {
          let place =
            ChangeSetHeader.size + numbers.number(below: frame.count - ChangeSetHeader.size)
          frame[place] = numbers.chance(30) ? 255 : UInt8(numbers.number(below: 256))
        }
      }
      if decode(damaged) == nil { taken += 1 }
    }
    return taken
  }

  @Test("Random bytes behind a header that fits never trap", arguments: 0..<20 as Range<UInt64>)
  func randomSections(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    var refused = 0
    for _ in 0..<200 {
      let index = (0..<numbers.number(below: 60)).map { _ in UInt8(numbers.number(below: 256)) }
      let values = (0..<numbers.number(below: 60)).map { _ in UInt8(numbers.number(below: 256)) }
      refused += decode(try Frames.plain(index: index, values: values)) == nil ? 0 : 1
    }
    #expect(refused > 180)
  }

  @Test("Random bytes are refused", arguments: 0..<20 as Range<UInt64>)
  func random(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    for length in [0, 1, 191, 192, 193, 1_000, 100_000] {
      let bytes = Data((0..<length).map { _ in UInt8(numbers.number(below: 256)) })
      #expect(decode(bytes) != nil)
      #expect(decode(Data("DLCS".utf8) + bytes) != nil)
    }
  }

  // MARK: - Claims that are too large

  @Test("A section that says it inflates beyond the ratio is refused before it is inflated")
  func declaredBomb() throws {
    let frame = try Frames.compressed(index: [UInt8](repeating: 0, count: 30 << 20))
    #expect(frame.count < 100_000)
    #expect(decode(frame) == .tooLarge)
  }

  @Test("A section that inflates to more, or to less, than it says is refused")
  func lyingBomb() throws {
    let frame = try Frames.compressed(index: [UInt8](repeating: 0, count: 10 << 20))
    for raw in [500_000, 1_000_000] as [UInt32] {
      let lying = sealed(frame) { Frames.set(raw, at: 108, in: &$0) }
      #expect(decode(lying) == .damaged, "\(raw)")
    }
  }

  @Test("Junk after the end of a compressed section is refused")
  func junk() throws {
    var frame = try Frames.compressed(index: Array("the same the same the same the same".utf8))
    let stored = frame.count - ChangeSetHeader.size
    frame.append(7)
    let lying = sealed(frame) { Frames.set(UInt32(stored + 1), at: 104, in: &$0) }
    #expect(decode(lying) == .damaged)
  }

  @Test("Counts of billions in a few bytes are refused without the memory that they ask for")
  func counts() throws {
    // Protobuf by hand: field 6 is a group {kind, entity, properties, count, first}.
    let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0x0f]
    let sections: [[UInt8]] = [
      [0x20] + huge,  // known_count
      [0x12, 6, 0x10] + huge,  // new_objects.count
      [0x2a, 6, 0x08] + huge,  // transactions.count
      [0x32, 6, 0x20] + huge,  // groups.count
      [0x32, 12, 0x20] + huge + [0x28] + huge,  // groups.count, first
      [0x32, 9, 0x20] + huge + [0x1a, 1, 0],  // groups.count with a property
      [0x3a, 6, 0x18] + huge,  // relied.count
      [0x3a, 9, 0x18] + huge + [0x12, 1, 0],  // relied.count with a property
      [0x42, 6, 0x20] + huge,  // claims.count
      [0x4a, 6, 0x08] + huge,  // covered.count
      [0x52, 6, 0x08] + huge,  // tombstones.count
    ]
    for section in sections {
      try Memory.resetPeak()
      let before = Memory.peak()
      let code = decode(try Frames.plain(index: section, values: []))
      #expect(code == .tooLarge || code == .malformed, "\(section)")
      #expect(Memory.peak() - before < 200 << 20)
    }
  }

  @Test("Millions of empty messages are refused before they become objects")
  func messages() throws {
    for tag in [0x0a, 0x32, 0x3a, 0x42] as [UInt8] {
      let section = (0..<2_000_000).flatMap { _ in [tag, 0] as [UInt8] }
      #expect(decode(try Frames.plain(index: section, values: [])) == .tooLarge)
    }
    let names = (0..<200_000).flatMap { _ in [0x12, 0] as [UInt8] }
    let entity = [0x0a, 0x80, 0xb5, 0x18] + names  // length 400,000
    #expect(decode(try Frames.plain(index: entity, values: [])) == .tooLarge)
    let columns = (0..<2_000_000).flatMap { _ in [0x0a, 0] as [UInt8] }
    #expect(decode(try Frames.plain(index: [], values: columns)) == .malformed)
  }

  @Test("A frame with one object more than allowed is refused as too large")
  func tightLimits() throws {
    let changeSets = (0..<20).map { RandomChangeSet.make(seed: $0) }
      .filter { $0.index.objectCount > 0 }
    #expect(changeSets.count > 10)
    for changeSet in changeSets {
      var limits = ChangeSetLimits()
      limits.objectsMax = changeSet.index.objectCount - 1
      #expect(decode(try ChangeSetEncoder().encode(changeSet), limits: limits) == .tooLarge)
    }
  }

  @Test("Numbers and names that nothing has are refused")
  func impossibleNumbers() throws {
    func code(_ change: (inout ChangeSet) -> Void) throws -> ProtocolError.Code? {
      var changeSet = Samples.library
      change(&changeSet)
      do {
        return decode(try ChangeSetEncoder().encode(changeSet))
      } catch { return error.code }
    }
    #expect(try code { $0.index.knownNumbers[0] = 0 } == .malformed)
    #expect(try code { $0.index.knownNumbers[3] = 1 << 63 } == .malformed)
    #expect(try code { $0.index.covered = [.init(name: 0, isPartial: false)] } == .malformed)
    #expect(try code { $0.index.covered = [.init(name: 1, isPartial: false)] } == nil)
  }
}
