package import Foundation

/// Answers what is asked of the digests of a snapshot.
///
/// The digests of all ranges are in memory; blocks and objects are read from the snapshot's files when they are asked for, one
/// file of each layer at a time.
package struct SnapshotDigests: Sendable {
  package let snapshot: Snapshot
  package let tree: DigestTree
  private let isPlain: Bool
  private let bytes: @Sendable (Snapshot.File) throws -> Data

  /// What objects of one answer take before it ends with the next one. Bytes.
  private static let partBytes = 1 << 20

  /// - Parameters:
  ///   - pause: called every now and then; what it throws ends it.
  ///   - bytes: gives a file's bytes.
  /// - Throws: `ProtocolError` when a file is not what the snapshot says, or there are too many properties.
  package init(
    _ snapshot: Snapshot, pause: (@Sendable () throws -> Void)? = nil,
    bytes: @escaping @Sendable (Snapshot.File) throws -> Data
  ) throws {
    self.snapshot = snapshot.objects
    self.bytes = bytes
    let reader = try Reader(self.snapshot, from: 1, pause: pause, bytes: bytes)
    var builder = DigestBuilder()
    while let (number, object) = try reader.next() {
      try reader.append(number, object, to: &builder)
    }
    tree = try builder.tree(upTo: snapshot.nextObject)
    isPlain = snapshot.base.isPlain && snapshot.delta?.isPlain ?? true && reader.isPlain
  }

  /// The digests over all.
  package var digests: ZoneDigests {
    ZoneDigests(
      isReady: true, place: snapshot.place, nextObject: snapshot.nextObject,
      isPlain: isPlain,
      columns: zip(tree.columns, tree.roots).map {
        .init(entity: $0.entity, property: $0.property, digest: $1)
      })
  }

  /// - Throws: `ProtocolError`: `.malformed` for what there is none of, and when a file is not what the snapshot says.
  package func answer(_ part: DigestPart) throws -> Data {
    switch part {
    case .ranges(let ranges, let columns):
      try check(columns)
      guard ranges.lowerBound >= 0, ranges.count <= DigestPart.countMax,
        ranges.upperBound <= tree.rangeCount
      else { throw ProtocolError.noPart }
      return StateDigest.data(
        of: columns.lazy.flatMap { column in
          ranges.lazy.map { tree.digest(ofColumn: column, range: $0) }
        })
    case .blocks(let range, let columns):
      try check(columns)
      guard (0..<tree.rangeCount).contains(range) else { throw ProtocolError.noPart }
      let blocks = try blocks(of: range)
      return StateDigest.data(
        of: columns.lazy.flatMap { column in
          blocks[tree.columns[column]]
            ?? [StateDigest](repeating: .empty, count: StateDigest.rangeBlocks)
        })
    case .cells(let blocks, let columns):
      try check(columns)
      guard DigestPart.areOfOneRange(blocks), columns.count <= DigestPart.cellColumnsMax,
        (blocks.lowerBound / StateDigest.rangeBlocks) < tree.rangeCount
      else { throw ProtocolError.noPart }
      return StateDigest.data(of: try cells(of: blocks, columns))
    case .objects(let numbers):
      guard numbers.lowerBound >= 1, !numbers.isEmpty, numbers.upperBound <= snapshot.nextObject,
        UInt64(numbers.count) <= StateDigest.rangeObjects
      else { throw ProtocolError.noPart }
      return try objects(numbers)
    }
  }

  private func check(_ columns: [Int]) throws(ProtocolError) {
    guard columns.count <= DigestPart.countMax,
      columns.allSatisfy({ tree.columns.indices.contains($0) })
    else { throw .noPart }
  }

  private func blocks(of range: Int) throws -> [DigestColumn: [StateDigest]] {
    let numbers = DigestPart.numbers(ofRange: range)
    let reader = try Reader(snapshot, from: numbers.lowerBound, pause: nil, bytes: bytes)
    var builder = DigestBuilder(from: range)
    while let (number, object) = try reader.next(), number < numbers.upperBound {
      try reader.append(number, object, to: &builder)
    }
    return builder.blocks()
  }

  /// For each column, those of the objects of the blocks.
  private func cells(of blocks: Range<Int>, _ columns: [Int]) throws -> [StateDigest] {
    let numbers = DigestPart.numbers(ofBlocks: blocks)
    let reader = try Reader(snapshot, from: numbers.lowerBound, pause: nil, bytes: bytes)
    let blockSize = StateDigest.blockObjects
    var cells = [[StateDigest]](
      repeating: .init(repeating: .empty, count: numbers.count), count: columns.count)
    var (block, builder) = (blocks.lowerBound, DigestBuilder(ofBlock: blocks.lowerBound))
    func end() {
      let digests = builder.blocks()
      let first = (block - blocks.lowerBound) * Int(blockSize)
      for (place, column) in columns.enumerated() {
        guard let own = digests[tree.columns[column]] else { continue }
        cells[place].replaceSubrange(first..<first + own.count, with: own)
      }
    }
    while let (number, object) = try reader.next(), number < numbers.upperBound {
      let next = Int(clamping: (number - 1) / blockSize)
      if next != block {
        end()
        (block, builder) = (next, DigestBuilder(ofBlock: next))
        reader.forgetPlaces()
      }
      try reader.append(number, object, to: &builder)
    }
    end()
    return cells.flatMap { $0 }
  }

  private func objects(_ numbers: Range<UInt64>) throws -> Data {
    let reader = try Reader(snapshot, from: numbers.lowerBound, pause: nil, bytes: bytes)
    var draft = SegmentDraft(tables: reader.tables, isDelta: false)
    while let (number, object) = try reader.next(), number < numbers.upperBound,
      !draft.isFull(Self.partBytes)
    {
      guard object.birth != nil else { throw LayerCursor.missing(number) }
      draft.append(number, object)
    }
    guard let last = draft.last else { throw LayerCursor.missing(numbers.lowerBound) }
    let header = ChangeSetHeader(
      replica: snapshot.zoneID, pushNumber: 1,
      cursor: Cursor(
        generation: snapshot.generation, sequence: snapshot.place.sequence,
        chain: snapshot.place.chain))
    return try draft.encoded(
      numbers.lowerBound..<last + 1, header, ChangeSetEncoder(limits: .segment))
  }

  /// The objects of a snapshot, from one of them on.
  private final class Reader {
    let tables: FoldTables
    private let merge: FoldMerge
    /// By the places of the entity's and the property's text.
    private var columns: [UInt64: Int] = [:]
    private var orders: [UInt64: Int] = [:]
    private var lives: [UInt32: Int] = [:]
    private var cell = CellBytes()

    init(
      _ snapshot: Snapshot, from first: UInt64, pause: (@Sendable () throws -> Void)?,
      bytes: @escaping (Snapshot.File) throws -> Data
    ) throws {
      let tables = FoldTables()
      self.tables = tables
      merge = FoldMerge(
        try [snapshot.base, snapshot.delta].compactMap { $0 }.map {
          try LayerCursor($0, of: snapshot, tables: tables, from: .object(first), bytes: bytes)
        }, pause: pause)
    }

    /// Known when all objects were read.
    var isPlain: Bool { merge.isPlain }

    func next() throws -> (UInt64, ObjectEdit)? {
      guard let (key, edit) = try merge.next(), key.part == .object else { return nil }
      return (key.low, edit.object)
    }

    /// Another builder is filled from here on.
    func forgetPlaces() { (columns, orders, lives) = ([:], [:], [:]) }

    func append(
      _ number: UInt64, _ object: ObjectEdit, to builder: inout DigestBuilder
    ) throws {
      guard let birth = object.birth else { throw LayerCursor.missing(number) }
      guard object.life == .alive else { return }
      let life = try place(
        birth.entity, in: &lives, &builder
      ) { .life(of: try tables.text(at: birth.entity)) }
      try builder.append(number, column: life, kind: 0, [])
      for (property, value) in object.values {
        guard !value.isNull else { continue }
        if value.kind == ColumnCodec.Kind.references.rawValue, try value.target == nil { continue }
        let column = try place(of: property, value.entity, in: &columns, &builder)
        cell.set(value)
        try builder.append(number, column: column, kind: cell.kind, cell.bytes)
      }
      for (property, elements) in object.sets where !elements.added.isEmpty {
        let column = try place(of: property, elements.entity, in: &columns, &builder)
        cell.set(elements: elements.added.sorted())
        try builder.append(number, column: column, kind: cell.kind, cell.bytes)
        let order = try place(
          UInt64(elements.entity) << 32 | UInt64(property), in: &orders, &builder
        ) {
          .order(of: try tables.text(at: property), try tables.text(at: elements.entity))
        }
        cell.set(elements: elements.added)
        try builder.append(number, column: order, kind: cell.kind, cell.bytes)
      }
    }

    private func place(
      of property: UInt32, _ entity: UInt32, in places: inout [UInt64: Int],
      _ builder: inout DigestBuilder
    ) throws -> Int {
      try place(UInt64(entity) << 32 | UInt64(property), in: &places, &builder) {
        DigestColumn(
          entity: try tables.text(at: entity), property: try tables.text(at: property))
      }
    }

    private func place<Key: Hashable>(
      _ key: Key, in places: inout [Key: Int], _ builder: inout DigestBuilder,
      _ column: () throws -> DigestColumn
    ) throws -> Int {
      if let place = places[key] { return place }
      let place = builder.place(of: try column())
      places[key] = place
      return place
    }
  }
}

extension ProtocolError {
  static let noPart = ProtocolError.malformed("There are no such digests")
}
