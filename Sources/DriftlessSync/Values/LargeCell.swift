import Driftless
import DriftlessProtocol
import Foundation

/// A large value whose bytes are not here, as a value on its way through the engine. No attribute holds it (`StandIn`): it is
/// parked until its bytes can be fetched.
enum LargeCell {
  /// Drawn at random: no value of a person's begins like that.
  private static let mark: [UInt8] = [
    0xd4, 0x61, 0x0e, 0xb9, 0x27, 0x83, 0xfa, 0x5c, 0x90, 0x3d, 0xc6, 0x18, 0x7f, 0xe2, 0x4b, 0xa5,
  ]

  static func row(for value: LargeValue) -> [UInt8] { mark + value.bytes }

  /// The large value that a row of a column, or a value, stands for; nil for any other.
  static func value(ofRow row: some Collection<UInt8>) -> LargeValue? {
    guard row.count == mark.count + LargeValue.size, row.starts(with: mark) else { return nil }
    return LargeValue(bytes: row.dropFirst(mark.count))
  }

  static func value(in value: PropertyValue) -> LargeValue? {
    guard case .data(let data) = value else { return nil }
    return self.value(ofRow: data)
  }

  /// Why it is parked, and what to do.
  static func reason(_ value: LargeValue) -> String {
    "The zone does not have its \(value.length) bytes (SHA-256 \(value.name)), or they are damaged there. "
      + "They are asked for again by: syncctl parked retry. A replica that has the value can set it anew."
  }

  /// The code of what is parked so.
  static let code = "missing-value"
}

extension ValuePieces {
  /// A column with the large values in it that are here. A row whose value is not stands for it (`LargeCell`), and is still
  /// large.
  static func filled(_ column: Column, _ transaction: ReadTransaction) throws -> Column {
    guard let large = column.large else { return column }
    func rows(_ named: ByteRows) throws -> (ByteRows, RowBitmap) {
      var rows = ByteRows()
      var missing = RowBitmap()
      for row in 0..<named.count {
        guard large.contains(row), let value = column.largeValue(at: row) else {
          named.withBytes(at: row) { rows.append($0) }
          continue
        }
        if let bytes = try bytes(of: value, on: transaction.connection) {
          rows.append(bytes)
        } else {
          rows.append(Data(LargeCell.row(for: value)))
          missing.insert(row)
        }
      }
      return (rows, missing)
    }
    switch column.values {
    case .bytes(let named):
      let (rows, missing) = try rows(named)
      return Column(.bytes(rows), nulls: column.nulls, large: missing)
    case .sealed(let named):
      let (rows, missing) = try rows(named)
      return Column(.sealed(rows), nulls: column.nulls, large: missing)
    default: return column
    }
  }
}
