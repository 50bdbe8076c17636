/// What one property of the objects of one entity is told apart by, as the log names both.
public struct DigestColumn: Hashable, Sendable, Codable {
  /// The entity's name.
  public var entity: String
  /// The property's name; empty for which objects live. `NAME#order` is the order of a set that `NAME` says without one.
  public var property: String

  /// - Parameters:
  ///   - entity: The entity's name.
  ///   - property: The property's name; empty for which objects live.
  public init(entity: String, property: String) {
    self.entity = entity
    self.property = property
  }

  /// Which objects of an entity live.
  package static func life(of entity: String) -> DigestColumn {
    DigestColumn(entity: entity, property: "")
  }

  /// In which order the elements of a relationship stand.
  package static func order(of property: String, _ entity: String) -> DigestColumn {
    DigestColumn(entity: entity, property: property + orderSuffix)
  }

  /// The relationship whose order it is; nil for any other column.
  package var orderedProperty: String? {
    property.hasSuffix(Self.orderSuffix)
      ? String(property.dropLast(Self.orderSuffix.count)) : nil
  }

  private static let orderSuffix = "#order"
}

/// What a zone's log comes to at one place, in digests: the answer to `GET /v1/zones/{zone}/digests`, as JSON.
public struct ZoneDigests: Hashable, Sendable, Codable {
  /// A property of an entity, with the digest over all that the zone's objects have of it.
  public struct Column: Hashable, Sendable, Codable {
    /// The entity's name.
    public var entity: String
    /// The property's name; see ``DigestColumn``.
    public var property: String
    /// Over its ranges.
    public var digest: StateDigest

    /// What it is of.
    public var column: DigestColumn { DigestColumn(entity: entity, property: property) }
  }

  /// Whether the server has them; else it is at it: ask again.
  public var isReady: Bool
  /// Where in the log they stand: at the place that was asked for, or at a later one.
  public var place: LogMark
  /// The number of the first object that came after the place.
  public var nextObject: UInt64
  /// No object was deleted, or brought back, under another entity's name than it came under: where one was, only the log and a
  /// model tell whether it lives.
  public var isPlain: Bool
  /// By entity and property.
  public var columns: [Column]

  package init(
    isReady: Bool, place: LogMark, nextObject: UInt64, isPlain: Bool = true, columns: [Column]
  ) {
    self.isPlain = isPlain
    self.isReady = isReady
    self.place = place
    self.nextObject = nextObject
    self.columns = columns
  }

  /// The server is at it.
  package static func awaited(at place: LogMark) -> ZoneDigests {
    ZoneDigests(isReady: false, place: place, nextObject: 1, columns: [])
  }
}

/// What is asked of a zone's digests, from all of a property down to objects.
public enum DigestPart: Hashable, Sendable {
  /// Digests of ranges: for each column, by its place in ``ZoneDigests/columns``, those of the ranges in their order.
  case ranges(Range<Int>, columns: [Int])
  /// Digests of the blocks of a range: for each column 64 of them.
  case blocks(range: Int, columns: [Int])
  /// Digests of single objects: for each column those of the objects of some blocks, which are of one range.
  case cells(blocks: Range<Int>, columns: [Int])
  /// The objects of some numbers, as a segment of a snapshot. It may end before the last of them.
  case objects(Range<UInt64>)

  /// The most ranges, and the most columns, of one answer.
  public static let countMax = 1_024
  /// The most columns of digests of single objects.
  public static let cellColumnsMax = 64
}

extension DigestPart {
  /// How many digests answer it; nil for one that is answered by objects.
  package var digestCount: Int? {
    switch self {
    case .ranges(let ranges, let columns): ranges.count * columns.count
    case .blocks(_, let columns): StateDigest.rangeBlocks * columns.count
    case .cells(let blocks, let columns):
      blocks.count * Int(StateDigest.blockObjects) * columns.count
    case .objects: nil
    }
  }

  /// Whether blocks are of one range.
  static func areOfOneRange(_ blocks: Range<Int>) -> Bool {
    blocks.lowerBound >= 0 && !blocks.isEmpty
      && blocks.lowerBound / StateDigest.rangeBlocks
        == (blocks.upperBound - 1) / StateDigest.rangeBlocks
  }

  /// The numbers of the objects of some blocks.
  package static func numbers(ofBlocks blocks: Range<Int>) -> Range<UInt64> {
    let size = StateDigest.blockObjects
    return UInt64(blocks.lowerBound) * size + 1..<UInt64(blocks.upperBound) * size + 1
  }

  /// The numbers of the objects of a range.
  package static func numbers(ofRange range: Int) -> Range<UInt64> {
    let first = UInt64(range) * StateDigest.rangeObjects + 1
    return first..<first + StateDigest.rangeObjects
  }
}
