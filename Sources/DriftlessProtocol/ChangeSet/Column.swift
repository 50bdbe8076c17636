public import Foundation

/// The values of one property for the objects of one group, row by row.
///
/// A null row holds 0, false, an empty text, or no reference in `values`; `nulls` says that it is
/// null.
public struct Column: Hashable, Sendable {
  /// What a property's values are, all of one kind.
  public enum Values: Hashable, Sendable {
    case integers([Int64])
    /// Kept bit for bit, NaN and negative zero too.
    case doubles([Double])
    /// Seconds since 2001 (`timeIntervalSinceReferenceDate`), kept bit for bit.
    case dates([Double])
    case booleans([Bool])
    case strings(ByteRows)
    case bytes(ByteRows)
    /// Decimal numbers as text.
    case decimals(ByteRows)
    case uris(ByteRows)
    case uuids([UUID])
    /// To-one relationships: indexes in the object table; `noReference` for none.
    case references([Int32])
    /// Many-to-many relationships: what was added and removed.
    case elements(ElementRows)
    /// Values that only who has the key reads, a cell each (`SealedCell`). A null is none.
    case sealed(ByteRows)
    /// A kind that this version does not know, kept as it came.
    case unknown(UnknownColumn)
  }

  /// In `.references`: the relationship is empty.
  public static let noReference: Int32 = -1

  /// The values, a row each.
  public var values: Values
  /// Which rows are null; nil when none is.
  public var nulls: RowBitmap?
  /// Which rows name a ``LargeValue`` in place of holding it; nil when none does. Only columns of bytes and of sealed cells
  /// have such.
  public var large: RowBitmap?

  /// - Parameters:
  ///   - values: The values, a row each; null rows hold a placeholder.
  ///   - nulls: Which rows are null; nil when none is.
  ///   - large: Which rows name a large value; nil when none does.
  public init(_ values: Values, nulls: RowBitmap? = nil, large: RowBitmap? = nil) {
    self.values = values
    self.nulls = nulls.flatMap { $0.isEmpty ? nil : $0 }
    self.large = large.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// How many rows there are.
  public var count: Int {
    switch values {
    case .integers(let values): values.count
    case .doubles(let values), .dates(let values): values.count
    case .booleans(let values): values.count
    case .strings(let rows), .bytes(let rows), .decimals(let rows), .uris(let rows),
      .sealed(let rows):
      rows.count
    case .uuids(let values): values.count
    case .references(let values): values.count
    case .elements(let rows): rows.count
    case .unknown(let column): column.count
    }
  }

  /// Whether a row, counted from 0, is null.
  public func isNull(at row: Int) -> Bool { nulls?.contains(row) ?? false }

  /// Doubles and dates compare by their bits, so that what crossed the wire equals what was sent.
  public static func == (left: Column, right: Column) -> Bool {
    guard left.nulls == right.nulls, left.large == right.large else { return false }
    switch (left.values, right.values) {
    case (.doubles(let left), .doubles(let right)), (.dates(let left), .dates(let right)):
      return left.elementsEqual(right) { $0.bitPattern == $1.bitPattern }
    default:
      return left.values == right.values
    }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(nulls)
    hasher.combine(large)
    switch values {
    case .doubles(let values), .dates(let values):
      for value in values { hasher.combine(value.bitPattern) }
    default: hasher.combine(values)
    }
  }
}

/// A column of a kind that this version does not know: handed on as it came.
public struct UnknownColumn: Hashable, Sendable {
  /// How many rows it has.
  public let count: Int
  /// The number of its kind on the wire.
  public let kind: UInt32
  /// The column's message in the values section, byte for byte.
  public let message: Data

  package init(count: Int, kind: UInt32, message: Data) {
    self.count = count
    self.kind = kind
    self.message = message
  }
}
