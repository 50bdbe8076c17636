import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the entries above a place of the log changed: what a server that was put back to that place
/// does not know. Read from the kept entries, while the objects still have their numbers.
struct LostEdits {
  /// By concrete key: the properties that were set, with the times of their edits (`EditStamp`).
  private(set) var objects: [ObjectKey: PendingObject] = [:]
  /// What sets of objects gained and lost.
  private(set) var elements:
    [ObjectKey: [String: (adds: Set<ObjectKey>, removes: Set<ObjectKey>)]] =
      [:]
  /// Sets that an entry said whole: the relationship was to-one then.
  private var wholes: [ObjectKey: Set<String>] = [:]
  /// Properties of which no entry said a value that the model has: what the object shows of them stands in for one.
  private(set) var unsaid: [ObjectKey: PropertyMask] = [:]
  /// Objects that do not live at the place: the first that was done to them above it made them or brought them back.
  private var absent: Set<ObjectKey> = []
  /// What the log up to the place says of what may have to go back to that, and of sets that were said whole above it.
  private var former: [ObjectKey: [String: PlaceValues.Said]] = [:]
  /// Who made the edits of a time (`EditStamp`).
  private(set) var origins: [Int64: EditOrigin] = [:]
  /// What was counted.
  private var counts: LostCounts
  private(set) var saves = UnansweredSaves()
  /// When what a person's word went with was deleted: it goes with that still, also as tombstones.
  private(set) var meantDeletes: Set<HybridTime> = []
  private let place: UInt64
  private let transaction: WriteTransaction
  private let schema: SyncSchema
  private var directory: ObjectDirectory

  init(
    after place: UInt64, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    self.place = place
    self.transaction = transaction
    self.schema = schema
    directory = ObjectDirectory(transaction.connection)
    counts = LostCounts(after: place)
    // What cannot be decoded was parked when it came: nothing of it is here to be offered.
    try KeptFrames.forEach(after: place, on: transaction.connection) { entry in
      guard var changeSet = try? ChangeSetDecoder().decode(entry) else { return }
      changeSet = try CellOpener(transaction, schema: schema).opened(changeSet)
      try read(changeSet, firstNumber: entry.firstObjectNumber)
    }
    if place > 0 { try readPlace() }
  }

  /// A change of an ordered set, and a reference of before, name all that a set has: what it had at the place was not put in
  /// above that, and what a reference does not name was taken out.
  private mutating func readPlace() throws {
    var names: PlaceValues.Names = [:]
    for key in objects.keys {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      let wanted = namesThatMayGoBack(key, entity).union(setsSaidWhole(of: key, entity))
      if !wanted.isEmpty { names[key] = wanted }
    }
    former = try PlaceValues.find(names, upTo: place, transaction, schema: schema)
    for (key, said) in former {
      for case (let name, .elements(let roots)) in said {
        let placed = try roots.compactMap { try concrete($0) }
        if wholes[key]?.contains(name) == true, let left = elements[key]?[name]?.adds {
          elements[key]?[name]?.removes = Set(placed).subtracting(left)
        }
        elements[key]?[name]?.adds.subtract(placed)
      }
    }
  }

