import Foundation
import SwiftProtobuf

/// Writes a column as the message `Column` of `ChangeSet.proto`; `ColumnReader` reads it.
enum ColumnCodec {
  /// `Column.kind` on the wire.
  enum Kind: UInt32 {
    case integers = 1
    case doubles, dates, booleans, strings, bytes, decimals, uris, uuids, references, elements
    case sealed
  }

  static func encode(_ column: Column) throws(ProtocolError) -> ColumnMessage {
    var wire = ColumnMessage()
    if let nulls = column.nulls { wire.nulls = nulls.bytes }
    if let large = column.large { wire.large = large.bytes }
    switch column.values {
    case .integers(let numbers): write(numbers, .integers, column.nulls, to: &wire)
    case .doubles(let values):
      wire.kind = Kind.doubles.rawValue
      wire.numbers = DateTicks.bits(of: values)
    case .dates(let values): write(dates: values, column.nulls, to: &wire)
    case .booleans(let flags):
      wire.kind = Kind.booleans.rawValue
      wire.numbers = Packing.bits(flags)
    case .strings(let rows): write(rows, .strings, to: &wire)
    case .bytes(let rows): write(rows, .bytes, to: &wire)
    case .decimals(let rows): write(rows, .decimals, to: &wire)
    case .uris(let rows): write(rows, .uris, to: &wire)
    case .uuids(let values):
      wire.kind = Kind.uuids.rawValue
      wire.content = .data(Data.of(values))
    case .references(let indexes):
      write(indexes.map { Int64($0) + 1 }, .references, column.nulls, to: &wire)
    case .elements(let rows): write(rows, to: &wire)
    case .sealed(let rows): write(rows, .sealed, to: &wire)
    case .unknown(let unknown):
      do {
        wire.whole = try WireColumn(serializedBytes: unknown.message).serializedBytes()
      } catch {
        throw .malformed("A column of unknown kind is not in the format of columns")
      }
    }
    return wire
  }

  /// The shorter of zigzag and deltas.
  private static func write(
    _ numbers: [Int64], _ kind: Kind, _ nulls: RowBitmap?, to wire: inout ColumnMessage
  ) {
    wire.kind = kind.rawValue
    let filled = nulls.map { repeatingAtNulls(numbers, $0) } ?? numbers
    if Packing.deltasAreShorter(filled) {
      wire.packing = 1
      wire.numbers = Packing.deltas(filled)
    } else {
      wire.numbers = Packing.zigzags(numbers)
    }
  }

  private static func write(dates: [Double], _ nulls: RowBitmap?, to wire: inout ColumnMessage) {
    wire.kind = Kind.dates.rawValue
    for ticks in DateTicks.allCases {
      guard let numbers = ticks.numbers(of: dates, nulls: nulls) else { continue }
      wire.packing = ticks.rawValue
      wire.numbers = Packing.deltas(numbers)
      return
    }
    wire.numbers = DateTicks.bits(of: dates)
  }

  private static func write(_ rows: ByteRows, _ kind: Kind, to wire: inout ColumnMessage) {
    wire.kind = kind.rawValue
    let ends = rows.ends
    wire.numbers = ends.withUnsafeBufferPointer { ends in
      Packing.varints(count: ends.count) {
        UInt64(truncatingIfNeeded: ends[$0] &- ($0 == 0 ? 0 : ends[$0 &- 1]))
      }
    }
    wire.content = .bytes(rows.content)
  }

  private static func write(_ rows: ElementRows, to wire: inout ColumnMessage) {
    wire.kind = Kind.elements.rawValue
    wire.numbers = Packing.varints(count: rows.count * 2) {
      UInt64($0 % 2 == 0 ? rows.added(at: $0 / 2).count : rows.removed(at: $0 / 2).count)
    }
    wire.content = .data(Packing.deltas(rows.elements.map(Int64.init)))
  }

  /// A null row takes the number before it, so that deltas stay small.
  private static func repeatingAtNulls(_ numbers: [Int64], _ nulls: RowBitmap) -> [Int64] {
    var filled = numbers
    var previous: Int64 = 0
    for row in filled.indices {
      if nulls.contains(row) { filled[row] = previous }
      previous = filled[row]
    }
    return filled
  }
}
