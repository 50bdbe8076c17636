import DriftlessProtocol
import Foundation
import TestSupport

/// Makes change sets at random that keep the laws.
struct RandomChangeSet {
  private var numbers: SeededNumbers
  private var index = ChangeSetIndex()
  private var columns: [Column] = []

  static func make(seed: UInt64) -> ChangeSet {
    var maker = RandomChangeSet(numbers: SeededNumbers(seed: seed))
    return maker.make()
  }

  private init(numbers: SeededNumbers) { self.numbers = numbers }

  private mutating func make() -> ChangeSet {
    for entity in 0...numbers.number(below: 3) {
      let properties = (0..<numbers.number(below: 6)).map { "property\($0)" }
      index.entities.append(.init(name: "Entity\(entity)", properties: properties))
    }
    for place in 0...numbers.number(below: 4) {
      index.transactions.append(
        .init(
          name: numbers.chance(70) ? numbers.next() : 0, hybridTime: numbers.next(),
          author: numbers.chance(50) ? "author\(place % 2)" : nil,
          contextName: numbers.chance(30) ? "context" : nil,
          origin: numbers.chance(20) ? Samples.replica.advanced(by: UInt64(place % 2)) : nil))
    }
    makeObjectTable()
    makeGroups()
    makeGuards()
    index.values = Column.largeValues(in: columns)
    return ChangeSet(header: Samples.header(), index: index, columns: columns)
  }

  private mutating func makeObjectTable() {
    for place in 0..<numbers.number(below: 4) {
      let entity = numbers.number(below: index.entities.count)
      let count = 1 + numbers.number(below: 20)
      let first = Samples.minted.advanced(by: UInt64(place * 1_000))
      let identities: ChangeSetIndex.Identities =
        numbers.chance(60) || count == 1
        ? .range(first: first, count: count)
        : .listed((0..<count).map { first.advanced(by: UInt64(count - $0) * 3) })
      index.newObjects.append(
        .init(
          entity: entity, identities: identities, isGiven: numbers.chance(30),
          makers: numbers.chance(20)
            ? (0..<count).map { $0 == 0 ? 1 : numbers.chance(50) ? numbers.next() : 0 } : []))
    }
    var number: UInt64 = 0
    for _ in 0..<numbers.number(below: 40) {
      number += 1 + UInt64(numbers.chance(70) ? 0 : numbers.number(below: 1_000_000))
      index.knownNumbers.append(number)
    }
  }

  /// What the change set covers, relies on and claims, and tombstones.
  private mutating func makeGuards() {
    index.isPartial = numbers.chance(20)
    index.covered = (0..<numbers.number(below: 4)).map {
      .init(name: UInt64($0) + 1, isPartial: numbers.chance(50))
    }
    let deleted = Set(index.groups.filter { $0.kind == .delete }.flatMap(\.objects))
    for (entity, named) in index.entities.enumerated() where !named.properties.isEmpty {
      let objects = (0..<index.objectCount).filter { _ in numbers.chance(20) }
      let properties = Array(named.properties.indices.filter { $0 == 0 || numbers.chance(30) })
      if !objects.isEmpty {
        index.relied.append(
          .init(
            entity: entity, properties: properties, objects: ObjectIndexes(objects.map(Int32.init)))
        )
      }
      let claiming = objects.filter { !deleted.contains($0) }
      guard !claiming.isEmpty, numbers.chance(60) else { continue }
      index.claims.append(
        .init(
          entity: entity, properties: properties, keyID: UInt32(numbers.number(below: 3)),
          objects: ObjectIndexes(claiming.map(Int32.init)),
          hashes: claiming.map { Samples.key("\(entity) \($0)") }))
    }
    index.tombstones = (0..<numbers.number(below: 3)).map {
      .init(
        identity: Samples.imported.advanced(by: UInt64($0)),
        entity: numbers.number(below: index.entities.count), hybridTime: numbers.next())
    }
  }

  /// Each object is inserted, deleted, revived or only updated; its properties are dealt out to the
  /// groups.
  private mutating func makeGroups() {
    var place: Int32 = 0
    var inserts: [Int: [Int32]] = [:]
    for run in index.newObjects {
      for _ in 0..<run.count {
        inserts[run.entity, default: []].append(place)
        place += 1
      }
    }
    var known: [Int: [Int: [Int32]]] = [:]
    for _ in index.knownNumbers {
      let entity = numbers.number(below: index.entities.count)
      known[entity, default: [:]][numbers.number(below: 4), default: []].append(place)
      place += 1
    }
    for entity in index.entities.indices {
      if let objects = inserts[entity] { deal(objects, entity, .insert) }
      if let objects = known[entity]?[0] { deal(objects, entity, .update) }
      if let objects = known[entity]?[1] { deal(objects, entity, .revive) }
      if let objects = known[entity]?[2] { add(objects, entity, .delete, []) }
    }
  }

  private mutating func deal(
    _ objects: [Int32], _ entity: Int, _ kind: ChangeSetIndex.Group.Kind
  ) {
    var properties = index.entities[entity].properties.indices.shuffled(using: &numbers)
    let later = properties.isEmpty ? 0 : numbers.number(below: properties.count + 1)
    let rest = Array(properties.suffix(later))
    properties.removeLast(later)
    add(objects, entity, kind, properties)
    let some = objects.filter { _ in numbers.chance(60) }
    if !some.isEmpty, !rest.isEmpty { add(some, entity, .update, rest) }
  }

  private mutating func add(
    _ objects: [Int32], _ entity: Int, _ kind: ChangeSetIndex.Group.Kind, _ properties: [Int]
  ) {
    var runs: [ChangeSetIndex.Group.TransactionRun] = []
    var left = objects.count
    while left > 0 {
      let count = 1 + numbers.number(below: left)
      runs.append(
        .init(transaction: numbers.number(below: index.transactions.count), count: count))
      left -= count
    }
    index.groups.append(
      .init(
        kind: kind, entity: entity, properties: properties, objects: ObjectIndexes(objects),
        transactionRuns: runs))
    for _ in properties { columns.append(column(rows: objects.count)) }
  }

  private mutating func column(rows: Int) -> Column {
    RandomColumn.make(rows: rows, objectCount: index.objectCount, hasLarge: true, &numbers)
  }
}
