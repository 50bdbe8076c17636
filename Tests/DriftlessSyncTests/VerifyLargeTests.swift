import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Of large values those cross the wire that differ, and nothing false is told of the others.
struct VerifyLargeTests {
  /// Objects of one block, each with a value that lies in a file beside the store.
  private static let count = 24
  private static let valueBytes = 300_000

  private static func model() -> ManagedObjectModel {
    let picture = EntityDescription("Picture")
    let photo = AttributeDescription("photo", .binaryData)
    photo.allowsExternalBinaryDataStorage = true
    picture.properties = [AttributeDescription("title", .string), photo]
    return ManagedObjectModel(entities: [picture])
  }

  private struct Pictures {
    var first: TestReplica
    var second: TestReplica
    var way: DigestWay
    var all: [UUID] = []
  }

  private func pictures() async throws -> Pictures {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let way = DigestWay(zone)
    let first = try await TestReplica("first", zone: zone, clock: clock, model: Self.model())
    var pictures = Pictures(
      first: first,
      second: try await TestReplica(
        "second", zone: zone, clock: clock, model: Self.model(), transport: way), way: way)
    var numbers = SeededNumbers(seed: 7)
    for number in 0..<Self.count {
      var bytes = Data(capacity: Self.valueBytes)
      while bytes.count < Self.valueBytes {
        withUnsafeBytes(of: numbers.next()) { bytes.append(contentsOf: $0) }
      }
      pictures.all.append(
        try first.insert(
          "Picture", ["title": .string("picture \(number)"), "photo": .data(bytes)]))
    }
    try await first.sync()
    try await pictures.second.sync()
    return pictures
  }

  private func objects(_ way: DigestWay) -> [Range<UInt64>] {
    way.parts.compactMap { if case .objects(let numbers) = $0 { numbers } else { nil } }
  }

  @Test("A difference in one of many large objects costs that object")
  func oneOfMany() async throws {
    let pictures = try await pictures()
    try pictures.second.alter(
      "UPDATE ZPICTURE SET ZTITLE = 'other' WHERE Z_PK = ?",
      .integer(pictures.second.rowKey(of: pictures.all[7])))
    let found = try await pictures.second.engine.verify()
    #expect(found.differences.map(\.object) == [pictures.all[7]], "\(found.differences)")
    #expect(found.differences.map(\.property) == ["title"])
    #expect(objects(pictures.way).map(\.count) == [1])
    #expect(found.bytes < Self.valueBytes * 2, "\(found.bytes)")
    let mended = try await pictures.second.engine.repair()
    #expect(mended.isEqual)
    #expect(try await pictures.second.engine.verify().differenceCount == 0)
  }

  @Test(
    "A server of before tells nothing of single objects: all of the block come, and one differs")
  func serverOfBefore() async throws {
    let pictures = try await pictures()
    pictures.way.set(
      .init(part: { part, _ in
        guard case .cells = part else { return }
        throw ProtocolError(
          .init(rawValue: "not-found"), "There is no such path", suggestion: "Look.")
      }))
    try pictures.second.alter(
      "UPDATE ZPICTURE SET ZTITLE = 'other' WHERE Z_PK = ?",
      .integer(pictures.second.rowKey(of: pictures.all[7])))
    let found = try await pictures.second.engine.verify()
    #expect(found.differences.map(\.object) == [pictures.all[7]], "\(found.differences)")
    #expect(found.bytes > Self.valueBytes * (Self.count - 1))
  }

  @Test("A value whose file is gone is told as that, and no other one is")
  func lostFile() async throws {
    let pictures = try await pictures()
    let folder = pictures.second.directory.url.appendingPathComponent(
      ".second_SUPPORT/_EXTERNAL_DATA")
    let manager = FileManager.default
    let files = try manager.contentsOfDirectory(atPath: folder.path)
    #expect(files.count == Self.count)
    try manager.removeItem(at: folder.appendingPathComponent(try #require(files.first)))
    let found = try await pictures.second.engine.verify()
    let difference = try #require(found.differences.first)
    #expect(found.differenceCount == 1)
    #expect(difference.property == "photo" && difference.isLost == true)
    #expect(difference.local == nil && difference.zone != nil)
    #expect(objects(pictures.way).map(\.count) == [1])
    #expect(try await pictures.second.engine.repair().isEqual)
    #expect(try manager.contentsOfDirectory(atPath: folder.path).count >= Self.count)
  }

  @Test("Where most of a block differ, its objects come at once")
  func mostOfThem() async throws {
    let shop = try await VerifiedShop.make(40)
    let connection = try SQLiteConnection(
      path: try #require(shop.replica.store.url).path, mode: .readWrite)
    try connection.execute("UPDATE ZITEM SET ZSTOCK = ZSTOCK + 1")
    connection.close()
    let found = try await shop.replica.engine.verify()
    #expect(found.differenceCount == 40, "\(found.differences.prefix(3))")
    #expect(objects(shop.way).count == 1)
  }
}
