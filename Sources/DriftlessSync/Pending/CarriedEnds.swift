import Driftless
import DriftlessSQLite
import Foundation

/// Edits that were made with a model of before, in which a relationship was said from its other end, or was of another kind:
/// they wait to be sent, and go over to the end that says the fact by now.
///
/// What is edited stands in the rows. What the zone has is that without the pairs that differ between the former end's base
/// and what it has.
struct CarriedEnds {
  static let setting = "sync.owningEnds"

  private let schema: SyncSchema
  private let ends: Int64

  init(_ schema: SyncSchema) {
    self.schema = schema
    ends = Self.digest(of: schema)
  }

  /// Whether relationships are said in another way than when the store was looked through last.
  func areDue(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(Self.setting) != .integer(ends)
  }

  /// What goes over with the next sync, by the objects of which it was edited; nothing where that was done.
  func waiting(_ transaction: ReadTransaction, _ state: ReplicaState) throws
    -> [ObjectKey: [Int: Int64]]
  {
    guard try areDue(transaction), try transaction.setting(Self.setting) != nil else { return [:] }
    return try edits(transaction, state)
  }

  func carry(_ applier: PageApplier, by state: ReplicaState) throws {
    let isKnown = try applier.transaction.setting(Self.setting) != nil
    try applier.transaction.setSetting(Self.setting, .integer(ends))
    guard isKnown else { return }
    try dropOddBases(applier)
    try findLostBases(applier, upTo: state.cursor)
    var owners = Owners()
    try addEdits(applier, state, to: &owners)
    try addNew(applier, to: &owners)
    try write(owners, applier)
  }

  // MARK: Of another kind

  /// A set is no base of a reference.
  private func dropOddBases(_ applier: PageApplier) throws {
    let connection = applier.transaction.connection
    var odd: [(ObjectKey, String)] = []
    try BaseValues.forEachProperty(on: connection) { key, name in
      guard case .toOne? = schema.entity(numbered: key.entity)?.property(named: name)?.kind else {
        return
      }
      odd.append((key, name))
    }
    for (key, name) in odd {
      let isOne =
        try BaseValues.value(of: key, name, on: connection) != nil
        && BaseValues.keys(of: key, name, on: connection)?.count ?? 0 < 2
      if !isOne { try BaseValues.drop(key, name, on: connection) }
    }
  }

  /// Of a reference that is a set by now no base was kept: the entries say what the zone has.
  private func findLostBases(_ applier: PageApplier, upTo cursor: UInt64) throws {
    let transaction = applier.transaction
    var wanted: PlaceValues.Names = [:]
    for (key, object) in applier.pending.objects where object.whole == .none {
      for property in schema.entity(numbered: key.entity)?.properties ?? [] {
        guard case .elements = property.kind,
          object.transaction(of: property.slot) != nil, object.offer(of: property.slot) == nil,
          try !BaseValues.isKept(of: key, property.name, on: transaction.connection)
        else { continue }
        wanted[key, default: []].insert(property.name)
      }
    }
    let found = try PlaceValues.find(wanted, upTo: cursor, transaction, schema: schema)
    for (key, values) in found {
      for (name, value) in values {
        var base: [ObjectKey] = []
        if case .elements(let roots) = value {
          base = try roots.compactMap { try transaction.concreteKey(root: $0) }
        }
        try BaseValues.replace(key, name, with: base, on: transaction.connection)
      }
    }
  }

  // MARK: From another end

  /// What is pending of objects at the ends that say it by now.
  private struct Owners {
    struct Part {
      var added: [ObjectKey] = []
      var removed: [ObjectKey] = []
      var transaction: Int64
    }

    private(set) var parts: [ObjectKey: [Int: Part]] = [:]

    mutating func add(
      _ key: ObjectKey, to owner: ObjectKey, _ slot: Int, isIn: Bool, _ transaction: Int64
    ) {
      var part = parts[owner]?[slot] ?? Part(transaction: transaction)
      part.transaction = max(part.transaction, transaction)
      if isIn { part.added.append(key) } else { part.removed.append(key) }
      parts[owner, default: [:]][slot] = part
    }
  }

  /// The last edits of relationships that are not said from there, by objects and slots.
  private func edits(
    _ transaction: ReadTransaction, _ state: ReplicaState
  ) throws -> [ObjectKey: [Int: Int64]] {
    var edits: [ObjectKey: [Int: Int64]] = [:]
    var overrides: [ObjectKey: Int64] = [:]
    try PendingState.forEach(on: transaction.connection) { key, through, data in
      overrides[key] = through
      guard let entity = schema.entity(numbered: key.entity), !entity.otherEnds.isEmpty else {
        return
      }
      for (name, number) in PendingState.transactions(in: data()) {
        if let end = entity.otherEnds[name] { edits[key, default: [:]][end.slot] = number }
      }
    }
    _ = try transaction.forEachLocalChange(after: state.acknowledged) { number, key, change in
      guard case .update(let mask) = change, number > overrides[key] ?? 0,
        let entity = schema.entity(numbered: key.entity)
      else { return }
      for end in entity.eachOtherEnd where mask.contains(end.slot) {
        edits[key, default: [:]][end.slot] = number
      }
    }
    return edits
  }

