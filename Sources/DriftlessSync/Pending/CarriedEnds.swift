import Driftless
import DriftlessSQLite
import Foundation

/// Edits that were made with a model of before, in which a relationship was said from its other end, or was of another kind:
/// they wait to be sent, and go over to the end that says the fact by now. What needs a base by now gets one.
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
    try findLostBases(applier)
    var owners = Owners()
    try addEdits(applier, state, to: &owners)
    try addNew(applier, to: &owners)
    try write(owners, applier)
    try forgetOtherEnds(applier)
  }

  /// What is kept beside the rows of an end that does not say its relationship any more: what the zone was heard to say of it is
  /// read anew, and a deleted object has the fact by itself, should it come back.
  private func forgetOtherEnds(_ applier: PageApplier) throws {
    for source in try applier.dangling.sources() {
      let entity = schema.entity(numbered: source.key.entity)
      guard entity?.otherEnds[source.property] != nil else { continue }
      try applier.dangling.removeAll(of: source)
    }
    for key in applier.zone.keys {
      let ends = schema.entity(numbered: key.entity)?.otherEnds ?? [:]
      for name in try applier.zone.object(key).values.keys {
        guard let end = ends[name] else { continue }
        try readAnew(end.owner, applier.transaction)
        try applier.zone.removeValue(of: key, name)
      }
    }
  }

  private func readAnew(
    _ owner: RelationshipDescription, _ transaction: WriteTransaction
  ) throws {
    var names: Set<String> = []
    for entity in schema.entities
    where entity.property(named: owner.name)?.relationship === owner {
      names.insert("\(entity.name).\(owner.name)")
    }
    try ModelMeaning.Notes.add(gone: [], unmade: names, transaction)
  }

  // MARK: Of another kind

  /// A set is no base of a reference.
  private func dropOddBases(_ applier: PageApplier) throws {
    let connection = applier.transaction.connection
    let hasLeft = applier.left != nil
    var odd: [(ObjectKey, String)] = []
    try BaseValues.forEachProperty(on: connection) { key, name in
      guard case .toOne? = schema.entity(numbered: key.entity)?.property(named: name)?.kind else {
        return
      }
      odd.append((key, name))
    }
    for (key, name) in odd {
      guard let set = try BaseValues.set(of: key, name, on: connection) else { continue }
      let isOne =
        try BaseValues.value(of: key, name, on: connection) != nil && set.elements.count < 2
      // Of what was not sent when the store left its zone nothing is known (`UnsentBases`).
      let isUnknown = hasLeft && set.elements.isEmpty && set.asserted.isEmpty
      if !isOne, !isUnknown { try BaseValues.drop(key, name, on: connection) }
    }
  }

  /// Of what was no set, no key and in no tree no base was kept: the entries say what the zone has. Above the cursor only those of
  /// this replica are kept.
  private func findLostBases(_ applier: PageApplier) throws {
    let transaction = applier.transaction
    var wanted: PlaceValues.Names = [:]
    for (key, object) in applier.pending.objects where object.whole == .none {
      for property in schema.entity(numbered: key.entity)?.properties ?? [] {
        guard property.needsBase, !property.keepsDeltas,
          object.transaction(of: property.slot) != nil, object.offer(of: property.slot) == nil,
          try !BaseValues.isKept(of: key, property.name, on: transaction.connection)
        else { continue }
        wanted[key, default: []].insert(property.name)
      }
    }
    let found = try PlaceValues.find(wanted, upTo: Self.top, transaction, schema: schema)
    for (key, names) in wanted {
      for name in names {
        switch found[key]?[name] {
        case .value(let value):
          try BaseValues.replace(key, name, with: value, on: transaction.connection)
        case .elements(let roots):
          let base = try roots.compactMap { try transaction.concreteKey(root: $0) }
          try BaseValues.replace(key, name, with: base, on: transaction.connection)
        case .change:
          try BaseValues.replace(key, name, with: [], on: transaction.connection)
        case nil:
          guard let property = schema.entity(numbered: key.entity)?.property(named: name),
            property.mayGoBack
          else { continue }
          // A place that nobody knows stays as it is.
          if case .place = property.kind { continue }
          try UnknownBases.note(transaction)
        }
      }
    }
  }

  /// Above every entry.
  private static let top = UInt64(Int64.max)

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
    // A store that came back to its zone was acknowledged more before it left than its history is now.
    let acknowledged = max(
      state.acknowledged, try LeftZone.kept(transaction)?.acknowledged ?? 0)
    _ = try transaction.forEachLocalChange(after: acknowledged) { number, key, change in
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
    let edited = try edits(transaction, state).filter { key, _ in
      try isInZone(key, applier) && transaction.concreteKey(root: key) == key
    }
    let found = try basesInEntries(of: edited, applier)
    for (key, slots) in edited {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      for (slot, number) in slots {
        guard let end = entity.otherEnd(at: slot) else { continue }
        // Where nobody here knows what an edit took out, that is the zone's again, and the journal tells it.
        let base = try base(of: key, end, transaction) ?? found[key]?[end.name]
        let current = try self.current(key, end, applier)
        for owner in current.without(base ?? []) {
          try add(key, to: owner, end, isIn: true, number, applier, &owners)
        }
        for owner in (base ?? []).without(current) {
          try add(key, to: owner, end, isIn: false, number, applier, &owners)
        }
        let time = try transaction.editTime(number)
        let cut = try applier.dangling.target(
          of: DanglingReferences.Source(key: key, property: end.name), editedAt: time)
        if base == nil { try readAnew(end.owner, transaction) }
        if base == nil || cut != nil {
          try applier.journal.addUncarried(
            entity: entity, end: end, key: key, local: current + [cut].compactMap(\.self),
            isCut: cut != nil, time: time, sequence: state.cursor)
        }
        try BaseValues.drop(key, end.name, on: connection)
      }
    }
  }

  /// What the zone has at ends of which no base was kept, since a model of before said the relationship there, as the entries
  /// have it; those of which they do not say all are left out.
  private func basesInEntries(
    of edited: [ObjectKey: [Int: Int64]], _ applier: PageApplier
  ) throws -> [ObjectKey: [String: [ObjectKey]]] {
    let transaction = applier.transaction
    var wanted: PlaceValues.Names = [:]
    for (key, slots) in edited {
      for slot in slots.keys {
        guard let end = schema.entity(numbered: key.entity)?.otherEnd(at: slot),
          try base(of: key, end, transaction) == nil
        else { continue }
        wanted[key, default: []].insert(end.name)
      }
    }
    var bases: [ObjectKey: [String: [ObjectKey]]] = [:]
    for (key, said) in try PlaceValues.find(
      wanted, upTo: Self.top, transaction, schema: schema)
    {
      for case (let name, .elements(let roots)) in said {
        bases[key, default: [:]][name] = try roots.map {
          try transaction.concreteKey(root: $0) ?? $0
        }
      }
    }
    return bases
  }

  /// Whether an object is neither new to the zone, nor deleted in it. One that a store had told before it left its zone is new to its
  /// history alone.
  private func isInZone(_ key: ObjectKey, _ applier: PageApplier) -> Bool {
    switch applier.pending[key]?.whole {
    case .none?, nil: true
    case .insert: applier.wasTold(applier.pending[key])
    case .revive, .delete: false
    }
  }

  /// What a new object has at such an end was told with the object.
  private func addNew(_ applier: PageApplier, to owners: inout Owners) throws {
    for (key, object) in applier.pending.objects
    where object.whole == .insert || object.whole == .revive {
      guard let entity = schema.entity(numbered: key.entity), !entity.otherEnds.isEmpty,
        !isInZone(key, applier),
        try applier.transaction.concreteKey(root: key) == key
      else { continue }
      for end in entity.eachOtherEnd {
        for owner in try current(key, end, applier) {
          guard
            let property = schema.entity(numbered: owner.entity)?.property(named: end.owner.name),
            !saysItself(owner, property.slot, applier)
          else { continue }
          try add(key, to: owner, end, isIn: true, object.lastTransaction, applier, &owners)
        }
      }
    }
  }

  /// Whether what is pending of an object says it. What a store had told before it left its zone is pending in its history alone.
  private func saysItself(_ owner: ObjectKey, _ slot: Int, _ applier: PageApplier) -> Bool {
    guard let edit = applier.pending[owner]?.transaction(of: slot) else { return false }
    return !(edit > 0 && edit <= applier.left?.acknowledged ?? 0)
  }

  private func add(
    _ key: ObjectKey, to owner: ObjectKey, _ end: OtherEnd, isIn: Bool, _ number: Int64,
    _ applier: PageApplier, _ owners: inout Owners
  ) throws {
    guard let property = schema.entity(numbered: owner.entity)?.property(named: end.owner.name)
    else { return }
    let whole = applier.pending[owner]?.whole ?? .none
    if whole == .delete, !isIn, case .elements = property.kind {
      // An edit of another replica may bring it back, with what the zone has.
      let connection = applier.transaction.connection
      let set = try BaseValues.set(of: owner, property.name, on: connection)
      let base = set?.elements ?? []
      guard !base.contains(key) else { return }
      return try BaseValues.replace(
        owner, property.name, with: base + [key], asserting: set?.asserted ?? [], on: connection)
    }
    guard isInZone(owner, applier),
      try applier.transaction.concreteKey(root: owner) == owner
    else { return }
    owners.add(key, to: owner, property.slot, isIn: isIn, number)
  }

  private func base(
    of key: ObjectKey, _ end: OtherEnd, _ transaction: ReadTransaction
  ) throws -> [ObjectKey]? {
    let connection = transaction.connection
    guard !end.relationship.isToMany else {
      let set = try BaseValues.set(of: key, end.name, on: connection)
      // What is asserted and not there was taken out.
      return try set.map {
        $0.elements
          + $0.asserted.without(try transaction.toManyKeys(of: key, end.relationship) + $0.elements)
      }
    }
    guard let value = try BaseValues.value(of: key, end.name, on: connection) else { return nil }
    guard case .reference(let target) = value else { return [] }
    return [try transaction.concreteKey(root: target) ?? target]
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
          let base =
            try (known ?? applier.transaction.toManyKeys(of: key, relationship))
            .without(part.added).united(with: part.removed)
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

  /// Which ends say relationships, and as what, and of what a base is kept.
  private static func digest(of schema: SyncSchema) -> Int64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for entity in schema.entities {
      for property in entity.properties {
        guard property.relationship != nil || property.needsBase else { continue }
        let end = [
          entity.name, property.name, "\(property.relationship?.isToMany ?? false)",
          "\(property.relationship?.isOrdered ?? false)", "\(property.needsBase)",
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
    try settling(carriesEnds: false) { applier, state in try ends.carry(applier, by: state) }
  }
}
