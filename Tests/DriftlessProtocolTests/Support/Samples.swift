import DriftlessProtocol
import Foundation

/// Change sets that tests begin with.
enum Samples {
  static let replica = uuid("A0000000-0000-4000-8000-000000000001")
  static let generation = uuid("B0000000-0000-4000-8000-000000000002")
  static let minted = uuid("C0000000-0000-8001-8000-000000000010")
  static let imported = uuid("D0000000-0000-5000-8000-000000000003")

  static func uuid(_ text: String) -> UUID { UUID(uuidString: text) ?? UUID() }

  static func header(
    pushNumber: UInt64 = 7, cursor: UInt64 = 41, replica: UUID = replica, mark: LogMark? = nil
  ) -> ChangeSetHeader {
    ChangeSetHeader(
      replica: replica, pushNumber: pushNumber,
      cursor: Cursor(generation: generation, sequence: cursor, chain: chain), mark: mark)
  }

  /// A chain, of no log.
  static let chain = LogChain.start(generation: minted)

  /// Three new books (two minted, one imported), one book changed, one author deleted, one revived:
  /// every kind of group and of column.
  static let library = ChangeSet(
    header: header(mark: LogMark(sequence: 40, chain: .start(generation: imported))),
    index: ChangeSetIndex(
      entities: [
        .init(
          name: "Book",
          properties: [
            "title", "pages", "price", "published", "inPrint", "cover", "isbn", "page", "shelf",
            "author", "tags",
          ]),
        .init(name: "Author", properties: ["name"]),
      ],
      newObjects: [
        .init(entity: 0, identities: .range(first: minted, count: 2)),
        .init(
          entity: 0, identities: .listed([imported, uuid("D0000000-0000-5000-8000-000000000001")]),
          isGiven: true),
      ],
      knownNumbers: [3, 900, 901, 70_000],
      transactions: [
        .init(
          name: 0x0102_0304_0506_0708, hybridTime: 1_790_000_000_000 << 16, author: "till",
          contextName: "import"),
        .init(name: .max, hybridTime: 1_790_000_000_500 << 16 | 3, author: "till"),
        .init(hybridTime: 1_790_000_000_400 << 16, origin: replica),
      ],
      groups: [
        .init(
          kind: .insert, entity: 0, properties: Array(0..<11), objects: ObjectIndexes(0..<4),
          transactionRuns: [.init(transaction: 0, count: 3), .init(transaction: 1, count: 1)]),
        .init(
          kind: .update, entity: 0, properties: [1], objects: ObjectIndexes([4, 6]),
          transactionRuns: [.init(transaction: 2, count: 2)]),
        .init(
          kind: .delete, entity: 1, properties: [], objects: ObjectIndexes(5..<6),
          transactionRuns: [.init(transaction: 0, count: 1)]),
        .init(
          kind: .revive, entity: 1, properties: [0], objects: ObjectIndexes(7..<8),
          transactionRuns: [.init(transaction: 1, count: 1)]),
      ],
      covered: [.init(name: 9), .init(name: 10, isPartial: true)],
      relied: [.init(entity: 0, properties: [9, 1], objects: ObjectIndexes([4, 6]))],
      claims: [
        .init(
          entity: 0, properties: [6, 0], keyID: 3, objects: ObjectIndexes([1, 4]),
          hashes: [key("one"), key("two")])
      ],
      tombstones: [
        .init(identity: generation, entity: 1, hybridTime: 1_790_000_000_300 << 16 | 1)
      ]),
    columns: [
      Column(.strings(ByteRows(["Emma", "", "Ænima\u{0}", "書"])), nulls: RowBitmap([1])),
      Column(.integers([474, .max, .min, 0]), nulls: RowBitmap([3])),
      Column(.doubles([9.5, -0.0, .infinity, .leastNonzeroMagnitude])),
      Column(.dates([812_345_678.123456, 812_345_679.5, 0, -63_114_076_800])),
      Column(.booleans([true, false, true, true])),
      Column(.bytes(rows([[0, 255, 1], [], [7], [9]]))),
      Column(.decimals(ByteRows(["1.10", "-3", "0", "123456789012345678901234567890.5"]))),
      Column(.uris(ByteRows(["https://example.org/", "", "a:b", "c:d"])), nulls: RowBitmap([1])),
      Column(.uuids([minted, imported, replica, generation])),
      Column(.references([7, Column.noReference, 0, 6])),
      Column(.elements(elements([([4, 7], []), ([], [5]), ([], []), ([0], [1, 2])]))),
      Column(.integers([1, 2])),
      Column(.strings(ByteRows(["Austen"]))),
    ])

  /// The hash of a title.
  static func key(_ title: String) -> KeyHash {
    KeyHash.of(
      entity: "Book", properties: ["title"], values: [Array(title.utf8)], zone: generation)
  }

  static func rows(_ rows: [[UInt8]]) -> ByteRows {
    rows.reduce(into: ByteRows()) { $0.append(Data($1)) }
  }

  static func elements(_ rows: [(added: [Int32], removed: [Int32])]) -> ElementRows {
    rows.reduce(into: ElementRows()) { $0.append(added: $1.added, removed: $1.removed) }
  }

  /// A push that inserts `count` books with a title.
  static func insert(
    _ count: Int, first: UUID = minted, header: ChangeSetHeader = header()
  ) -> ChangeSet {
    ChangeSet(
      header: header,
      index: ChangeSetIndex(
        entities: [.init(name: "Book", properties: ["title"])],
        newObjects: [.init(entity: 0, identities: .range(first: first, count: count))],
        transactions: [.init(hybridTime: 1)],
        groups: [
          .init(
            kind: .insert, entity: 0, properties: [0], objects: ObjectIndexes(0..<count),
            transactionRuns: [.init(transaction: 0, count: count)])
        ]),
      columns: [Column(.strings(ByteRows((0..<count).map { "Book \($0)" })))])
  }

  /// A push that changes known objects in one way.
  static func touch(
    _ kind: ChangeSetIndex.Group.Kind, _ numbers: [UInt64], _ properties: [String],
    header: ChangeSetHeader
  ) -> ChangeSet {
    ChangeSet(
      header: header,
      index: ChangeSetIndex(
        entities: [.init(name: "Book", properties: properties)], knownNumbers: numbers,
        transactions: [.init(hybridTime: 1)],
        groups: [
          .init(
            kind: kind, entity: 0, properties: Array(properties.indices),
            objects: ObjectIndexes(0..<numbers.count),
            transactionRuns: [.init(transaction: 0, count: numbers.count)])
        ]),
      columns: properties.map { _ in Column(.integers(numbers.map { Int64(bitPattern: $0) })) })
  }
}

extension ChangeSet {
  /// The same on the chain that a log has at the cursor.
  func placed(in zone: ZoneLog) -> ChangeSet {
    var placed = self
    if let place = zone.place(at: header.cursor.sequence) {
      placed.header.cursor.chain = place.chain
    }
    return placed
  }
}
