import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// A way to a zone that counts what digests take, and may lie.
final class DigestWay: ForwardingTransport {
  struct Rule {
    var digests: (@Sendable (inout ZoneDigests) -> Void)?
    var part: (@Sendable (DigestPart, inout Data) throws -> Void)?
    var before: (@Sendable () async throws -> Void)?
  }

  let next: any SyncTransport
  private let rule = Mutex(Rule())
  private let asked = Mutex<[DigestPart]>([])

  init(_ next: any SyncTransport) { self.next = next }

  var parts: [DigestPart] { asked.withLock { $0 } }
  func set(_ rule: Rule) { self.rule.withLock { $0 = rule } }

  func digests(at cursor: Cursor) async throws -> ZoneDigests {
    var digests = try await next.digests(at: cursor)
    rule.withLock { $0.digests }?(&digests)
    return digests
  }

  func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    asked.withLock { $0.append(part) }
    let rule = rule.withLock { $0 }
    try await rule.before?()
    var data = try await next.digests(part, at: cursor)
    try rule.part?(part, &data)
    return data
  }
}

/// Two replicas of a zone with something of everything.
struct VerifiedShop {
  var world: World
  var way: DigestWay
  var items: [UUID] = []
  var shelves: [UUID] = []
  var labels: [UUID] = []
  var rows: [UUID] = []
  var replica: TestReplica { world[1] }

  /// A zone with everything that a model can say, and a second replica that has it.
  static func make(_ count: Int = 300) async throws -> VerifiedShop {
    var world = try await World(1)
    let way = DigestWay(world.zone)
    world.replicas.append(
      try await TestReplica("second", zone: world.zone, clock: world.clock, transport: way))
    var shop = VerifiedShop(world: world, way: way)
    let first = world[0]
    for number in 0..<3 {
      shop.shelves.append(try first.insert("Shelf", ["name": .string("shelf \(number)")]))
      shop.labels.append(try first.insert("Label", ["name": .string("label \(number)")]))
    }
    for number in 0..<count {
      shop.items.append(
        try first.insert(
          "Item",
          [
            "title": .string("item \(number)"), "stock": .integer(Int64(number)),
            "weight": .double(Double(number) / 7),
            "price": .decimal(Decimal(number) / 100), "made": .date(Date(timeIntervalSince1970: 5)),
            "blob": .data(Data([1, 2, UInt8(number & 255)])), "code": .uuid(UUID()),
            "isOpen": .bool(number % 2 == 0), "page": .uri(try #require(URL(string: "a:b"))),
          ]))
    }
    try first.save { context in
      let shelf = try #require(try context.object(withIdentity: shop.shelves[0]))
      let labels = try shop.labels.map { try #require(try context.object(withIdentity: $0)) }
      for number in 0..<min(20, count) {
        let item = try #require(try context.object(withIdentity: shop.items[number]))
        try item.setValue(shelf, forKey: "shelf")
        try item.setValue(Set(labels.prefix(number % 4)), forKey: "labels")
      }
    }
    for number in 0..<4 {
      shop.rows.append(try first.insert("Row", ["name": .string("row \(number)")]))
    }
    try first.save { context in
      let shelf = try #require(try context.object(withIdentity: shop.shelves[0]))
      for row in shop.rows {
        let row = try #require(try context.object(withIdentity: row))
        try row.setValue(shelf, forKey: "shelf")
      }
    }
    try await world.settle()
    return shop
  }
}

extension TestReplica {
  /// Changes rows past the library: nobody hears of it.
  func alter(_ sql: String, _ values: SQLiteValue...) throws {
    let url = try #require(store.url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { connection.close() }
    let statement = try connection.prepareUncached(sql)
    statement.bind(values)
    try statement.run()
  }

  func rowKey(of id: UUID) throws -> Int64 {
    try store.read { try #require(try $0.key(of: id)).key }
  }
}
