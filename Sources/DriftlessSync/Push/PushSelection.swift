import Driftless
import DriftlessProtocol

/// What the next change set carries of what is pending, and what it leaves out.
struct PushSelection {
  /// Nothing is here that could be sent: what is pending waits in quarantine, or on it.
  private(set) var isEmpty = false
  /// History up to here is covered.
  private(set) var through: Int64 = 0
  private(set) var window = PendingObjects()
  private(set) var omitted = OmittedParts()
  /// How many objects have edits that wait for a key.
  private(set) var withoutKey = 0
  /// The last transaction that the zone had acknowledged when the sending of what is pending began (`UnsentSince`).
  var since: Int64 = 0
  /// What was brought back, and may be new to the zone, comes later.
  private(set) var leavesRevived = false
  /// All that it carries is offered to a zone that began anew.
  var isOffer: Bool { through < 0 }

  /// - Parameters:
  ///   - held: the objects in quarantine, and others that wait whole.
  ///   - waiting: properties that wait of others.
  init(
    _ pending: PendingSet, held: Set<ObjectKey>, waiting: [ObjectKey: PropertyMask] = [:],
    portion: Pusher.Portion, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws {
    var sendable = pending
    if !held.isEmpty {
      var references = HeldReferences(held, pending, transaction, schema: schema)
      omitted = try references.omitted()
      for key in omitted.objects { sendable.objects[key] = nil }
      for (key, mask) in references.waiting { sendable.update(key) { $0.clear(mask) } }
    }
    for (key, mask) in waiting {
      omitted.properties[key, default: PropertyMask()].formUnion(mask)
      sendable.update(key) { $0.clear(mask) }
    }
    try leaveOutLost(of: &sendable, transaction)
    try leaveOutUnmet(of: &sendable, transaction, schema)
    var keyless = try KeylessEdits(transaction, schema: schema)
    for key in try keyless.revivals(of: sendable) {
      withoutKey += 1
      omitted.objects.insert(key)
      sendable.objects[key] = nil
    }
    for (key, mask) in try keyless.waiting(sendable) {
      withoutKey += 1
      omitted.properties[key, default: PropertyMask()].formUnion(mask)
      sendable.update(key) { $0.clear(mask) }
    }
    through = sendable.through
    guard !sendable.isEmpty else {
      isEmpty = true
      return
    }
    if sendable.objects.containsState(where: { !$0.offers.isEmpty }) {
      sendable.objects.changeStates { number, object in
        guard !object.offers.isEmpty, let entity = schema.entity(numbered: number) else { return }
        // What was made or came back since goes whole, as it is now.
        if object.whole != .delete, object.isOfLater(than: PendingSet.lastOffer) {
          object.offers = []
        }
        object.withdrawEditedOffers(entity)
      }
    }
    let inTheWay = try Self.keys(of: portion.inTheWay, transaction)
    through = Self.reaching(
      inTheWay, from: sendable.cut(objectsMax: portion.objectsMax), sendable, schema)
    let goesApart =
      try sendable.hasOffers && !UnansweredSaves.names(transaction).isEmpty
      || MeantDeletes(transaction).goApart(sendable)
    if goesApart || sendable.hasEditedOffers { through = min(through, PendingSet.lastOffer) }
    if EditStamp.time(through) != nil {
      through = try Self.reaching(through, sendable, transaction, schema)
    }
    window = sendable.window(through: through)
    leavesRevived = sendable.objects.containsState { [through] in
      $0.whole == .revive && $0.isOfLater(than: through)
    }
    if let refused = portion.refusedObjects, window.count >= refused {
      try restrict(to: portion.objectsMax, first: inTheWay, transaction, schema)
    }
  }

  /// Root entities and keys of objects that the zone named.
  private static func keys(
    of numbers: Set<UInt64>, _ transaction: ReadTransaction
  ) throws -> Set<ObjectKey> {
    var directory = ObjectDirectory(transaction.connection)
    var keys: Set<ObjectKey> = []
    for number in numbers.sorted() {
      if let key = try directory.key(ofNumber: number) { keys.insert(key) }
    }
    return keys
  }

  /// What is offered goes by the times of its edits, and a new object by the last one of its making, so what refers to it
  /// may be the earlier one: the window goes on to what it refers to.
  private static func reaching(
    _ cut: Int64, _ pending: PendingSet, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> Int64 {
    var directory = ObjectDirectory(transaction.connection)
    var through = cut
    var seen: [ObjectKey: PropertyMask] = [:]
    var isClosed = false
    while !isClosed {
      isClosed = true
      for (key, object) in pending.window(through: through)
      where object.whole != .delete && seen[key] != object.properties {
        seen[key] = object.properties
        for key in try targets(of: key, object, transaction, schema) {
          guard let target = pending[key], target.whole == .insert || target.whole == .revive,
            target.wholeTransaction > through, EditStamp.time(target.wholeTransaction) != nil,
            // What was brought back in a log that is lost is new to the zone, too.
            try directory.number(root: schema.root(of: key), key: key.key) == nil
          else { continue }
          through = target.wholeTransaction
          isClosed = false
        }
      }
    }
    return through
  }

  /// What the pending relationships of an object refer to.
  private static func targets(
    of key: ObjectKey, _ object: PendingObject, _ transaction: ReadTransaction,
    _ schema: SyncSchema
  ) throws -> [ObjectKey] {
    let properties = schema.entity(numbered: key.entity)?.properties ?? []
    var targets: [ObjectKey] = []
    var row: [PropertyValue]?
    for property in properties where object.transaction(of: property.slot) != nil {
      switch property.kind {
      case .attribute, .place: continue
      case .elements(let relationship):
        targets += try transaction.toManyKeys(of: key, relationship)
        targets +=
          try OfferedSets.elements(of: key, property.name, on: transaction.connection) ?? []
      case .toOne:
        row = try row ?? transaction.knownRow(key)?.values
        guard case .reference(let target)? = row?[property.slot],
          let living = try transaction.concreteKey(root: target)
        else { continue }
        targets.append(living)
      }
    }
    return targets
  }

  /// What the zone named as being in the way holds a key that the window claims, or one that such an object needs in
  /// turn. Where an edit or a delete of it is pending beyond the window, the window goes on to that: all that is pending
  /// fits together, and a part of it need not.
  private static func reaching(
    _ inTheWay: Set<ObjectKey>, from cut: Int64, _ pending: PendingSet, _ schema: SyncSchema
  ) -> Int64 {
    guard cut < pending.through, !inTheWay.isEmpty else { return cut }
    return pending.objects.reduce(cut) { cut, entry in
      inTheWay.contains(schema.rooted(entry.key))
        ? max(cut, entry.value.lastTransaction) : cut
    }
  }

  /// Takes a part of a transaction: deletes first, which let go of keys, and what is in the way of others; then new
  /// objects, since the others may refer to them.
  private mutating func restrict(
    to objectsMax: Int, first inTheWay: Set<ObjectKey>, _ transaction: ReadTransaction,
    _ schema: SyncSchema
  ) throws {
    guard window.count > objectsMax else { return }
    var directory = ObjectDirectory(transaction.connection)
    var ranked: [(rank: Int, key: ObjectKey)] = []
    for (key, object) in window {
      let root = schema.rooted(key)
      guard object.whole != .delete, !inTheWay.contains(root) else {
        ranked.append((0, key))
        continue
      }
      let isNew = try directory.number(root: root.entity, key: root.key) == nil
      ranked.append((isNew ? 1 : 2, key))
    }
    ranked.sort { ($0.rank, $0.key.entity, $0.key.key) < ($1.rank, $1.key.entity, $1.key.key) }
    var part = PushPart(window, objectsMax: objectsMax, transaction, schema)
    for (_, key) in ranked { try part.add(key) }
    for (_, key) in ranked where !part.objects.contains(key) {
      window[key] = nil
      omitted.objects.insert(key)
    }
  }

  /// Whether it carries the same edits of the same objects.
  func isOfSame(as other: PushSelection) -> Bool {
    through == other.through && window.count == other.window.count
      && zip(window, other.window).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }
  }

  /// References of the window to objects that have no place in its change set.
  mutating func omit(_ references: [ObjectKey: PropertyMask]) {
    for (key, mask) in references {
      omitted.properties[key, default: PropertyMask()].formUnion(mask)
    }
  }
}

extension PendingObject {
  /// A value that was edited since it was offered is sent as the edit alone, but for a total or a set, on which the edit
  /// builds.
  fileprivate mutating func withdrawEditedOffers(_ entity: SyncSchema.Entity) {
    for property in entity.properties where !property.isOfferedBelowEdits {
      if (transaction(of: property.slot) ?? 0) > 0 { withdrawOffer(of: property.slot) }
    }
  }
}

/// So many objects of a window, each behind the new ones that the zone has to know before it: what an edit refers to, and
/// what a new object must refer to.
private struct PushPart {
  private(set) var objects: Set<ObjectKey> = []
  private let window: PendingObjects
  private let objectsMax: Int
  private let transaction: ReadTransaction
  private let schema: SyncSchema
  /// Those whose references were followed: new objects that need each other go in any order.
  private var followed: Set<ObjectKey> = []

