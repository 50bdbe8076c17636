import DriftlessProtocol
import DriftlessServer
import Foundation
import TestSupport
import Testing

@Suite("The form of a push")
struct FormCheckTests {
  private static let generation = UUID()

  /// A plain frame with columns of several kinds.
  private static func frame() throws -> Data {
    var index = ChangeSetIndex()
    index.entities = [
      .init(name: "Box", properties: ["title", "count", "when", "data", "next", "tags", "code"])
    ]
    index.newObjects = [.init(entity: 0, identities: .range(first: UUID(), count: 4))]
    index.transactions = [.init(name: 1, hybridTime: 1 << 16)]
    index.groups = [
      .init(
        kind: .insert, entity: 0, properties: Array(0..<7), objects: ObjectIndexes(0..<4),
        transactionRuns: [.init(transaction: 0, count: 4)])
    ]
    var bytes = ByteRows()
    for row in 0..<4 { bytes.append(Data([UInt8(row), 255])) }
    var tags = ElementRows()
    for row in 0..<4 as Range<Int32> { tags.append(added: [row], removed: [3 - row]) }
    return try ChangeSetEncoder(compressionLevel: 0).encode(
      ChangeSet(
        header: ChangeSetHeader(
          replica: UUID(), pushNumber: 1, cursor: .start(generation: generation)),
        index: index,
        columns: [
          Column(.strings(ByteRows(["a", "ä", "", "書"])), nulls: RowBitmap([2])),
          Column(.integers([1, -5, .max, .min])),
          Column(.dates([0, 812_345_678.5, 1, 2])),
          Column(.bytes(bytes)),
          Column(.references([1, 2, Column.noReference, 0])),
          Column(.elements(tags)),
          Column(.uuids((0..<4).map { _ in UUID() })),
        ]))
  }

  @Test(
    "S21 A bad values section is refused at the server: what it takes, every reader takes",
    arguments: 0..<12 as Range<UInt64>)
  func mutated(seed: UInt64) throws {
    var random = SeededNumbers(seed: seed)
    let frame = try Self.frame()
    let header = try ChangeSetDecoder().decodeHeader(frame)
    let start = frame.count - header.valuesSize.stored
    let reader = PushReader(limits: .init())
    var taken = 0
    var refused = 0
    for _ in 0..<250 {
      var changed = frame
      for _ in 0...random.number(below: 2) {
        let place = start + random.number(below: frame.count - start)
        changed[place] =
          random.chance(50)
          ? changed[place] ^ (1 << UInt8(random.number(below: 8)))
          : UInt8(random.number(below: 256))
      }
      ChangeSetEncoder.seal(&changed)
      let isTaken = (try? reader.read(changed)) != nil
      let isRead = (try? ChangeSetDecoder().decode(changed)) != nil
      #expect(isTaken == isRead)
      taken += isTaken ? 1 : 0
      refused += isTaken ? 0 : 1
    }
    #expect(taken > 10 && refused > 10, "\(taken) taken, \(refused) refused")
  }

  @Test("S21 A column of an unknown kind is taken; an unknown packing is refused")
  func unknown() throws {
    let frame = try Self.frame()
    let reader = PushReader(limits: .init())
    let header = try ChangeSetDecoder().decodeHeader(frame)
    let start = frame.count - header.valuesSize.stored
    // The second column: after the tag and the length of both, its kind and its packing.
    let second = start + 2 + Int(frame[start + 1])
    #expect(Array(frame[second..<second + 4]) == [0x0a, frame[second + 1], 0x08, 1])
    // Nobody writes 0, and no log with it could be added up.
    var noKind = frame
    noKind[second + 3] = 0
    ChangeSetEncoder.seal(&noKind)
    let kindless = #expect(throws: ProtocolError.self) { try reader.read(noKind) }
    #expect(kindless?.code == .malformed)
    var unknownKind = frame
    unknownKind[second + 3] = 99
    ChangeSetEncoder.seal(&unknownKind)
    _ = try reader.read(unknownKind)
    _ = try ChangeSetDecoder().decode(unknownKind)
    // The dates are packed as ticks.
    let third = second + 2 + Int(frame[second + 1])
    #expect(Array(frame[third + 2..<third + 5]) == [0x08, 3, 0x10])
    var unknownPacking = frame
    unknownPacking[third + 5] = 77
    ChangeSetEncoder.seal(&unknownPacking)
    let error = #expect(throws: ProtocolError.self) { try reader.read(unknownPacking) }
    #expect(error?.code == .unsupported)
  }

  @Test("S15 A transaction over a limit is refused whole, with a typed error that names the limit")
  func tooLarge() async throws {
    var limits = ServerLimits()
    limits.objectsPerPushMax = 100
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let response = try await server.push(try maker.insert(101), token: token)
      #expect(response.status == 413)
      #expect(response.code == "too-large")
      #expect(String(decoding: response.body, as: UTF8.self).contains("objectsMax"))
      #expect(try await server.zone().head == 0)
    }
  }

  @Test("S15 In parts it is taken over HTTP, each within the limits, and all with the last one")
  func parts() async throws {
    var limits = ServerLimits()
    limits.objectsPerPushMax = 100
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      var frames = [try maker.insert(80)]
      maker.number -= 1
      frames.append(try maker.insert(80))
      for place in frames.indices {
        ChangeSetEncoder.number(
          &frames[place], part: UInt16(place + 1), of: 2, mebibytes: place == 0 ? 1 : 0,
          after: place == 0 ? nil : frames[0])
      }
      let header = Data(frames[0].prefix(ChangeSetHeader.size))
      let missing = try await server.push(header, token: token)
      #expect(missing.status == 404)
      #expect(missing.code == "not-staged")
      for body in [frames[0], header] {
        let kept = try await server.push(body, token: token)
        #expect(kept.status == 200)
        let reply = try JSONDecoder().decode(StagedReply.self, from: kept.body)
        #expect(reply.part == 1)
        #expect(reply.digest == ChangeSetHeader.storedDigest(of: frames[0]))
        #expect(try await server.zone().head == 0)
      }
      let reply = try await server.accepted(frames[1], token: token)
      #expect(reply.sequence == 2)
      #expect(reply.firstObjectNumber == 81)
      #expect(reply.chainBefore == .start(generation: try await server.zone().generation))
      #expect(try await server.pull(after: 0, token: token).entries.map(\.frame) == frames)
    }
  }
}
