import Driftless
import DriftlessSQLite

/// What a store that leaves its zone keeps of counters: what the zone had of those in which something was counted that it did
/// not send, and the counts by their saves. What is counted until the store comes back is kept in the same way
/// (`setCounting(_:)`), so that there it is added, whatever others have counted meanwhile. Of a counter that nobody here touched
/// nothing is kept: the zone knows it.
struct LeftCounts {
  private struct Count {
    var key: ObjectKey
    var property: String
    var base: PropertyValue
    var deltas: [TransactionDelta]
  }

  private var counts: [Count] = []

  /// - Parameter pending: what the zone has not acknowledged.
  init(_ pending: PendingSet, _ transaction: ReadTransaction, schema: SyncSchema) throws {
    for (key, object) in pending.objects where object.whole != .delete && object.offers.isEmpty {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      for property in entity.properties where property.isCounter {
        guard
          let base = try BaseValues.value(of: key, property.name, on: transaction.connection)
        else { continue }
        let deltas = try transaction.deltas(of: key, property.name)
        // Of what a server lost the totals are offered.
        guard deltas.allSatisfy({ $0.transaction > 0 }) else { continue }
        counts.append(Count(key: key, property: property.name, base: base, deltas: deltas))
      }
    }
  }

  /// Keeps them in a store that has forgotten its zone, which goes on counting.
  func keep(_ transaction: WriteTransaction) throws {
    for count in counts {
      try BaseValues.replace(
        count.key, count.property, with: count.base, on: transaction.connection)
      for delta in count.deltas { try transaction.keepDelta(delta, of: count.key, count.property) }
    }
    try transaction.setCounting(true)
  }

  /// The store is a replica again, which keeps counts as such. In another log nothing is known of what they go on from.
  ///
  /// - Parameter areKept: it came back to the log that it left.
  static func come(
    areKept: Bool, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    try transaction.setCounting(false)
    guard !areKept else { return try forgetUncounted(transaction, schema: schema) }
    let connection = transaction.connection
    var counters: [(ObjectKey, String)] = []
    try BaseValues.forEachProperty(on: connection) { key, property in
      guard schema.entity(numbered: key.entity)?.property(named: property)?.isCounter == true
      else { return }
      counters.append((key, property))
    }
    for (key, property) in counters {
      try BaseValues.replace(key, property, with: [], asserting: [], on: connection)
    }
    try TransactionDeltas.dropAll(on: connection)
  }
}

extension LeftCounts {
  /// Where a program that keeps no counts edited a counter while the store was away, it is not known what all of them went on from:
  /// the later total stands, and the journal has the other.
  private static func forgetUncounted(
    _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    guard let left = try LeftZone.kept(transaction)?.lastTransaction else {
      return
    }
    var edits: [ObjectKey: [String: Set<Int64>]] = [:]
    try transaction.forEachChange(after: left, passingOver: .imported) { header, type, key, mask in
      guard type == .update, let mask, let entity = schema.entity(numbered: key.entity) else {
        return
      }
      for property in entity.properties where property.isCounter && mask.contains(property.slot) {
        edits[key, default: [:]][property.name, default: []].insert(header.number)
      }
    }
    for (key, properties) in edits {
      for (name, saves) in properties
      where try BaseValues.value(of: key, name, on: transaction.connection) != nil {
        let known = try Set(transaction.deltas(of: key, name).map(\.transaction))
        guard !saves.isSubset(of: known) else { continue }
        try BaseValues.replace(key, name, with: [], asserting: [], on: transaction.connection)
        try transaction.dropDeltas(of: key, name)
      }
    }
  }
}

extension PageApplier {
  /// Whether what was counted here of a counter of the zone's is known since the store left that: it is added to what the zone has
  /// by now, also where the log that is read again makes the object first.
  func isCountedSinceLeft(_ property: SyncSchema.Property, of key: ObjectKey) throws -> Bool {
    guard let left, left.keepsCounts, property.isCounter else { return false }
    return try baseValue(of: key, property) != nil
  }

  /// Whether the zone has an object whose insert is pending here, since it was told before the store left.
  func wasTold(_ object: PendingObject?) -> Bool {
    guard let object, object.whole == .insert else { return true }
    return object.wholeTransaction <= left?.acknowledged ?? 0
  }
}