  init(
    _ window: PendingObjects, objectsMax: Int, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) {
    self.window = window
    self.objectsMax = objectsMax
    self.transaction = transaction
    self.schema = schema
  }

  mutating func add(_ key: ObjectKey) throws {
    var waiting = [key]
    while objects.count < objectsMax, let next = waiting.last {
      let needed = try followed.insert(next).inserted ? needed(by: next) : []
      guard needed.isEmpty else {
        waiting += needed
        continue
      }
      objects.insert(next)
      waiting.removeLast()
    }
  }

  private func needed(by key: ObjectKey) throws -> [ObjectKey] {
    guard let object = window[key], object.whole != .delete,
      let entity = schema.entity(numbered: key.entity)
    else { return [] }
    let references = entity.properties.filter { property in
      guard case .toOne(let relationship) = property.kind else { return false }
      return object.whole == .none
        ? object.transaction(of: property.slot) != nil : !relationship.isOptional
    }
    guard !references.isEmpty, let values = try transaction.knownRow(key)?.values else { return [] }
    return try references.compactMap { property in
      guard case .reference(let target) = values[property.slot],
        let living = try transaction.concreteKey(root: schema.rooted(target)),
        window[living]?.whole == .insert || window[living]?.whole == .revive,
        !objects.contains(living)
      else { return nil }
      return living
    }
  }
}

extension PushSelection {
  /// An edit waits for its value, whose file beside the store is gone. A new object goes without it (`PendingReader`).
  private mutating func leaveOutLost(
    of sendable: inout PendingSet, _ transaction: ReadTransaction
  ) throws {
    for (key, slots) in try transaction.lostSlots() {
      guard let object = sendable.objects[key] else { continue }
      if object.whole == .revive {
        // It says all that the object is.
        omitted.objects.insert(key)
        sendable.objects[key] = nil
      }
      guard object.whole == .none else { continue }
      var waiting = slots
      waiting.formIntersection(object.properties)
      guard !waiting.isEmpty else { continue }
      omitted.properties[key, default: PropertyMask()].formUnion(waiting)
      sendable.update(key) { $0.clear(waiting) }
    }
  }
}

/// What has to wait because it refers to a new object in quarantine, which the zone has no name for, or has a key that one
/// in quarantine holds in the zone.
struct HeldReferences {
  private var held: Set<ObjectKey>
  private let pending: PendingSet
  private let transaction: ReadTransaction
  private let schema: SyncSchema
  private var directory: ObjectDirectory
  /// Held objects that the zone does not know, by root entity and key.
  private var nameless: Set<ObjectKey> = []
  /// Edits that say nothing but such a reference, or have such a key.
  private(set) var waiting: [ObjectKey: PropertyMask] = [:]

