import DriftlessSQLite
import Foundation

/// Which identities the zone has: one row a run of identities that were inserted together.
struct IdentityIndex {
  let connection: SQLiteConnection
  let zone: Int64
  let head: UInt64

  /// Adds runs; their objects get numbers from `firstNumber` on.
  ///
  /// - Throws: `ServerError` (`.stale`) when the zone has one of the identities already.
  func insert(_ runs: [Push.IdentityRun], firstNumber: UInt64) throws {
    let insert = try connection.prepare("INSERT INTO identity VALUES(?, ?, ?, ?)")
    let before = try connection.prepare(
      "SELECT first, count FROM identity WHERE zone = ? AND first <= ? ORDER BY first DESC LIMIT 1")
    let inside = try connection.prepare(
      "SELECT 1 FROM identity WHERE zone = ? AND first > ? AND first <= ? LIMIT 1")
    var number = firstNumber
    for run in runs {
      let first = run.first.bytes
      let last = try last(of: run)
      if try covers(before, first) { throw clash(run) }
      if run.count > 1, try exists(inside, after: first, through: last) { throw clash(run) }
      insert.bind(zone, at: 1)
      insert.bind(first, at: 2)
      insert.bind(Int64(clamping: run.count), at: 3)
      insert.bind(Int64(clamping: number), at: 4)
      try insert.run()
      insert.reset()
      number += run.count
    }
  }

  /// Whether the run that starts at or before `identity` reaches it.
  private func covers(_ before: SQLiteStatement, _ identity: Data) throws -> Bool {
    defer { before.reset() }
    before.bind(zone, at: 1)
    before.bind(identity, at: 2)
    guard try before.step() else { return false }
    let first = before.data(0)
    guard first.count == 16, first.prefix(8) == identity.prefix(8) else { return false }
    return Self.tail(identity) - Self.tail(first) < UInt64(clamping: before.int64(1))
  }

  private func exists(_ inside: SQLiteStatement, after: Data, through: Data) throws -> Bool {
    defer { inside.reset() }
    inside.bind(zone, at: 1)
    inside.bind(after, at: 2)
    inside.bind(through, at: 3)
    return try inside.step()
  }

  private func last(of run: Push.IdentityRun) throws -> Data {
    let first = run.first.bytes
    let (tail, overflow) = Self.tail(first).addingReportingOverflow(run.count &- 1)
    guard run.count > 0, !overflow else {
      throw ServerError(
        .malformed, "a range of identities runs over its end",
        suggestion: "Update the client.")
    }
    return first.prefix(8) + withUnsafeBytes(of: tail.bigEndian) { Data($0) }
  }

  private func clash(_ run: Push.IdentityRun) -> ServerError {
    ServerError(
      .stale, "the zone already has an object with an identity of this push (\(run.first)…)",
      suggestion: "Pull, then push again: the insert becomes an update.", head: head)
  }

  /// The last eight bytes as a big-endian number.
  private static func tail(_ identity: Data) -> UInt64 {
    identity.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
