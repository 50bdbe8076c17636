import Crypto
public import Foundation

/// A value whose bytes do not stand in the change set: it is named by their SHA-256, and they go to and from the zone by
/// themselves, in pieces, once.
///
/// In a column of bytes, or of sealed cells, a row of ``Column/large`` has these 40 bytes in place of the value: the digest,
/// then the length, little-endian. Of a sealed value both are those of the cell, so that who has not the key learns nothing
/// of what is in it.
public struct LargeValue: Hashable, Sendable, Comparable {
  /// The length of a digest. Bytes.
  public static let digestSize = 32
  /// What stands in a column in place of the value. Bytes.
  public static let size = digestSize + 8
  /// The fewest bytes that a value has which is told so: a shorter one is not longer than its name.
  public static let bytesMin = size + 1
  /// The most bytes that a value has which is named: a TiB, beyond what any store holds. So sums of lengths that others say stay numbers.
  public static let lengthMax: UInt64 = 1 << 40
  /// The most bytes that a piece has, on its way to or from the zone. Every piece but the last has as many.
  public static let pieceBytesMax = 1 << 20

  /// The SHA-256 of the value's bytes.
  public let digest: Data
  /// How many bytes the value has.
  public let length: UInt64

  /// Nil for a digest that has not 32 bytes, and for a length that no large value has.
  public init?(digest: Data, length: UInt64) {
    guard digest.count == Self.digestSize, length >= UInt64(Self.bytesMin),
      length <= Self.lengthMax
    else { return nil }
    self.digest = Data(digest)
    self.length = length
  }

  /// Reads what stands in a column; nil for other bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    let length = bytes.suffix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    self.init(digest: Data(bytes.prefix(Self.digestSize)), length: length)
  }

  /// The name of a value; nil for one that is too short to be told by it.
  public init?(of value: some DataProtocol) {
    self.init(digest: Data(SHA256.hash(data: value)), length: UInt64(value.count))
  }

  /// As they stand in a column.
  public var bytes: [UInt8] {
    digest + (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) }
  }

  /// The digest as 64 hexadecimal digits in small letters: the value's name in a path.
  public var name: String { Hexadecimal.text(digest) }

  /// The digest that a name says; nil for other texts.
  public static func digest(named name: String) -> Data? {
    guard name.utf8.count == 2 * digestSize, let bytes = Hexadecimal.bytes(name),
      Hexadecimal.text(bytes) == name
    else { return nil }
    return Data(bytes)
  }

  /// By digest, then length.
  public static func < (left: LargeValue, right: LargeValue) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension LargeValue {
  /// The digest of a value that is looked at a piece at a time.
  package struct Digest {
    private var hash = SHA256()
    package private(set) var count: UInt64 = 0

    package init() {}

    package mutating func add(_ piece: Data) {
      hash.update(data: piece)
      count += UInt64(piece.count)
    }

    /// Whether the pieces were all of a value.
    package func isOf(_ value: LargeValue) -> Bool {
      count == value.length && Data(hash.finalize()) == value.digest
    }
  }
}

extension Column {
  /// The large value of a row; nil where the row has its value itself.
  public func largeValue(at row: Int) -> LargeValue? {
    guard large?.contains(row) == true, row < count else { return nil }
    switch values {
    case .bytes(let rows), .sealed(let rows):
      return rows.withBytes(at: row) { LargeValue(bytes: $0) }
    default: return nil
    }
  }

  /// What is wrong with the large rows of a column; nil when nothing is.
  var largeProblem: String? {
    guard let large else { return nil }
    guard large.end <= count else { return "it has large values beyond its end" }
    switch values {
    case .bytes, .sealed: break
    default: return "values of its kind are never told by their digests"
    }
    let isWhole = large.rows.allSatisfy { !isNull(at: $0) && largeValue(at: $0) != nil }
    return isWhole ? nil : "a row does not name a large value"
  }
}

extension Column {
  /// The large values that columns name, ascending, each once.
  package static func largeValues(in columns: [Column]) -> [LargeValue] {
    var named = NamedValues()
    for column in columns { named.add(column) }
    return named.sorted
  }
}

/// The large values that columns name, each once, in the order in which an index section lists them.
struct NamedValues {
  private var values: Set<LargeValue> = []
  private var rows = 0
  private var rowBytes: UInt64 = 0

  mutating func add(_ column: Column) {
    for row in column.large?.rows ?? [] {
      guard let value = column.largeValue(at: row) else { continue }
      values.insert(value)
      rows += 1
      let sum = rowBytes.addingReportingOverflow(value.length)
      rowBytes = sum.overflow ? .max : sum.partialValue
    }
  }

  var sorted: [LargeValue] { values.sorted() }

  /// - Throws: `ProtocolError` when an index section lists others, or when they are more than a reader can have in memory.
  func check(_ listed: [LargeValue], _ limits: ChangeSetLimits) throws(ProtocolError) {
    guard rows <= 1 || rowBytes <= UInt64(clamping: limits.valueRowBytesMax) else {
      throw .tooLarge(
        "\(rows) values of the change set have \(rowBytes) bytes, each row counted (valueRowBytesMax)"
      )
    }
    guard sorted == listed else {
      throw .malformed("The index section lists other large values than the columns name")
    }
  }
}
