/// What one row of the journal holds at most, of all values and texts together: SQLite has a bound of a gigabyte, and an entry
/// that did not fit would end each sync, or the migration.
package struct JournalBounds: Sendable {
  /// A value of more bytes is not told as text.
  package static let toldBytesMax = 64 << 20
  /// What the journal says in place of one that is too large.
  package static let text = #""too large""#

  /// Of one row.
  package var bytesMax: Int

  package init(bytesMax: Int = 900 << 20) { self.bytesMax = bytesMax }

  /// Leaves out the largest values of a row.
  ///
  /// - Parameter others: bytes of what is kept with it.
  package func leaveOut(of row: inout [PropertyValue], beside others: Int = 0) {
    while row.reduce(others, { $0 + $1.byteCount }) > bytesMax,
      let largest = row.indices.max(by: { row[$0].byteCount < row[$1].byteCount }),
      row[largest] != MissingValue.lost, row[largest].byteCount > 0
    {
      row[largest] = MissingValue.lost
    }
  }
}

extension PropertyValue {
  /// The bytes of a text or of data; nothing for what is as large as any number.
  package var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