  private func addEdits(
    _ applier: PageApplier, _ state: ReplicaState, to owners: inout Owners
  ) throws {
    let transaction = applier.transaction
    let connection = transaction.connection
    for (key, slots) in try edits(transaction, state) {
      guard (applier.pending[key] ?? PendingObject()).whole == .none,
        try transaction.concreteKey(root: key) == key,
        let entity = schema.entity(numbered: key.entity)
      else { continue }
      for (slot, number) in slots {
        guard let end = entity.otherEnd(at: slot),
          let base = try base(of: key, end, on: connection)
        else { continue }
        let current = try self.current(key, end, applier)
        for owner in current where !base.contains(owner) {
          try add(key, to: owner, end, isIn: true, number, applier, &owners)
        }
        for owner in base where !current.contains(owner) {
          try add(key, to: owner, end, isIn: false, number, applier, &owners)
        }
        try BaseValues.drop(key, end.name, on: connection)
      }
    }
  }

  /// What a new object has at such an end was told with the object.
  private func addNew(_ applier: PageApplier, to owners: inout Owners) throws {
    for (key, object) in applier.pending.objects
    where object.whole == .insert || object.whole == .revive {
      guard let entity = schema.entity(numbered: key.entity), !entity.otherEnds.isEmpty,
        try applier.transaction.concreteKey(root: key) == key
      else { continue }
      for end in entity.eachOtherEnd {
        for owner in try current(key, end, applier) {
          guard
            let property = schema.entity(numbered: owner.entity)?.property(named: end.owner.name),
            applier.pending[owner]?.transaction(of: property.slot) == nil
          else { continue }
          try add(key, to: owner, end, isIn: true, object.lastTransaction, applier, &owners)
        }
      }
    }
  }

  private func add(
    _ key: ObjectKey, to owner: ObjectKey, _ end: OtherEnd, isIn: Bool, _ number: Int64,
    _ applier: PageApplier, _ owners: inout Owners
  ) throws {
    guard (applier.pending[owner] ?? PendingObject()).whole == .none,
      try applier.transaction.concreteKey(root: owner) == owner,
      let property = schema.entity(numbered: owner.entity)?.property(named: end.owner.name)
    else { return }
    owners.add(key, to: owner, property.slot, isIn: isIn, number)
  }

  private func base(
    of key: ObjectKey, _ end: OtherEnd, on connection: SQLiteConnection
  ) throws -> [ObjectKey]? {
    guard !end.relationship.isToMany else {
      return try BaseValues.keys(of: key, end.name, on: connection)
    }
    guard let value = try BaseValues.value(of: key, end.name, on: connection) else { return nil }
    if case .reference(let target) = value { return [target] }
    return []
  }

  private func current(
    _ key: ObjectKey, _ end: OtherEnd, _ applier: PageApplier
  ) throws -> [ObjectKey] {
    guard !end.relationship.isToMany else {
      return try applier.transaction.toManyKeys(of: key, end.relationship)
    }
    guard case .reference(let target) = try applier.currentValues(of: key)[end.slot] else {
      return []
    }
    return try applier.transaction.concreteKey(root: target).map { [$0] } ?? []
  }

  private func write(_ owners: Owners, _ applier: PageApplier) throws {
    let connection = applier.transaction.connection
    for (key, parts) in owners.parts {
      for (slot, part) in parts {
        guard let entity = schema.entity(numbered: key.entity),
          let property = entity.property(named: entity.description.layout.slots[slot].name)
        else { continue }
        let former = applier.pending[key]?.transaction(of: slot)
        if case .elements(let relationship) = property.kind {
          let set = try BaseValues.set(of: key, property.name, on: connection)
          let known = former == nil ? nil : set?.elements
          var base =
            try known ?? applier.transaction.toManyKeys(of: key, relationship)
          base.removeAll { part.added.contains($0) }
          base += part.removed.filter { !base.contains($0) }
          try BaseValues.replace(
            key, property.name, with: base, asserting: former == nil ? [] : set?.asserted ?? [],
            on: connection)
        } else if try property.needsBase
          && !(former != nil && BaseValues.isKept(of: key, property.name, on: connection))
        {
          var value = try applier.currentValues(of: key)[slot]
          if case .reference(let target) = value, part.added.contains(target) { value = .null }
          if let last = part.removed.last { value = .reference(last) }
          try BaseValues.replace(key, property.name, with: value, on: connection)
        }
        let last = max(part.transaction, former ?? part.transaction)
        applier.setPending(key) { $0.set(PropertyMask([slot]), by: last) }
      }
    }
  }

  /// Which ends say relationships, and as what.
  private static func digest(of schema: SyncSchema) -> Int64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for entity in schema.entities {
      for property in entity.properties {
        guard let relationship = property.relationship else { continue }
        let end = [
          entity.name, property.name, "\(relationship.isToMany)", "\(relationship.isOrdered)",
        ]
        for byte in end.joined(separator: "\t").utf8 {
          digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
        }
      }
    }
    return Int64(bitPattern: digest)
  }
}

extension SyncEngine {
  /// Brings what waits to be sent in line with the ends from which the model says relationships. It comes before all that
  /// settles something.
  func carryEnds() throws {
    let ends = CarriedEnds(schema)
    guard try store.read({ try ends.areDue($0) }) else { return }
    try settling { applier, state in try ends.carry(applier, by: state) }
  }
}
