import Driftless
import DriftlessProtocol
import Foundation

/// What the entries above a place of the log counted: the total of each counter at the place, and what each save added to it
/// since, by the save's name.
///
/// They are pending like what was counted here (`ZDL_DELTA`), and go out as a total with the names. So replicas that offer
/// what they know of one counter, each a part of it, count every save once.
struct LostCounts {
  fileprivate struct Word {
    var name: UInt64
    var time: HybridTime
    /// The total that it left; nil for a save of which a later one's word has what it added.
    var total: PropertyValue?
  }

  fileprivate struct Count {
    /// The total before the first word; nil while it is not known.
    var start: PropertyValue?
    var words: [Word] = []
    /// A word is an offer, or the object was brought back: what a save added is not known.
    var isUnknown = false
  }

  private let place: UInt64
  /// How many names of covered saves may be kept yet, over all counters: what is beyond that is offered as a total, of which
  /// the later one stands and the journal has the other.
  private var room = SyncTuning.lostNamesMax
  private var counts: [ObjectKey: [String: Count]] = [:]

  /// - Parameter place: what came after it was lost.
  init(after place: UInt64) { self.place = place }

  /// Takes in one row of a lost entry, in order.
  mutating func note(
    _ group: ChangeSetIndex.Group, row: Int, of key: ObjectKey, _ entity: SyncSchema.Entity,
    _ columns: some Sequence<(SyncSchema.Property?, Column)>, _ index: ChangeSetIndex,
    _ transactionIndex: Int
  ) {
    guard entity.hasCounters else { return }
    let transaction = index.transactions[transactionIndex]
    switch group.kind {
    case .delete: counts[key] = nil
    case .insert, .revive:
      counts[key] = [:]
      for property in entity.properties where property.isCounter {
        // An object that was brought back is there at the place, with a total that its revival does not say.
        counts[key, default: [:]][property.name] =
          group.kind == .insert ? Count(start: .null) : Count(isUnknown: true)
      }
    case .update: break
    }
    let isOffer = transaction.name == transaction.hybridTime
    for case (let property?, let column) in columns where property.isCounter {
      guard let reader = PropertyReader(property: property, column: column) else { continue }
      var count = counts[key]?[property.name] ?? Count()
      if group.kind == .update {
        let time = HybridTime(rawValue: transaction.hybridTime)
        if transaction.name != 0 {
          count.words.append(Word(name: transaction.name, time: time, total: reader.value(row)))
        }
        // What it covers is in its total; how much of it, and of which counters, it does not say.
        if index.covered.count <= room {
          room -= index.covered.count
          for covered in index.covered {
            count.words.append(Word(name: covered.name, time: time, total: nil))
          }
        } else {
          count.isUnknown = true
        }
      } else if group.kind == .insert {
        count.start = reader.value(row)
      }
      count.isUnknown = count.isUnknown || isOffer || transaction.name == 0
      counts[key, default: [:]][property.name] = count
    }
  }

  /// Looks in the entries up to the place for the totals of then.
  mutating func findStarts(_ transaction: WriteTransaction, schema: SyncSchema) throws {
    var wanted: PlaceValues.Names = [:]
    for (key, properties) in counts {
      for (name, count) in properties where count.start == nil && !count.isUnknown {
        wanted[key, default: []].insert(name)
      }
    }
    let found = try PlaceValues.find(wanted, upTo: place, transaction, schema: schema)
    for (key, totals) in found {
      for case (let name, .value(let total)) in totals { counts[key]?[name]?.start = total }
    }
  }

  /// There is room below it for saves of one time.
  private static let leastNumber = Int64.min + (1 << 32)

  /// Keeps what was counted of an object: it is pending on the totals at the place.
  ///
  /// - Parameter before: what was pending of it already.
  func keep(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, beside before: PendingObject,
    _ transaction: WriteTransaction
  ) throws {
    guard let counts = counts[key], before.offers.isEmpty,
      let values = try transaction.knownRow(key)?.values ?? transaction.grave(of: key)
    else { return }
    for property in entity.properties where property.isCounter {
      guard let count = counts[property.name] else { continue }
      let base = try BaseValues.value(of: key, property.name, on: transaction.connection)
      let isPending = before.transaction(of: property.slot) != nil
      let last = isPending ? base : values[property.slot]
      let added = count.added(upTo: last)
      if added != nil, let start = count.start {
        try BaseValues.replace(key, property.name, with: start, on: transaction.connection)
      } else {
        // What was pending is on a total that the zone lost: with nothing to count from, the later total stands.
        try BaseValues.drop(key, property.name, on: transaction.connection)
      }
      for (index, word) in count.words.enumerated() {
        try transaction.keepLostDelta(
          TransactionDelta(
            transaction: max(EditStamp.number(word.time), Self.leastNumber), name: word.name,
            value: added?[index] ?? .null), of: key, property.name)
      }
    }
  }
}

extension LostCounts.Count {
  /// What each word added, null for one that another has; nil where that is not known, or the words do not lead to the
  /// zone's last total.
  fileprivate func added(upTo last: PropertyValue?) -> [PropertyValue]? {
    guard let start, !isUnknown, let last else { return nil }
    var former = start
    var added: [PropertyValue] = []
    for word in words {
      guard let total = word.total else {
        added.append(.null)
        continue
      }
      guard let difference = CounterDelta.difference(total, former), !difference.isNull else {
        return nil
      }
      added.append(difference)
      former = total
    }
    return former == last ? added : nil
  }
}

extension LostCounts {
  /// Lets go of the names of what was counted and lost: what is offered of a counter is its total, and what was never sent is
  /// pending on that.
  ///
  /// - Parameter key: of this object alone.
  static func forget(
    of key: ObjectKey? = nil, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let connection = transaction.connection
    for (owner, names) in try transaction.propertiesWithLostDeltas(of: key) {
      guard let entity = schema.entity(numbered: owner.entity) else { continue }
      let values = try transaction.knownRow(owner)?.values
      for name in names {
        let deltas = try transaction.deltas(of: owner, name)
        for delta in deltas where delta.transaction < 0 {
          try transaction.dropDelta(of: owner, name, transaction: delta.transaction)
        }
        guard let slot = entity.property(named: name)?.slot, let values,
          try BaseValues.value(of: owner, name, on: connection) != nil
        else { continue }
        let own = deltas.filter { $0.transaction > 0 }
        let former = own.reduce(values[slot]) { CounterDelta.difference($0, $1.value) ?? $0 }
        try BaseValues.replace(owner, name, with: former, on: connection)
      }
    }
  }
}

extension SyncSchema.Property {
  /// Whether what each side adds to it adds up.
  var isCounter: Bool {
    guard policy == .counter, case .attribute = kind else { return false }
    return true
  }
}

extension SyncSchema.Entity {
  fileprivate var hasCounters: Bool { properties.contains(where: \.isCounter) }
}
