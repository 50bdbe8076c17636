import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@Suite struct PullPageTests {
  private func page() throws -> PullPage {
    let frame = try ChangeSetEncoder().encode(Samples.library)
    return PullPage(
      generation: Samples.generation, head: 9, serverTimeMilliseconds: 5,
      entries: [
        .init(
          sequence: 7, firstObjectNumber: 100, chain: Samples.chain, isOwnHeaderOnly: false,
          frame: frame),
        .init(
          sequence: 8, firstObjectNumber: 104, chain: .start(generation: Samples.imported),
          isOwnHeaderOnly: true, frame: frame.prefix(ChangeSetHeader.size)),
        .init(
          sequence: UInt64(Int64.max) >> 1, firstObjectNumber: UInt64(Int64.max) >> 1,
          chain: Samples.chain,
          isOwnHeaderOnly: false, frame: frame),
      ])
  }

  private func parsed(_ body: Data) throws(ProtocolError) -> PullPage {
    try PullPage(
      body: body, generation: Samples.generation, head: 9, serverTimeMilliseconds: 5)
  }

  @Test("A page comes back as it was, its frames byte for byte")
  func roundTrip() throws {
    let page = try page()
    #expect(try parsed(page.body) == page)
    #expect(try parsed(Data()).entries.isEmpty)
  }

  @Test("A server may send each entry's header and frame by itself")
  func pieces() throws {
    let page = try page()
    let body = page.entries.reduce(into: Data()) { $0 += Data($1.headerBytes) + $1.frame }
    #expect(body == page.body)
    #expect(page.entries.allSatisfy { $0.headerBytes.count == 48 })
  }

  @Test("A page cut anywhere but between entries is refused")
  func truncated() throws {
    let page = try page()
    let body = page.body
    var ends: Set<Int> = [0]
    for entry in page.entries { ends.insert((ends.max() ?? 0) + 48 + entry.frame.count) }
    for length in 0..<body.count where !ends.contains(length) {
      #expect(throws: ProtocolError.self) { try parsed(body.prefix(length)) }
    }
  }

  @Test(
    "F25 A bit flipped in an entry or in its frame's header is refused; behind it, the frame refuses it"
  )
  func flipped() throws {
    let body = try page().body
    for place in 0..<240 {
      for bit in 0..<8 {
        var damaged = body
        damaged[place] ^= 1 << UInt8(bit)
        #expect(throws: ProtocolError.self, "bit \(bit) of byte \(place)") { try parsed(damaged) }
      }
    }
    var damaged = body
    damaged[280] ^= 1
    let page = try parsed(damaged)
    #expect(throws: ProtocolError.self) { try ChangeSetDecoder().decode(page.entries[0].frame) }
  }

  @Test("Random bytes are refused", arguments: 1..<50 as Range<UInt64>)
  func random(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    let bytes = Data((0..<Int(seed) * 7).map { _ in UInt8(numbers.number(below: 256)) })
    #expect(throws: ProtocolError.self) { try parsed(bytes) }
    #expect(throws: ProtocolError.self) { try parsed(Data("DLLE".utf8) + bytes) }
  }

  @Test(
    "An entry at a place, or with an object number, that no log has is refused",
    arguments: [(0, 1), (1, 0), (1 << 63, 1), (1, .max)] as [(UInt64, UInt64)])
  func noNumber(sequence: UInt64, object: UInt64) throws {
    var page = try page()
    page.entries[0].sequence = sequence
    page.entries[0].firstObjectNumber = object
    let body = page.body
    let error = #expect(throws: ProtocolError.self) { try parsed(body) }
    #expect(error?.code == .malformed)
  }

  @Test("An entry longer than the limit is refused as too large")
  func tooLarge() throws {
    var limits = ChangeSetLimits()
    limits.frameBytesMax = 300
    let body = try page().body
    let error = #expect(throws: ProtocolError.self) {
      try PullPage(
        body: body, generation: Samples.generation, head: 9, serverTimeMilliseconds: 5,
        limits: limits)
    }
    #expect(error?.code == .tooLarge)
  }

  @Test("A head that no zone can have is refused")
  func impossibleHead() throws {
    for head in [UInt64.max, 1 << 63, 1 << 62] {
      let error = #expect(throws: ProtocolError.self) {
        try PullPage(
          body: Data(), generation: Samples.generation, head: head, serverTimeMilliseconds: 5)
      }
      #expect(error?.code == .malformed)
    }
  }
}