  init(
    _ held: Set<ObjectKey>, _ pending: PendingSet, _ transaction: ReadTransaction,
    schema: SyncSchema
  ) {
    self.held = held
    self.pending = pending
    self.transaction = transaction
    self.schema = schema
    directory = ObjectDirectory(transaction.connection)
  }

  mutating func omitted() throws -> OmittedParts {
    let keys = try HeldKeys(of: held, pending, transaction, schema: schema)
    held.formUnion(keys.objects)
    waiting = keys.properties
    for key in held { try noteNameless(key) }
    if !nameless.isEmpty {
      while try holdThoseThatNeedThem() {}
      for (key, object) in pending.objects where !held.contains(key) {
        try noteWaiting(key, object)
      }
    }
    return OmittedParts(objects: held, properties: waiting)
  }

  private mutating func noteNameless(_ key: ObjectKey) throws {
    if try directory.number(root: schema.root(of: key), key: key.key) == nil {
      nameless.insert(rooted(key))
    }
  }

  private func rooted(_ key: ObjectKey) -> ObjectKey { schema.rooted(key) }

  /// A new object that must have one of them waits whole. True when there was another such.
  private mutating func holdThoseThatNeedThem() throws -> Bool {
    var hasMore = false
    for (key, object) in pending.objects where !held.contains(key) && object.whole == .insert {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      var needs = entity.properties.filter {
        if case .toOne(let relationship) = $0.kind { return !relationship.isOptional }
        return false
      }.map(\.slot)
      // What the other end says comes with that.
      needs += entity.echoes.indexes.filter {
        entity.description.layout.slots[$0].relationship?.isOptional == false
      }
      guard !needs.isEmpty, let values = try transaction.knownRow(key)?.values else { continue }
      for slot in needs {
        guard case .reference(let target) = values[slot],
          nameless.contains(rooted(target)), held.insert(key).inserted
        else { continue }
        try noteNameless(key)
        hasMore = true
      }
    }
    return hasMore
  }