  private mutating func read(_ changeSet: ChangeSet, firstNumber: UInt64) throws {
    let index = changeSet.index
    saves.note(changeSet, schema)
    if changeSet.header.massDeleteIsMeant { noteMeant(index) }
    try noteTombstones(index)
    var keys: [ObjectKey?] = []
    var makers: [UInt64] = []
    for run in index.newObjects {
      for _ in 0..<run.count {
        keys.append(try directory.key(ofNumber: firstNumber &+ UInt64(keys.count)))
      }
      makers += run.makers.isEmpty ? Array(repeating: 0, count: run.count) : run.makers
    }
    for number in index.knownNumbers { keys.append(try directory.key(ofNumber: number)) }
    var column = 0
    for group in index.groups {
      let columns = changeSet.columns[column..<column + group.properties.count]
      column += group.properties.count
      let names = index.entities[group.entity]
      guard let entity = schema.entity(namedNowOrBefore: names.name) else { continue }
      // That an attribute of a new object has no value is nobody's edit.
      let properties = zip(group.properties, columns).map { place, column in
        group.kind == .insert && column.isNothing
          ? nil : entity.property(namedNowOrBefore: names.properties[place])
      }
      let (said, unsaid) = Self.said(zip(properties, columns), entity, group.kind)
      var row = 0
      for run in group.transactionRuns {
        let time = index.transactions[run.transaction].hybridTime
        let name = index.transactions[run.transaction].name
        let stamp = EditStamp.number(HybridTime(rawValue: time))
        let origin = EditOrigin(
          author: index.transactions[run.transaction].author,
          contextName: index.transactions[run.transaction].contextName)
        if let origin { origins[stamp] = origin }
        for _ in 0..<run.count {
          defer { row += 1 }
          guard let root = keys[group.objects[row]] else { continue }
          let key = ObjectKey(entity: entity.number, key: root.key)
          note(group.kind, of: key, entity, properties, by: stamp, origin)
          noteSaid(of: key, said, unsaid)
          if group.kind == .insert {
            let told = makers.indices.contains(group.objects[row]) ? makers[group.objects[row]] : 0
            // An offer is named by its time, not by who made the object.
            objects[key]?.maker = told != 0 || name == time ? told : name
          }
          counts.note(
            group, row: row, of: key, entity, zip(properties, columns), index, run.transaction)
          guard group.kind == .update else { continue }
          for (property, column) in zip(properties, columns) {
            guard let property, case .elements = property.kind,
              let reader = PropertyReader(property: property, column: column)
            else { continue }
            if reader.saysWhole {
              elements[key]?[property.name] = nil
              wholes[key, default: []].insert(property.name)
            }
            try noteElements(reader.elements(row), keys, of: key, property.name)
          }
        }
      }
    }
  }

  private mutating func noteMeant(_ index: ChangeSetIndex) {
    for tombstone in index.tombstones {
      meantDeletes.insert(HybridTime(rawValue: tombstone.hybridTime))
    }
    for group in index.groups where group.kind == .delete {
      for run in group.transactionRuns {
        meantDeletes.insert(
          HybridTime(rawValue: index.transactions[run.transaction].hybridTime))
      }
    }
  }

  private mutating func note(
    _ kind: ChangeSetIndex.Group.Kind, of key: ObjectKey, _ entity: SyncSchema.Entity,
    _ properties: [SyncSchema.Property?], by stamp: Int64, _ origin: EditOrigin? = nil
  ) {
    if objects[key] == nil, kind == .insert || kind == .revive { absent.insert(key) }
    var object = objects[key] ?? PendingObject()
    switch kind {
    case .insert:
      object = PendingObject()
      object.whole = .insert
      object.wholeTransaction = stamp
      object.set(entity.all, by: stamp)
      elements[key] = nil
    case .revive:
      object = PendingObject()
      object.whole = .revive
      object.wholeTransaction = stamp
      // What was edited at another time follows in the same change set, with that time.
      object.set(PropertyMask(properties.compactMap { $0?.slot }), by: stamp)
      elements[key] = nil
    case .update:
      for case let property? in properties {
        // A later word of the log is the later one, also where an edit was made before the one that it was settled with.
        let former = object.transaction(of: property.slot)
        let later = former.map { max(stamp, $0 &+ 1) } ?? stamp
        if later != stamp, let origin { origins[later] = origin }
        object.set(PropertyMask([property.slot]), by: later)
      }
    case .delete:
      object = PendingObject()
      object.whole = .delete
      object.wholeTransaction = stamp
      elements[key] = nil
    }
    objects[key] = object
  }

