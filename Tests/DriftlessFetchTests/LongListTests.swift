import Driftless
import DriftlessSQLite
import Foundation
import Testing

/// IN with lists of any length, in memory and in the store: values that are nearly the same are not the same.
@Suite struct LongListTests {
  @Test(
    "Functions that need their operand twice may lie in each other; too many are an error, and take no memory",
    arguments: ["abs:", "random:"])
  func nested(function: String) throws {
    let (store, samples) = try Self.store()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    func count(_ depth: Int) throws -> Int {
      let format =
        String(repeating: "\(function)(", count: depth) + "whole - 1"
        + String(repeating: ")", count: depth)
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.predicate = try FetchPredicate(format: "\(format) >= 0 OR TRUEPREDICATE")
      return try context.count(for: request)
    }
    #expect(try count(4) == samples.count)
    #expect(throws: StoreError.self) { try count(60) }
  }

  private static let integers: [Int64] = [
    0, 1, -1, 503, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, .max, .max - 1, .min, .min + 1,
  ]
  private static let doubles: [Double] = [
    0, -0.0, 0.1, 0.1.nextUp, 0.3, 0.1 + 0.2, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 1e308,
    .leastNonzeroMagnitude, .infinity, -.infinity, 503, 1,
  ]
  private static let decimals: [Decimal] = [
    "0", "0.1", "0.3", "12.30", "12345678901234567890.123456789", "-12345678901234567890.123456789",
    "9007199254740993", "9007199254740992", "0.30000000000000004", "1e-100", "503",
    "79228162514264337593543950335",
  ].compactMap { Decimal(string: $0) }
  private static let texts = [
    "", "a", "A", "ä", "a\u{308}", "a\u{0}b", "a'b\"c", "?1", "\u{1F600}", "[1]", "null", " a",
  ]
  private static let uuids = (0..<12).map { byte in
    UUID(uuid: (247, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(byte * 20)))
  }

  private static let values: [String: [PropertyValue]] = [
    "whole": integers.map(PropertyValue.integer),
    "real": doubles.map(PropertyValue.double),
    "price": decimals.map(PropertyValue.decimal),
    // A date is kept bit by bit, and found as it is kept.
    "day": doubles.filter { $0.isFinite && ($0 != 0 || $0.sign == .plus) }.map {
      .date(Date(timeIntervalSinceReferenceDate: $0))
    },
    "name": texts.map(PropertyValue.string),
    "code": uuids.map(PropertyValue.uuid),
    "bytes": texts.map { .data(Data($0.utf8)) } + uuids.map { .data(Data("\($0)".utf8)) },
  ]

  private static func store() throws -> (PersistentStore, [Sample]) {
    let thing = EntityDescription("Thing")
    let types: [(String, AttributeType)] = [
      ("whole", .integer64), ("real", .double), ("price", .decimal), ("day", .date),
      ("name", .string), ("code", .uuid), ("bytes", .binaryData),
    ]
    thing.properties = types.map { AttributeDescription($0.0, $0.1) }
    let store = try PersistentStore.open(url: nil, model: ManagedObjectModel(entities: [thing]))
    var samples: [Sample] = []
    _ = try store.write(TransactionInfo()) { transaction in
      for place in 0..<17 {
        let key = try transaction.allocateKeys(thing, count: 1).lowerBound
        var row: [String: PropertyValue] = [:]
        for (name, values) in values where place < values.count { row[name] = values[place] }
        for (name, _) in types where row[name] == nil { row[name] = .null }
        try transaction.insert(
          thing, key, values: thing.layout.slots.map { row[$0.name] ?? .null })
        samples.append(Sample(key, row))
      }
    }
    return (store, samples)
  }

  private func found(_ predicate: FetchPredicate, _ store: PersistentStore) throws -> [Int64] {
    let thing = try #require(store.model.entitiesByName["Thing"])
    let query = try QueryCompiler(schema: store.schema).compile(
      entity: thing, predicate: predicate, selection: .keys)
    return try store.read { transaction in
      let statement = try transaction.connection.prepareUncached(query.sql)
      statement.bind(query.bindings)
      var keys: [Int64] = []
      while try statement.step() { keys.append(statement.int64(0)) }
      return keys.sorted()
    }
  }

  @Test("A sum of whole numbers that does not fit is refused, one with fractions is given")
  func sum() throws {
    let (store, _) = try Self.store()
    let thing = try #require(store.model.entitiesByName["Thing"])
    func sum(_ format: String) throws -> SQLiteValue? {
      var request = FetchRequest<FetchedRow>(entityName: "Thing")
      request.propertiesToFetch = [
        .expression("total", try FetchExpression(format: format), .double)
      ]
      let query = try QueryCompiler(schema: store.schema).compileRows(request, of: thing).query
      return try store.read { transaction in
        let statement = try transaction.connection.prepareUncached(query.sql)
        statement.bind(query.bindings)
        return try statement.step() ? statement.value(0) : nil
      }
    }
    #expect {
      _ = try sum("sum:(whole)")
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .invalidArgument && error.message.contains("64 bits")
    }
    guard case .real? = try sum("sum:(whole * 1.0)") else {
      Issue.record("the sum is no number with a fraction")
      return
    }
  }

  @Test(
    "A list finds the same objects in memory and in the store, however long it is",
    arguments: [2, 64, 65, 900])
  func agreement(count: Int) throws {
    let (store, samples) = try Self.store()
    var random = SeededGenerator(state: UInt64(count))
    var sharp = 0
    for (name, own) in Self.values.sorted(by: { $0.key < $1.key }) {
      var pool = own
      if ["whole", "real", "price"].contains(name) {
        pool = ["whole", "real", "price"].flatMap { Self.values[$0] ?? [] } + [.bool(true)]
      }
      for round in 0..<6 {
        let picked = pool.filter { _ in Bool.random(using: &random) }
        // The rest is what no object has.
        let filler: [PropertyValue] = (0..<max(0, count - picked.count)).map { number in
          switch name {
          case "whole", "real", "price":
            number % 2 == 0 ? .double(Double(number) + 7_000.5) : .integer(Int64(number) + 7_000)
          case "day": .date(Date(timeIntervalSinceReferenceDate: Double(number) + 7_000.25))
          case "name": .string("\u{0}\(number)'")
          case "code": .uuid(UUID())
          default: .data(Data([0, 255, UInt8(number & 255), 1]))
          }
        }
        let list = FetchExpression.list(
          (round == 0 ? picked + filler : (picked + filler).shuffled(using: &random))
            .map(FetchExpression.constant))
        let isFolded = name == "name" && round % 2 == 1
        let condition = FetchPredicate.comparison(
          FetchComparison(
            .keyPath([name]), .in, list, options: isFolded ? [.caseInsensitive] : []))
        for predicate in [condition, .not(condition)] {
          let inMemory = try samples.filter { try predicate.matches($0) }.map(\.key.key)
          let inStore = try found(predicate, store)
          #expect(inMemory == inStore, "\(name), round \(round): \(picked)")
          if !inStore.isEmpty, inStore.count < samples.count { sharp += 1 }
        }
      }
    }
    #expect(sharp > 60, "\(sharp) of 84 tell objects apart")
  }
}
