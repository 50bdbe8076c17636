import Foundation
import Testing

@testable import DriftlessProtocol

/// Bytes that say that they are a segment, and are none.
struct SegmentTests {
  private func bytes(
    _ places: SegmentPlaces, frames: [Data] = [Data([1])], first: UInt64 = 1, end: UInt64 = 2
  ) throws -> Data {
    try SegmentBytes(
      content: .objects, isDelta: false, first: first, end: end, generation: UUID(),
      places: places.encoded(first: first), frames: frames
    ).encoded(ChangeSetEncoder(limits: .segment, compressionLevel: 0))
  }

  private func places(_ data: Data) throws -> SegmentPlaces {
    try LayerCursor.places(of: SegmentBytes(data, limits: .segment), firstBorn: 1)
  }

  @Test("A segment without change sets is refused")
  func noFrames() throws {
    let data = try bytes(SegmentPlaces(), frames: [])
    let error = #expect(throws: ProtocolError.self) { try SegmentBytes(data, limits: .segment) }
    #expect(error?.code == .malformed)
  }

  @Test("A run of as many objects as a few bytes can say takes no room", arguments: [true, false])
  func endless(isDead: Bool) throws {
    var places = SegmentPlaces()
    let run = SegmentPlaces.Run(first: 1, count: 1 << 50)
    places.replicas = [UUID()]
    places.pushed = [[.init(replica: 0, sequence: 1)]]
    if isDead {
      places.entities = ["Item"]
      places.dead = [
        .init(run: run, entity: 0, isGiven: false, identity: UUID(), maker: 1, transaction: 0)
      ]
    } else {
      places.numbers = [run]
    }
    let data = try bytes(places, end: 1 + (1 << 50))
    let error = #expect(throws: ProtocolError.self) { try self.places(data) }
    #expect(error?.code == .tooLarge)
  }

  @Test("Numbers that go over the largest one are refused")
  func overflowing() throws {
    var places = SegmentPlaces()
    places.numbers = [.init(first: 1, count: 1), .init(first: .max, count: 1)]
    places.pushed = [[]]
    let data = try bytes(places)
    #expect(throws: ProtocolError.self) { try self.places(data) }
  }

  @Test(
    "Any one bit of a segment's header changed gives a segment or an error, and takes no more room")
  func flipped() throws {
    var places = SegmentPlaces()
    places.numbers = [.init(first: 1, count: 1)]
    places.pushed = [[]]
    let whole = try bytes(places)
    var refused = 0
    for place in whole.indices {
      for bit in 0..<8 {
        var damaged = whole
        damaged[place] ^= 1 << UInt8(bit)
        do {
          _ = try self.places(damaged)
        } catch is ProtocolError { refused += 1 }
      }
    }
    #expect(refused > 100)
  }
}