  /// What a group says of its objects' properties, and of which it says nothing that the model has.
  private static func said(
    _ columns: some Sequence<(SyncSchema.Property?, Column)>, _ entity: SyncSchema.Entity,
    _ kind: ChangeSetIndex.Group.Kind
  ) -> (said: PropertyMask, unsaid: PropertyMask) {
    var (said, unsaid) = (PropertyMask(), PropertyMask())
    if kind == .insert {
      for property in entity.properties where property.standIn?.value.isNull == false {
        unsaid.insert(property.slot)
      }
    }
    for case (let property?, let column) in columns {
      if PropertyReader(property: property, column: column) == nil {
        unsaid.insert(property.slot)
      } else {
        said.insert(property.slot)
      }
    }
    unsaid.subtract(said)
    return (said, unsaid)
  }

  private mutating func noteSaid(
    of key: ObjectKey, _ said: PropertyMask, _ unsaid: PropertyMask
  ) {
    guard !unsaid.isEmpty || self.unsaid[key] != nil else { return }
    self.unsaid[key, default: PropertyMask()].subtract(said)
    self.unsaid[key]?.formUnion(unsaid)
  }

  /// Deletes of what the zone did not know when it heard of them.
  private mutating func noteTombstones(_ index: ChangeSetIndex) throws {
    for tombstone in index.tombstones {
      guard index.entities.indices.contains(tombstone.entity),
        let entity = schema.entity(namedNowOrBefore: index.entities[tombstone.entity].name),
        let root = try transaction.key(ofOwn: tombstone.identity),
        schema.root(of: root) == entity.rootNumber,
        try directory.number(root: entity.rootNumber, key: root.key) == nil
      else { continue }
      note(
        .delete, of: ObjectKey(entity: entity.number, key: root.key), entity, [],
        by: EditStamp.number(HybridTime(rawValue: tombstone.hybridTime)))
    }
  }

  /// The object as sets name it; nil for one that is deleted, which no set has.
  private func concrete(_ root: ObjectKey?) throws -> ObjectKey? {
    try root.flatMap { try transaction.concreteKey(root: $0) }
  }

  private mutating func noteElements(
    _ change: (adds: [Int], removes: [Int]), _ keys: [ObjectKey?], of key: ObjectKey, _ name: String
  ) throws {
    var sum = elements[key]?[name] ?? ([], [])
    for element in try change.adds.compactMap({ try concrete(keys[$0]) }) {
      sum.adds.insert(element)
      sum.removes.remove(element)
    }
    for element in try change.removes.compactMap({ try concrete(keys[$0]) }) {
      sum.removes.insert(element)
      sum.adds.remove(element)
    }
    elements[key, default: [:]][name] = sum
  }
}

extension LostEdits {
  /// What was lost of an object below what is pending of it.
  func edits(below pending: PendingObject, of key: ObjectKey) -> PendingObject {
    var object = pending
    guard let lost = objects[key], lost.whole == .insert || lost.whole == .revive else {
      object.edits = []
      return object
    }
    object.maker = lost.maker
    for edit in lost.edits {
      var properties = edit.properties
      properties.subtract(pending.properties)
      object.set(properties, by: edit.transaction)
    }
    return object
  }

  /// Makes what was lost pending beside what is pending here already: the edits that the zone never
  /// acknowledged stay as they are.
  ///
  /// - Returns: how many objects are offered.
  func offer(beside pending: PendingSet, _ states: OfferedStates) throws -> Int {
    var counts = counts
    try counts.findStarts(transaction, schema: schema)
    let standIns = try OfferedStandIns(unsaid, transaction, schema: schema)
    var count = 0
    for (key, lost) in objects {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      let isAlive = try transaction.knownRow(key) != nil
      let before = pending[key] ?? PendingObject()
      var object = before
      if lost.whole == .delete {
        guard !isAlive, before.whole != .delete else { continue }
        object = lost
      } else if !isAlive, before.whole == .delete, lost.whole != .insert {
        // An edit of another replica may bring it back, and then it is to have these.
        object.wasInZone = true
        for edit in lost.edits {
          var properties = edit.properties
          properties.subtract(before.properties)
          object.set(properties, by: edit.transaction)
        }
        try assertAdds(key, entity)
        try rewindValues(key, entity)
        try counts.keep(key, entity, beside: before, transaction)
      } else {
        guard isAlive else { continue }
        if before.whole == .none, lost.whole != .none {
          object.whole = lost.whole
          object.wholeTransaction = lost.wholeTransaction
          object.maker = lost.maker
          object.wasInZone = true
        }
        let kept = before.properties
        for edit in lost.edits {
          var properties = edit.properties
          properties.subtract(kept)
          object.set(properties, by: edit.transaction)
        }
        try standIns.leaveOut(of: &object, key, entity)
        try rewindSets(key, entity)
        try rewindValues(key, entity)
        try counts.keep(key, entity, beside: before, transaction)
      }
      guard object != before else { continue }
      count += 1
      try states.save(object, of: key, entity: entity)
    }
    return count
  }

