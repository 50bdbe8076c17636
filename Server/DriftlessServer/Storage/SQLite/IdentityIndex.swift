import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Which identities the zone has: one row a run of identities that were inserted together.
struct IdentityIndex {
  let connection: SQLiteConnection
  let zone: Int64
  /// What the pushing replica knows of objects.
  let objects: ObjectIndex

  /// Adds runs; their objects get numbers from `firstNumber` on.
  ///
  /// The push is stale when the zone has one of the identities already.
  func insert(
    _ runs: [Push.IdentityRun], firstNumber: UInt64, stale: inout StaleObjects
  ) throws {
    let insert = try connection.prepare("INSERT INTO identity VALUES(?, ?, ?, ?)")
    let before = try connection.prepare(
      "SELECT first, count, number FROM identity WHERE zone = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    )
    let inside = try connection.prepare(
      "SELECT number FROM identity WHERE zone = ? AND first > ? AND first <= ? LIMIT 1")
    var numbers: [UInt64] = []
    numbers.reserveCapacity(runs.count)
    var next = firstNumber
    for run in runs {
      numbers.append(next)
      next += run.count
    }
    // In the order of the table: identities from outside come in none, and each would be on another page.
    let starts = runs.map(\.first.halves)
    let order = runs.indices.sorted { starts[$0] < starts[$1] }
    var clashes: [(place: Int, number: UInt64)] = []
    for place in order {
      let run = runs[place]
      let last = try last(of: run)
      let clash =
        try self.number(before, run.first)
        ?? (run.count > 1 ? try self.number(inside, after: run.first, through: last) : nil)
      if let clash {
        clashes.append((place, clash))
        continue
      }
      insert.bind(zone, at: 1)
      insert.bind(run.first, at: 2)
      insert.bind(Int64(clamping: run.count), at: 3)
      insert.bind(Int64(clamping: numbers[place]), at: 4)
      try insert.run()
      insert.reset()
    }
    for (place, number) in clashes.sorted(by: { $0.place < $1.place }) {
      stale.add(
        number, isNews: objects.isInsertNews(number),
        "the zone has an object with an identity of this push (\(runs[place].first)…)")
    }
  }

  /// The push is stale when the zone has an identity that it says is deleted: it has a number.
  func check(tombstones: [UUID], stale: inout StaleObjects) throws {
    guard !tombstones.isEmpty else { return }
    let before = try connection.prepare(
      "SELECT first, count, number FROM identity WHERE zone = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    )
    for identity in tombstones {
      guard let number = try number(before, identity) else { continue }
      stale.add(
        number, isNews: objects.isInsertNews(number),
        "the zone has an object of identity \(identity), so it has a number")
    }
  }

  /// Notes identities that were deleted before the zone heard of them.
  func bury(_ tombstones: [UUID], sequence: UInt64) throws {
    guard !tombstones.isEmpty else { return }
    let insert = try connection.prepare("INSERT OR REPLACE INTO tombstone VALUES(?, ?, ?)")
    for identity in tombstones {
      insert.bind(zone, at: 1)
      insert.bind(identity.bytes, at: 2)
      insert.bind(Int64(clamping: sequence), at: 3)
      try insert.run()
      insert.reset()
    }
  }

  /// The push is stale when it makes what the zone knows as deleted by an entry that is news to it.
  func checkTombstones(
    of runs: [Push.IdentityRun], after cursor: UInt64, own: OwnFrames, stale: inout StaleObjects
  ) throws {
    // Most zones have none, and a first push has many runs.
    let any = try connection.prepare("SELECT 1 FROM tombstone WHERE zone = ? LIMIT 1")
    defer { any.reset() }
    any.bind(zone, at: 1)
    guard try any.step() else { return }
    let inside = try connection.prepare(
      "SELECT sequence FROM tombstone WHERE zone = ? AND identity BETWEEN ? AND ? AND sequence > ?")
    for run in runs where run.count > 0 {
      inside.bind(zone, at: 1)
      inside.bind(run.first, at: 2)
      inside.bind(try last(of: run), at: 3)
      inside.bind(Int64(clamping: cursor), at: 4)
      while try inside.step() {
        guard !own.contains(sequence: UInt64(clamping: inside.int64(0))) else { continue }
        stale.refuse("an object of this push (\(run.first)…) was deleted after \(cursor)")
      }
      inside.reset()
    }
  }

  /// The number of an identity, when the run that starts at or before it reaches it.
  private func number(_ before: SQLiteStatement, _ identity: UUID) throws -> UInt64? {
    defer { before.reset() }
    before.bind(zone, at: 1)
    before.bind(identity, at: 2)
    guard try before.step() else { return nil }
    guard let first = before.uuid(0)?.halves, first.high == identity.halves.high else { return nil }
    let place = identity.halves.low - first.low
    guard place < UInt64(clamping: before.int64(1)) else { return nil }
    return UInt64(clamping: before.int64(2)) + place
  }

  /// The number of the first identity of a run in a range.
  private func number(
    _ inside: SQLiteStatement, after: UUID, through: UUID
  ) throws -> UInt64? {
    defer { inside.reset() }
    inside.bind(zone, at: 1)
    inside.bind(after, at: 2)
    inside.bind(through, at: 3)
    return try inside.step() ? UInt64(clamping: inside.int64(0)) : nil
  }

  private func last(of run: Push.IdentityRun) throws -> UUID {
    let (high, low) = run.first.halves
    let (last, overflow) = low.addingReportingOverflow(run.count &- 1)
    guard run.count > 0, !overflow else {
      throw ServerError(
        .malformed, "a range of identities runs over its end",
        suggestion: "Update the client.")
    }
    return UUID(high: high, low: last)
  }
}
