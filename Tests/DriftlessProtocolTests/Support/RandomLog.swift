import DriftlessProtocol
import Foundation
import TestSupport

/// A zone's log at random, whose entries do what a log's may: objects of two entities that come, change, go and come back,
/// references to living and dead ones, sets that gain and lose, keys, names, values of unknown kinds.
struct RandomLog {
  private var numbers: SeededNumbers
  private(set) var zone: ZoneLog
  private var entities: [Int] = []
  private var isAlive: [Bool] = []
  private var pushes: [UUID: UInt64] = [:]
  private var milliseconds: UInt64 = 1_800_000_000_000
  private var drawn = 0
  private var replicas: [UUID]

  static let properties = ["title", "count", "when", "parent", "tags", "seen", "odd", "key"]

  init(seed: UInt64) {
    numbers = SeededNumbers(seed: seed)
    zone = ZoneLog(name: "shop", zoneID: Samples.imported, generation: Samples.generation)
    replicas = (0..<3).map { Samples.replica.advanced(by: $0) }
  }

  /// The log's entries as another replica pulls them.
  var entries: [PullPage.Entry] {
    get throws {
      try zone.page(
        PullRequest(
          cursor: .start(generation: zone.generation), maxBytes: .max, waitSeconds: 0,
          replica: Samples.minted, ownThrough: 0), nowMilliseconds: 0
      ).entries
    }
  }

  mutating func grow(by count: Int) throws {
    for _ in 0..<count {
      let frame = try ChangeSetEncoder(compressionLevel: 1).encode(changeSet())
      _ = try zone.append(frame, nowMilliseconds: 0)
    }
  }

  private mutating func changeSet() -> ChangeSet {
    let replica = replicas[numbers.number(below: replicas.count)]
    pushes[replica, default: 0] += 1
    let mark = zone.place(at: zone.head)
    let header = ChangeSetHeader(
      replica: replica, pushNumber: pushes[replica] ?? 1,
      cursor: Cursor(
        generation: zone.generation, sequence: zone.head, chain: mark?.chain ?? zone.chain))
    var index = ChangeSetIndex(
      entities: [
        .init(name: "Book", properties: Self.properties),
        .init(name: "Author", properties: Self.properties),
        // What is renamed is set under the new name.
        .init(name: "Writer", properties: Self.properties),
      ])
    index.isPartial = numbers.chance(10)
    for _ in 0...numbers.number(below: 3) {
      milliseconds += UInt64(numbers.number(below: 5_000))
      index.transactions.append(
        .init(
          name: numbers.chance(90) ? numbers.next() | 1 : 0, hybridTime: milliseconds << 16,
          author: numbers.chance(50) ? "till \(numbers.number(below: 2))" : nil,
          contextName: numbers.chance(20) ? "e\u{301}" : nil,
          origin: numbers.chance(10) ? Samples.imported : nil))
    }
    index.covered = (0..<numbers.number(below: 3)).map { _ in
      .init(name: numbers.next() | 1, isPartial: numbers.chance(30))
    }
    if numbers.chance(10) {
      index.tombstones = [
        .init(identity: fresh(1_000_000), entity: 0, hybridTime: milliseconds << 16)
      ]
    }
    let known = UInt64(isAlive.count)
    var new: [Int] = []
    if numbers.chance(70) || isAlive.isEmpty {
      for _ in 0...numbers.number(below: 2) {
        let entity = numbers.number(below: 2)
        let count = 1 + numbers.number(below: 6)
        let isListed = numbers.chance(30)
        let first = fresh(count * 3)
        let listed = (0..<count).map { first.advanced(by: UInt64($0 * 2)) }
        index.newObjects.append(
          .init(
            entity: entity,
            identities: isListed ? .listed(listed) : .range(first: first, count: count),
            isGiven: isListed,
            makers: numbers.chance(20) ? (0..<count).map { UInt64($0) + 1 } : []))
        new += Array(repeating: entity, count: count)
      }
    }
    index.knownNumbers = known == 0 ? [] : (1...known).filter { _ in numbers.chance(40) }
    var made = Made(index: index, newCount: new.count)
    for entity in 0..<2 {
      let fresh = new.indices.filter { new[$0] == entity }
      if !fresh.isEmpty { add(.insert, entity, fresh, to: &made) }
    }
    let table = index.knownNumbers.enumerated().map { (new.count + $0, Int($1) - 1) }
    var changed: Set<Int> = []
    for entity in 0..<2 {
      let own = table.filter { entities[$0.1] == entity }
      let dead = own.filter { !isAlive[$0.1] && numbers.chance(40) }
      let dying = own.filter { isAlive[$0.1] && numbers.chance(15) }
      if !dead.isEmpty { add(.revive, entity, dead.map(\.0), to: &made) }
      if !dying.isEmpty { add(.delete, entity, dying.map(\.0), to: &made) }
      changed.formUnion(dead.map(\.0))
      changed.formUnion(dying.map(\.0))
      for (_, number) in dead { isAlive[number] = true }
      for (_, number) in dying { isAlive[number] = false }
      let living = own.filter { isAlive[$0.1] && !changed.contains($0.0) && numbers.chance(60) }
      guard !living.isEmpty else { continue }
      add(.update, entity == 1 && numbers.chance(20) ? 2 : entity, living.map(\.0), to: &made)
    }
    entities += new
    isAlive += new.map { _ in true }
    return ChangeSet(header: header, index: made.index, columns: made.columns)
  }