  /// What a set of a deleted object gained above the place is told again, should the object come back.
  private func assertAdds(_ key: ObjectKey, _ entity: SyncSchema.Entity) throws {
    let connection = transaction.connection
    for (name, change) in elements[key] ?? [:] {
      guard case .elements? = entity.property(named: name)?.kind,
        let base = try BaseValues.set(of: key, name, on: connection)
      else { continue }
      let added = base.elements.filter(change.adds.contains).without(base.asserted)
      try BaseValues.replace(
        key, name, with: base.elements, asserting: base.asserted + added, on: connection)
    }
  }

  /// The base of a set that was changed above the place is the set as it was there. What was put in above it and taken out
  /// since, unsent, stays in the base, and what was taken out and put in again stays away: others may offer what they know
  /// of it, and the edit here is an edit of that.
  private func rewindSets(_ key: ObjectKey, _ entity: SyncSchema.Entity) throws {
    let connection = transaction.connection
    let isMade = absent.contains(key)
    for property in entity.properties {
      guard case .elements(let relationship) = property.kind else { continue }
      let name = property.name
      let change = elements[key]?[name]
      let former = try BaseValues.set(of: key, name, on: connection)
      guard change != nil || isMade && former != nil else { continue }
      let local = try transaction.toManyKeys(of: key, relationship)
      let here = Set(local)
      var base = former?.elements ?? local
      base.removeAll { (isMade || change?.adds.contains($0) == true) && here.contains($0) }
      base = base.united(
        with: (change?.removes ?? []).subtracting(here).sorted { $0.key < $1.key })
      if case .elements(let roots)? = self.former[key]?[name] {
        base = base.inOrder(of: try roots.compactMap { try concrete($0) })
      }
      try BaseValues.replace(
        key, name, with: base, asserting: former?.asserted ?? [], on: connection)
    }
  }

  private func setsSaidWhole(of key: ObjectKey, _ entity: SyncSchema.Entity) -> Set<String> {
    guard !absent.contains(key), let changed = elements[key] else { return [] }
    return Set(
      changed.keys.filter {
        entity.property(named: $0)?.relationship?.isOrdered == true
          || wholes[key]?.contains($0) == true
      })
  }

  /// Nothing of an object that the zone does not have at the place.
  private func namesThatMayGoBack(_ key: ObjectKey, _ entity: SyncSchema.Entity) -> Set<String> {
    guard let lost = objects[key], !absent.contains(key) else { return [] }
    return Set(
      entity.properties
        .filter { $0.mayGoBack && lost.transaction(of: $0.slot) != nil }.map(\.name))
  }

  /// What may have to go back to the zone's value goes back to what that was at the place.
  private func rewindValues(_ key: ObjectKey, _ entity: SyncSchema.Entity) throws {
    let connection = transaction.connection
    for name in namesThatMayGoBack(key, entity) {
      if case .value(let value)? = former[key]?[name] {
        try BaseValues.replace(key, name, with: value, on: connection)
      } else {
        try BaseValues.drop(key, name, on: connection)
        // A place that nobody knows stays as it is.
        if case .place? = entity.property(named: name)?.kind { continue }
        try UnknownBases.note(transaction)
      }
    }
  }
}