  private mutating func noteWaiting(_ key: ObjectKey, _ object: PendingObject) throws {
    guard object.whole == .none, let entity = schema.entity(numbered: key.entity) else { return }
    let relationships = entity.properties.filter { property in
      switch property.kind {
      case .attribute, .place: false
      case .toOne, .elements: object.transaction(of: property.slot) != nil
      }
    }
    guard !relationships.isEmpty, let values = try transaction.knownRow(key)?.values else { return }
    for property in relationships {
      guard try isWaiting(property, of: key, values) else { continue }
      waiting[key, default: PropertyMask()].insert(property.slot)
    }
  }

  private func isWaiting(
    _ property: SyncSchema.Property, of key: ObjectKey, _ values: [PropertyValue]
  ) throws -> Bool {
    guard case .elements(let relationship) = property.kind else {
      guard case .reference(let target) = values[property.slot] else { return false }
      return nameless.contains(rooted(target))
    }
    let current = try transaction.toManyKeys(of: key, relationship)
    let set = try BaseValues.set(of: key, property.name, on: transaction.connection)
    let base = set?.elements ?? []
    let adds = Set(current).subtracting(base)
    // What is asserted is told by name: an element that nobody can name is none of that.
    let asserted = set?.asserted ?? []
    return Set(base).isSubset(of: current) && !adds.isEmpty
      && asserted.allSatisfy { adds.contains($0) }
      && adds.allSatisfy { nameless.contains(rooted($0)) }
  }
}
