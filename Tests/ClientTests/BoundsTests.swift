import Driftless
import DriftlessSync
import Foundation
import SyncControl
import SyncDaemon
import TestSupport
import Testing

/// Values at the bounds of every type, out of a store and into another.
@Suite struct BoundsTests {
  private static let types: [(name: String, type: AttributeType)] = [
    ("a16", .integer16), ("a32", .integer32), ("a64", .integer64), ("bool", .boolean),
    ("double", .double), ("float", .float), ("decimal", .decimal), ("text", .string),
    ("date", .date), ("bytes", .binaryData), ("plain", .transformable), ("uuid", .uuid),
    ("uri", .uri),
  ]

  private func store(_ directory: TemporaryDirectory, _ name: String) throws -> PersistentStore {
    let entity = EntityDescription("Thing")
    entity.properties = Self.types.map { AttributeDescription($0.name, $0.type) }
    return try PersistentStore.open(
      url: directory.file(name), model: ManagedObjectModel(entities: [entity]))
  }

  private static func decimal(_ text: String) -> PropertyValue {
    Decimal(string: text).map { .decimal($0) } ?? .null
  }

  private static func date(_ seconds: Double) -> PropertyValue {
    .date(Date(timeIntervalSinceReferenceDate: seconds))
  }

  private static func values(of type: AttributeType) -> [PropertyValue] {
    switch type {
    case .integer16: [.integer(Int64(Int16.min)), .integer(Int64(Int16.max))]
    case .integer32: [.integer(Int64(Int32.min)), .integer(Int64(Int32.max))]
    case .integer64: [.integer(.min), .integer(.max), .integer(0)]
    case .boolean: [.bool(true), .bool(false)]
    case .double:
      [
        .double(.greatestFiniteMagnitude), .double(-.greatestFiniteMagnitude),
        .double(.leastNonzeroMagnitude), .double(-0.0), .double(.infinity), .double(-.infinity),
        .double(.nan), .double(1e16), .double(0.1),
      ]
    case .float:
      [
        .double(Double(Float.greatestFiniteMagnitude)),
        .double(Double(Float.leastNonzeroMagnitude)),
        .double(.infinity), .double(.nan), .double(Double(Float(0.1))),
      ]
    case .decimal:
      [
        .decimal(.greatestFiniteMagnitude), .decimal(-.greatestFiniteMagnitude),
        .decimal(.leastNonzeroMagnitude), decimal("1e40"), decimal("1e127"), decimal("1e-127"),
        decimal("340282366920938463463374607431768211455"),
        decimal("-12345678901234567890.123456789012345678"), decimal("0"),
        .decimal(.nan),
      ]
    case .string:
      [.string(""), .string("\u{1}\t\n\r\"\\/\u{7F}\u{2028}😀e\u{301}"), .string("NaN")]
    case .date:
      [
        date(4.4e12), date(-4.4e12), date(1e300), date(.infinity), date(-.infinity),
        date(0.000_001),
        date(-63_113_904_000), date(-100_000_000_000), date(253_402_300_800),
      ]
    case .binaryData, .transformable: [.data(Data()), .data(Data(0...255))]
    case .uuid:
      [.uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))), .uuid(UUID())]
    case .uri: URL(string: "https://a.example/%20?q=ä#f").map { [.uri($0)] } ?? []
    case .undefined, .objectID, .composite: []
    }
  }

  @Test("Whatever an export writes, an import reads again: every bound of every type")
  func roundTrip() throws {
    let directory = try TemporaryDirectory()
    let (first, second) = (try store(directory, "1.sqlite"), try store(directory, "2.sqlite"))
    let entity = try #require(first.model.entitiesByName["Thing"])
    _ = try first.write(TransactionInfo(kind: .imported)) { transaction in
      for (name, type) in Self.types {
        let slot = try #require(entity.layout.index(named: name))
        for value in Self.values(of: type) {
          var row = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
          row[slot] = value
          let key = try transaction.allocateKeys(entity, count: 1).lowerBound
          try transaction.insert(entity, key, values: row)
        }
      }
    }
    let text = try ReplicaExport.text(of: first)
    _ = try Importer(store: second, author: nil, source: "f.jsonl").run(Data(text.utf8))
    #expect(try ReplicaExport.text(of: second) == text)
  }

  @Test(
    "What a type does not hold is refused, with line and attribute, and never becomes something else",
    arguments: [
      ("decimal", #""nan""#), ("decimal", #""1e165""#), ("decimal", #""1e-200""#),
      ("decimal", #""1234567890123456789012345678901234567891""#),
      ("decimal", #""999999999999999999999999999999999999999""#),
      ("float", "1e39"), ("float", "-1e39"), ("double", "1e400"), ("a16", "32768"),
    ])
  func refused(_ name: String, _ json: String) throws {
    let directory = try TemporaryDirectory()
    let store = try store(directory, "1.sqlite")
    let lines = #"{"op":"insert","entity":"Thing","id":"1","set":{"\#(name)":\#(json)}}"#
    do {
      _ = try Importer(store: store, author: nil, source: "f.jsonl").run(Data(lines.utf8))
      Issue.record("it was taken: \(try ReplicaExport.text(of: store))")
    } catch let error as Failure {
      #expect(error.message.contains("f.jsonl:1") && error.message.contains(name), "\(error)")
    }
  }
}
