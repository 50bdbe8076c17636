import Driftless

extension JournalBounds {
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
