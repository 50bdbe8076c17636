import DriftlessProtocol
import DriftlessServer
import Foundation

/// What a storage owes of large values. One that keeps none says so, and that is all.
enum ValueCases {
  static let all = [
    StorageCase("A value comes in pieces, once, and goes in pieces", pieces),
    StorageCase("A push whose values are not there is refused with their names", missing),
    StorageCase("A value that is not what its digest says is none", damaged),
    StorageCase("Values are a zone's own", apart),
    StorageCase("What nothing names goes when its lease ends, and what a log names stays", leases),
    StorageCase("Values that nothing names are bounded", bounded),
    StorageCase("What others sent of a value that is whole takes no room", orphans),
    StorageCase("A value is no larger than there is room for", largest),
    StorageCase("Values that nothing names are bounded in all zones together", boundedTogether),
    StorageCase("Values that begin in many zones at one time pass no bound of all", begunTogether),
    StorageCase("A storage that takes none says so", none),
    StorageCase("Room is made of what nobody waits for any more", roomMade),
    StorageCase("A zone that begins anew keeps its values for a while", renewed),
  ]

  private struct Sample {
    var bytes: Data
    var value: LargeValue

    init(_ count: Int, _ seed: UInt8) throws {
      bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) ^ seed })
      guard let value = LargeValue(of: bytes) else { throw ConformanceFailure("it is too short") }
      self.value = value
    }

    func piece(_ first: Int, _ generation: UUID, _ replica: UUID) -> ValuePiece {
      ValuePiece(
        value: value, replica: replica, generation: generation, first: first,
        bytes: Data(bytes.dropFirst(first).prefix(LargeValue.pieceBytesMax)))
    }
  }

  private static var taking: ServerLimits {
    var limits = ServerLimits()
    limits.valueBytesMax = 256 << 20
    return limits
  }

  /// Nil for a storage that keeps none, which is shown to say so.
  private static func world(
    _ kind: StorageUnderTest, limits: ServerLimits = taking
  ) async throws -> StorageWorld? {
    let test = try await StorageWorld(kind, limits: limits)
    guard !test.storage.keepsValues else { return test }
    let sample = try Sample(100, 0)
    let refusal = try await code {
      _ = try await test.storage.keep(
        sample.piece(0, test.zone().generation, UUID()), of: test.zone(), token: "t")
    }
    try expect(refusal?.name == "unsupported", "\(String(describing: refusal))")
    return nil
  }

  private static func send(_ sample: Sample, to test: StorageWorld) async throws {
    let zone = try await test.zone()
    let replica = UUID()
    for first in stride(from: 0, to: sample.bytes.count, by: LargeValue.pieceBytesMax) {
      _ = try await test.storage.keep(
        sample.piece(first, zone.generation, replica), of: zone, token: "t")
    }
  }

  private static func pieces(kind: StorageUnderTest) async throws {
    guard let test = try await world(kind) else { return }
    let zone = try await test.zone()
    let sample = try Sample(2 * LargeValue.pieceBytesMax + 5, 1)
    let replica = UUID()
    func keep(_ piece: ValuePiece) async throws -> ValueState {
      try await test.storage.keep(piece, of: zone, token: "t")
    }
    var begin = sample.piece(0, zone.generation, replica)
    begin.bytes = Data()
    try expect(await keep(begin) == ValueState(held: 0, isWhole: false))
    let size = LargeValue.pieceBytesMax
    try expect(
      await keep(sample.piece(0, zone.generation, replica))
        == ValueState(held: size, isWhole: false))
    // Twice, and too far ahead: no harm.
    try expect(await keep(sample.piece(0, zone.generation, replica)).held == size)
    try expect(await keep(sample.piece(2 * size, zone.generation, replica)).held == size)
    let nothing = try await code {
      _ = try await test.storage.value(sample.value.digest, of: zone, first: 0, count: 9)
    }
    try expect(nothing?.name == "no-value")
    let other = try await kind.open(taking)
    defer { other.close() }
    _ = try await other.keep(
      sample.piece(size, zone.generation, replica), of: zone, token: "t")
    let whole = try await keep(sample.piece(2 * size, zone.generation, replica))
    try expect(whole == ValueState(held: sample.bytes.count, isWhole: true))
    try expect(await keep(begin).isWhole, "it is the zone's, whoever asks")
    var read = Data()
    while read.count < sample.bytes.count {
      let piece = try await other.value(
        sample.value.digest, of: zone, first: read.count, count: size)
      try expect(!piece.isEmpty && piece.count <= size)
      read += piece
    }
    try expect(read == sample.bytes)
    let behind = try await other.value(
      sample.value.digest, of: zone, first: sample.bytes.count, count: 9)
    try expect(behind.isEmpty)
    var short = sample.piece(0, zone.generation, UUID())
    short.bytes = short.bytes.prefix(10)
    let other2 = try Sample(3 * size, 2)
    short.value = other2.value
    let cut = try await code { _ = try await keep(short) }
    try expect(cut?.name == "malformed", "a short piece before the last")
  }

  private static func missing(kind: StorageUnderTest) async throws {
    guard let test = try await world(kind) else { return }
    let sample = try Sample(500, 3)
    var replica = TestReplica()
    let push = naming([sample.value], replica.push(try await test.zone().generation))
    var names: [String] = []
    let refusal = try await code {
      do {
        _ = try await test.storage.append(push, to: test.zone())
      } catch let error as ServerError {
        names = error.values
        throw error
      }
    }
    try expect(refusal?.name == "values-missing" && refusal?.status == 409)
    try expect(names == [sample.value.name])
    try expect(await test.zone().head == 0, "nothing was applied")
    try await send(sample, to: test)
    _ = try await test.storage.append(push, to: test.zone())
    try expect(await test.zone().head == 1)
  }

  private static func naming(_ values: [LargeValue], _ push: Push) -> Push {
    var contents = push.contents
    contents.values = values
    return Push(
      replica: push.replica, number: push.number, cursor: push.cursor, mark: push.mark,
      frame: push.frame, digest: push.digest, contents: contents)
  }

  private static func damaged(kind: StorageUnderTest) async throws {
    guard let test = try await world(kind) else { return }
    let zone = try await test.zone()
    let sample = try Sample(500, 4)
    var piece = sample.piece(0, zone.generation, UUID())
    piece.bytes[7] ^= 1
    let refusal = try await code {
      _ = try await test.storage.keep(piece, of: zone, token: "t")
    }
    try expect(refusal?.name == "damaged")
    try expect(await test.storage.missing([sample.value], in: zone) == [sample.value])
    // What one replica spoilt is no other's.
    let good = try await test.storage.keep(
      sample.piece(0, zone.generation, piece.replica), of: zone, token: "t")
    try expect(good.isWhole)
  }

  private static func apart(kind: StorageUnderTest) async throws {
    guard let test = try await world(kind) else { return }
    let sample = try Sample(500, 5)
    try await send(sample, to: test)
    let name = "other-\(UUID().uuidString)"
    try test.kind.administer { _ = try $0.createZone(name) }
    let other = try await test.zone(name)
    try expect(await test.storage.missing([sample.value], in: other) == [sample.value])
    var begin = sample.piece(0, other.generation, UUID())
    begin.bytes = Data()
    let state = try await test.storage.keep(begin, of: other, token: "t")
    try expect(state == ValueState(held: 0, isWhole: false), "it hears nothing of the other zone")
    try test.kind.administer { try $0.deleteZone(name) }
  }

  private static func leases(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.valueLeaseSeconds = 1
    guard let test = try await world(kind, limits: limits) else { return }
    let (named, unnamed) = (try Sample(500, 6), try Sample(500, 7))
    try await send(unnamed, to: test)
    var replica = TestReplica()
    let push = try await naming([named.value], replica.push(test.zone().generation))
    let end = ContinuousClock.now + .seconds(60)
    // On a slow host its lease is over before it is named: then it is sent again.
    while true {
      try await send(named, to: test)
      let refusal = try await code { _ = try await test.storage.append(push, to: test.zone()) }
      guard let refusal else { break }
      try expect(refusal.name == "values-missing" && ContinuousClock.now < end)
    }
    let zone = try await test.zone()
    while try await test.storage.missing([unnamed.value], in: zone).isEmpty {
      try expect(ContinuousClock.now < end, "it was not collected")
      // What comes collects what is over.
      try await send(try Sample(100, UInt8.random(in: 10...200)), to: test)
      try await Task.sleep(for: .milliseconds(50))
    }
    try expect(await test.storage.missing([named.value], in: zone).isEmpty)
  }

  private static func bounded(kind: StorageUnderTest) async throws {
    var limits = ServerLimits()
    limits.valueBytesMax = 1000
    limits.unnamedValueBytesPerTokenMax = 1500
    guard let test = try await world(kind, limits: limits) else { return }
    let zone = try await test.zone()
    let large = try await code { try await send(try Sample(1001, 8), to: test) }
    try expect(large?.name == "too-large")
    try await send(try Sample(900, 9), to: test)
    let second = try Sample(800, 10)
    let refusal = try await code { try await send(second, to: test) }
    try expect(refusal?.name == "disk-full" && refusal?.status == 507)
    let byOther = try await test.storage.keep(
      second.piece(0, zone.generation, UUID()), of: zone, token: "another")
    try expect(byOther.isWhole, "another token has its own room")
  }

  private static func orphans(kind: StorageUnderTest) async throws {
    let size = LargeValue.pieceBytesMax
    var limits = taking
    limits.unnamedValueBytesPerZoneMax = 2 * size + 1000
    guard let test = try await world(kind, limits: limits) else { return }
    let zone = try await test.zone()
    let sample = try Sample(size + 100, 15)
    _ = try await test.storage.keep(
      sample.piece(0, zone.generation, UUID()), of: zone, token: "another")
    try await send(sample, to: test)
    var replica = TestReplica()
    _ = try await test.storage.append(
      naming([sample.value], replica.push(zone.generation)), to: zone)
    try await send(try Sample(size + 200, 16), to: test)
    // There is room for two.
    try await send(try Sample(size + 300, 17), to: test)
  }

  private static func largest(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.unnamedValueBytesPerTokenMax = 1500
    guard let test = try await world(kind, limits: limits) else { return }
    let refusal = try await code { try await send(try Sample(1501, 18), to: test) }
    try expect(refusal?.name == "too-large", "it never has room, so no client waits for it")
    try await send(try Sample(1500, 18), to: test)
  }

  private static func boundedTogether(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.unnamedValueBytesMax = 1500
    guard let test = try await world(kind, limits: limits) else { return }
    try await send(try Sample(900, 19), to: test)
    let zone = try await test.zone()
    let other = try Sample(900, 20)
    let refusal = try await code {
      _ = try await test.storage.keep(
        other.piece(0, zone.generation, UUID()), of: zone, token: "another")
    }
    try expect(refusal?.name == "disk-full")
  }

  private static func begunTogether(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.unnamedValueBytesMax = 5000
    guard let test = try await world(kind, limits: limits) else { return }
    let names = (0..<12).map { "\(test.name)-\($0)" }
    try test.kind.administer { administration in
      for name in names { _ = try administration.createZone(name) }
    }
    let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
      for (number, name) in names.enumerated() {
        let zone = try await test.zone(name)
        let piece = try Sample(2000, UInt8(number)).piece(0, zone.generation, UUID())
        group.addTask {
          let refusal = try await code {
            _ = try await test.storage.keep(piece, of: zone, token: "t\(number)")
          }
          try expect(refusal == nil || refusal?.name == "disk-full")
          return refusal == nil
        }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    try expect(taken == 2, "\(taken) of 2,000 bytes are in 5,000")
    try test.kind.administer { administration in
      for name in names { try administration.deleteZone(name) }
    }
  }

  private static func none(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind, limits: .init())
    let refusal = try await code { try await send(try Sample(500, 12), to: test) }
    try expect(refusal?.name == "unsupported", "\(String(describing: refusal))")
  }

  private static func roomMade(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.valueLeaseSeconds = 1
    limits.unnamedValueBytesPerZoneMax = 20_000
    guard let test = try await world(kind, limits: limits) else { return }
    // More than goes in one transaction.
    for seed in 0..<40 { try await send(try Sample(500, UInt8(seed + 50)), to: test) }
    let large = try Sample(19_900, 13)
    let end = ContinuousClock.now + .seconds(20)
    while try await code({ try await send(large, to: test) })?.name == "disk-full" {
      try expect(ContinuousClock.now < end, "no room was made")
      try await Task.sleep(for: .milliseconds(50))
    }
    try expect(await test.storage.missing([large.value], in: test.zone()).isEmpty)
  }

  private static func renewed(kind: StorageUnderTest) async throws {
    var limits = taking
    limits.unnamedValueBytesPerZoneMax = 600
    guard let test = try await world(kind, limits: limits) else { return }
    let sample = try Sample(500, 11)
    try await send(sample, to: test)
    var replica = TestReplica()
    _ = try await test.storage.append(
      naming([sample.value], replica.push(try await test.zone().generation)), to: test.zone())
    try test.kind.administer { _ = try $0.renewZone(test.name, intent: .offer) }
    let zone = try await test.zone()
    try expect(await test.storage.missing([sample.value], in: zone).isEmpty)
    try await send(try Sample(500, 14), to: test)
    try test.kind.administer { try $0.deleteZone(test.name) }
    try expect(await test.storage.missing([sample.value], in: zone) == [sample.value])
  }
}
