import DriftlessProtocol
import DriftlessSQLite

/// Large values that are looked up by what they are, and first by how long: few have the same length.
struct LargeValueSet {
  private(set) var values: Set<LargeValue> = []
  private var lengths: Set<UInt64> = []

  var isEmpty: Bool { values.isEmpty }

  mutating func formUnion(_ others: some Sequence<LargeValue>) {
    for value in others where values.insert(value).inserted { lengths.insert(value.length) }
  }

  func contains(_ value: LargeValue) -> Bool { values.contains(value) }
  func hasOne(of length: Int) -> Bool { lengths.contains(UInt64(length)) }
}

/// What the entries that wait for others of their push name, and how many bytes they take: each is read once, however many come.
struct StagedTally {
  private var first: UInt64 = 0
  private var last: LogMark?
  private(set) var values = LargeValueSet()
  private(set) var bytes = 0

  /// Brings it up to date with the store.
  mutating func update(_ connection: SQLiteConnection) throws {
    guard let bounds = try StagedEntries.bounds(on: connection) else { return self = StagedTally() }
    guard last == nil || bounds.last != last?.sequence || bounds.first != first else {
      if try mark(at: bounds.last, connection) == last { return }
      return try readAll(bounds, connection)
    }
    guard let last, bounds.first == first, last.sequence < bounds.last,
      try mark(at: last.sequence, connection) == last
    else { return try readAll(bounds, connection) }
    try read(after: last.sequence, connection)
  }

  private mutating func readAll(
    _ bounds: (first: UInt64, last: UInt64), _ connection: SQLiteConnection
  ) throws {
    self = StagedTally()
    first = bounds.first
    try read(after: 0, connection)
  }

  private mutating func read(after sequence: UInt64, _ connection: SQLiteConnection) throws {
    for sequence in try StagedEntries.sequences(after: sequence, on: connection) {
      guard let entry = try StagedEntries.entry(at: sequence, on: connection) else { continue }
      values.formUnion(ValuePieces.named(by: entry))
      bytes = bytes.addingClamped(entry.frame.count)
      last = entry.mark
    }
  }

  private func mark(at sequence: UInt64, _ connection: SQLiteConnection) throws -> LogMark? {
    try StagedEntries.mark(at: sequence, on: connection)
  }
}
