import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Which identities the zone has: one row a run of identities that were inserted together.
struct IdentityIndex<Tables: ZoneTables> {
  let tables: Tables
  let zone: Int64
  /// What the pushing replica knows of objects.
  let objects: ObjectIndex<Tables>

  /// Adds runs; their objects get numbers from `firstNumber` on.
  ///
  /// The push is stale when the zone has one of the identities already.
  func insert(
    _ runs: [Push.IdentityRun], firstNumber: UInt64, stale: inout StaleObjects
  ) throws {
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
    let isAlone = try !hasRuns(among: runs, order)
    var before = isAlone ? try order.first.flatMap { try runBefore(runs[$0].first) } : nil
    var clashes: [(place: Int, number: UInt64)] = []
    for place in order {
      let run = runs[place]
      let clash =
        isAlone ? before.flatMap { Self.number(of: run.first, in: $0) } : try number(reached: run)
      if let clash {
        clashes.append((place, clash))
        continue
      }
      let known = KnownRun(first: run.first, count: run.count, number: numbers[place])
      try tables.insert(known, zone: zone)
      before = known
    }
    for (place, number) in clashes.sorted(by: { $0.place < $1.place }) {
      stale.add(
        number, isNews: objects.isInsertNews(number),
        "the zone has an object with an identity of this push (\(runs[place].first)…)")
    }
  }

  /// Whether a run of the zone begins between the first and the last of some identities. Where none does, as in a first push, only
  /// the one before all of them can have one of theirs, and none is looked for by itself.
  ///
  /// - Parameter order: the places of the runs in the order of their identities.
  private func hasRuns(among runs: [Push.IdentityRun], _ order: [Int]) throws -> Bool {
    guard let first = order.first.map({ runs[$0].first }) else { return false }
    var end = first
    for run in runs {
      let last = try last(of: run)
      if end.halves < last.halves { end = last }
    }
    return try tables.number(after: first, through: end, zone: zone) != nil
  }

  /// The number of an identity of a run that the zone has.
  private func number(reached run: Push.IdentityRun) throws -> UInt64? {
    if let number = try number(of: run.first) { return number }
    guard run.count > 1 else { return nil }
    return try tables.number(after: run.first, through: last(of: run), zone: zone)
  }

  private func runBefore(_ identity: UUID) throws -> KnownRun? {
    try tables.run(atOrBefore: identity, zone: zone)
  }

  /// The push is stale when the zone has an identity that it says is deleted: it has a number.
  func check(tombstones: [UUID], stale: inout StaleObjects) throws {
    for identity in tombstones {
      guard let number = try number(of: identity) else { continue }
      stale.add(
        number, isNews: objects.isInsertNews(number),
        "the zone has an object of identity \(identity), so it has a number")
    }
  }

  /// Notes identities that were deleted before the zone heard of them.
  func bury(_ tombstones: [UUID], sequence: UInt64) throws {
    for identity in tombstones { try tables.bury(identity, sequence: sequence, zone: zone) }
  }

  /// The push is stale when it makes what the zone knows as deleted by an entry that is news to it.
  func checkTombstones(
    of runs: [Push.IdentityRun], after cursor: UInt64, own: OwnFrames, stale: inout StaleObjects
  ) throws {
    // Most zones have none, and a first push has many runs.
    guard try tables.hasTombstones(zone: zone) else { return }
    for run in runs where run.count > 0 {
      let sequences = try tables.tombstones(
        from: run.first, through: last(of: run), after: cursor, zone: zone)
      for sequence in sequences where !own.contains(sequence: sequence) {
        stale.refuse("an object of this push (\(run.first)…) was deleted after \(cursor)")
      }
    }
  }

  /// The number of an identity, when the run that starts at or before it reaches it.
  private func number(of identity: UUID) throws -> UInt64? {
    try runBefore(identity).flatMap { Self.number(of: identity, in: $0) }
  }

  private static func number(of identity: UUID, in run: KnownRun) -> UInt64? {
    let first = run.first.halves
    guard first.high == identity.halves.high else { return nil }
    let place = identity.halves.low - first.low
    return place < run.count ? run.number + place : nil
  }

  private func last(of run: Push.IdentityRun) throws -> UUID {
    guard let last = run.last else {
      throw ServerError(
        .malformed, "a range of identities runs over its end",
        suggestion: "Update the client.")
    }
    return last
  }
}

extension Push.IdentityRun {
  /// Its last identity; nil for a run that has none, or that runs over its end.
  var last: UUID? {
    let (high, low) = first.halves
    let (last, overflow) = low.addingReportingOverflow(count &- 1)
    return count > 0 && !overflow ? UUID(high: high, low: last) : nil
  }
}
