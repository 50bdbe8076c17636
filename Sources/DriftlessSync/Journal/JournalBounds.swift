import Driftless

/// What one row of the journal holds at most, of all values and texts together: SQLite has a bound of a gigabyte, and an entry
/// that did not fit would end each sync.
struct JournalBounds {
  /// A value of more bytes is not told as text.
  static let toldBytesMax = 64 << 20
  /// What the journal says in place of one that is too large.
  static let text = #""too large""#

  /// Of one row.
  var bytesMax = 900 << 20

  /// Leaves out what does not fit: first texts, then the value that stands, which the object or the zone has, then the one that lost,
  /// and the largest values of the whole row.
  func leaveOut(of entry: inout JournalEntry, _ values: inout Journal.Values) {
    func bytes() -> Int {
      [values.local, values.remote].reduce(entry.textBytes) { $0 + ($1?.byteCount ?? 0) }
    }
    let texts: [WritableKeyPath<JournalEntry, String?>] = [\.base, \.kept, \.remote, \.local]
    for text in texts where entry[keyPath: text] != nil && bytes() > bytesMax {
      entry[keyPath: text] = Self.text
    }
    let isLocalLost = entry.loser == .local
    if bytes() > bytesMax {
      if isLocalLost { values.remote = nil } else { values.local = nil }
    }
    if bytes() > bytesMax { (values.local, values.remote) = (nil, nil) }
    if var row = values.row {
      leaveOut(of: &row, beside: bytes())
      values.row = row
    }
  }

  /// Leaves out the largest values of a row.
  ///
  /// - Parameter others: bytes of what is kept with it.
  func leaveOut(of row: inout [PropertyValue], beside others: Int = 0) {
    while row.reduce(others, { $0 + $1.byteCount }) > bytesMax,
      let largest = row.indices.max(by: { row[$0].byteCount < row[$1].byteCount }),
      row[largest] != MissingValue.lost, row[largest].byteCount > 0
    {
      row[largest] = MissingValue.lost
    }
  }
}

extension JournalEntry {
  /// The bytes of what it tells of values.
  fileprivate var textBytes: Int {
    [base, local, remote, kept].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }
}

extension Journal.Values {
  /// What they take in memory, but for what every entry takes.
  var byteCount: Int {
    (local?.byteCount ?? 0) + (remote?.byteCount ?? 0) + (row ?? []).reduce(0) { $0 + $1.byteCount }
  }
}

extension PropertyValue {
  /// The bytes of a text or of data; nothing for what is as large as any number.
  var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