  private struct Made {
    var index: ChangeSetIndex
    var columns: [Column] = []
    let newCount: Int
  }

  private mutating func fresh(_ count: Int) -> UUID {
    defer { drawn += count }
    return Samples.minted.advanced(by: UInt64(drawn))
  }

  private mutating func add(
    _ kind: ChangeSetIndex.Group.Kind, _ entity: Int, _ objects: [Int], to made: inout Made
  ) {
    let properties =
      kind == .delete ? [] : Self.properties.indices.filter { _ in numbers.chance(50) }
    guard kind != .update || !properties.isEmpty else { return }
    var runs: [ChangeSetIndex.Group.TransactionRun] = []
    var left = objects.count
    while left > 0 {
      let count = 1 + numbers.number(below: left)
      runs.append(
        .init(
          transaction: numbers.number(below: made.index.transactions.count), count: count))
      left -= count
    }
    made.index.groups.append(
      .init(
        kind: kind, entity: entity, properties: properties,
        objects: ObjectIndexes(objects.map(Int32.init)), transactionRuns: runs))
    let count = made.index.objectCount
    for property in properties {
      made.columns.append(column(property, rows: objects.count, objects: count))
    }
    // The last property is a key: who sets it claims it, or lets go of the key.
    guard properties.contains(7), numbers.chance(70) else { return }
    let hashes = objects.map { _ in Samples.key("\(numbers.next())") }
    made.index.claims.append(
      .init(
        entity: entity, properties: [7], keyID: 1, objects: ObjectIndexes(objects.map(Int32.init)),
        hashes: hashes))
  }

  private mutating func column(_ property: Int, rows: Int, objects: Int) -> Column {
    switch property {
    case 0: RandomColumn.make(rows: rows, objectCount: objects, kind: 4, &numbers)
    case 1: RandomColumn.make(rows: rows, objectCount: objects, kind: 0, &numbers)
    case 2: RandomColumn.make(rows: rows, objectCount: objects, kind: 2, &numbers)
    case 3: RandomColumn.make(rows: rows, objectCount: objects, kind: 9, &numbers)
    case 4: RandomColumn.make(rows: rows, objectCount: objects, kind: 10, &numbers)
    case 6: unknown(rows: rows)
    // One name, now a value and now a set.
    case 5: RandomColumn.make(rows: rows, objectCount: objects, &numbers)
    default: RandomColumn.make(rows: rows, objectCount: objects, kind: 8, &numbers)
    }
  }

  /// A column of kind 99: nulls, lengths of rows, bytes of rows.
  private mutating func unknown(rows: Int) -> Column {
    let nulls = RowBitmap((0..<rows).filter { _ in numbers.chance(30) })
    let texts = (0..<rows).map { nulls.contains($0) ? "" : "value \(numbers.number(below: 50))" }
    var message = Data([0x08, 99])
    let bits = (0..<(rows + 7) / 8).map { byte in
      (0..<8).reduce(UInt8(0)) { nulls.contains(byte * 8 + $1) ? $0 | 1 << UInt8($1) : $0 }
    }
    func field(_ number: UInt8, _ bytes: [UInt8]) {
      message.append(number << 3 | 2)
      var count = bytes.count
      while count > 127 {
        message.append(UInt8(count & 127) | 128)
        count >>= 7
      }
      message.append(UInt8(count))
      message.append(contentsOf: bytes)
    }
    if !nulls.isEmpty { field(3, bits) }
    field(4, texts.map { UInt8($0.utf8.count) })
    field(5, texts.flatMap { Array($0.utf8) })
    return Column(.unknown(UnknownColumn(count: rows, kind: 99, message: message)), nulls: nulls)
  }
}
