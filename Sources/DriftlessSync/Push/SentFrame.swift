import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A change set that the zone has just accepted: what it said becomes what the zone is known to
/// hold.
struct SentFrame {
  private let outbox: Outbox
  let transaction: WriteTransaction
  let schema: SyncSchema
  private var directory: ObjectDirectory
  /// What parts of the same push before it make.
  private let madeBefore: [KeyRun]

  init(
    _ outbox: Outbox, after madeBefore: [KeyRun] = [], _ transaction: WriteTransaction,
    schema: SyncSchema
  ) {
    self.outbox = outbox
    self.madeBefore = madeBefore
    self.transaction = transaction
    self.schema = schema
    directory = ObjectDirectory(transaction.connection)
  }

  /// What was sent, with the values that were sealed.
  func opened() throws -> ChangeSet {
    try CellOpener(transaction, schema: schema).opened(
      ChangeSetDecoder().decode(outbox.frame))
  }

  /// Brings the base values in line: the base of what is pending again is the value that was sent;
  /// the rest goes.
  ///
  /// - Parameter pending: what is pending after the acknowledgement.
  mutating func settleBases(_ pending: PendingSet) throws {
    let connection = transaction.connection
    guard try BaseValues.exist(on: connection) else { return }
    var kept = keptBases(pending)
    for key in try Unions.undoable(on: connection) {
      let places = schema.entity(numbered: key.entity)?.places ?? []
      if !places.isEmpty { kept[key, default: []].formUnion(places.map(\.name)) }
    }
    // Sets that an object left by a delete are needed until that delete is acknowledged.
    let keepsSets = pending.objects.containsState { $0.whole == .delete }
    guard keepsSets || !kept.isEmpty else { return try BaseValues.dropAll(on: connection) }
    var stale: [(ObjectKey, String)] = []
    try BaseValues.forEachProperty(on: connection) { key, name in
      if kept[key]?.contains(name) == true { return }
      if keepsSets, isSet(name, of: key) {
        kept[key, default: []].insert(name)
      } else {
        stale.append((key, name))
      }
    }
    for (key, property) in stale { try BaseValues.drop(key, property, on: connection) }
    // Also of what is not pending any more: its next change is told from what the zone has now.
    try rebase(kept, pending)
  }

  private func isSet(_ property: String, of key: ObjectKey) -> Bool {
    guard case .elements? = schema.entity(numbered: key.entity)?.property(named: property)?.kind
    else { return false }
    return true
  }

  private func keptBases(_ pending: PendingSet) -> [ObjectKey: Set<String>] {
    var kept: [ObjectKey: Set<String>] = [:]
    for (key, object) in pending.objects {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      let offers = OfferedSets.names(of: object, entity)
      if !offers.isEmpty { kept[key, default: []].formUnion(offers) }
      for property in entity.properties {
        switch property.kind {
        // What a delete took with it, and the links that one cut.
        case .place where object.whole == .delete,
          .toOne where object.transaction(of: property.slot) != nil:
          kept[key, default: []].insert(property.name)
        default: break
        }
        guard property.needsBase else { continue }
        guard object.whole == .delete || object.transaction(of: property.slot) != nil
        else { continue }
        kept[key, default: []].insert(property.name)
      }
    }
    return kept
  }

  /// Sets the base of each kept property that the change set sent to the value that it sent.
  ///
  /// What was deleted here since then has bases too: it may come back.
  private mutating func rebase(
    _ kept: [ObjectKey: Set<String>], _ pending: PendingSet
  ) throws {
    let changeSet = try opened()
    let keys = try objectKeys(changeSet.index, deleted: pending)
    for (group, reader) in columns(of: changeSet, where: { $0.needsBase }) {
      guard !reader.isOfOtherType else { continue }
      for (row, object) in group.objects.enumerated() {
        guard let key = keys[object], kept[key]?.contains(reader.property.name) == true
        else { continue }
        // An insert and a revival say a whole set.
        try rebase(
          key, reader, row: row, keys: keys, changeSet.index,
          isWhole: reader.saysWhole || group.kind != .update)
      }
    }
  }

  /// The columns of the change set whose properties are here and are meant, each with its group.
  private func columns(
    of changeSet: ChangeSet, where isMeant: (SyncSchema.Property) -> Bool
  ) -> [(group: ChangeSetIndex.Group, reader: PropertyReader)] {
    var found: [(group: ChangeSetIndex.Group, reader: PropertyReader)] = []
    var columns = changeSet.columns.makeIterator()
    for group in changeSet.index.groups {
      let names = changeSet.index.entities[group.entity]
      let entity = schema.entity(namedNowOrBefore: names.name)
      for index in group.properties {
        guard let column = columns.next(),
          let property = entity?.property(namedNowOrBefore: names.properties[index]),
          isMeant(property), let reader = PropertyReader(property: property, column: column)
        else { continue }
        found.append((group, reader))
      }
    }
    return found
  }

  private mutating func rebase(
    _ key: ObjectKey, _ reader: PropertyReader, row: Int, keys: [ObjectKey?],
    _ index: ChangeSetIndex, isWhole: Bool
  ) throws {
    let connection = transaction.connection
    let name = reader.property.name
    switch reader.property.kind {
    case .elements: break
    case .attribute, .place:
      return try BaseValues.replace(key, name, with: reader.value(row), on: connection)
    case .toOne:
      let target = reader.reference(row).flatMap { keys[$0] }
      return try BaseValues.replace(
        key, name, with: target.map { .reference($0) } ?? .null, on: connection)
    }
    let (adds, removes) = reader.elements(row)
    // What left the set with its own delete, which the zone has now, is in no row here.
    var told = Set(
      try removes.compactMap { try keys[$0].map(schema.rooted) ?? root(of: $0, index) })
    let added = adds.compactMap { keys[$0] }
    var base = try BaseValues.keys(of: key, name, on: connection) ?? []
    // An ordered one says its whole sequence.
    if reader.property.relationship?.isOrdered == true {
      told.formUnion(added.map(schema.rooted))
    }
    base.removeAll { isWhole || told.contains(schema.rooted($0)) }
    var known = Set(base)
    base += added.filter { known.insert($0).inserted }
    try BaseValues.replace(key, name, with: base, on: connection)
  }

  /// The zone may have the sets as the change set said, which was never answered: what was changed of them since is told
  /// against that, where it would be no change of what is known to be there.
  mutating func rebaseUnanswered(_ pending: PendingSet) throws {
    let transaction = transaction
    try forEachSet(pending) { key, property, relationship, word in
      guard pending[key]?.transaction(of: property.slot) != nil,
        try transaction.knownRow(key) != nil
      else { return }
      let local = Set(try transaction.toManyKeys(of: key, relationship))
      let gone = word.adds.filter { !local.contains($0) }
      let back = local.intersection(word.removes)
      // A whole set takes out all that it does not name.
      let left = word.isWhole ? local.subtracting(word.adds) : back
      try Self.rebase(key, property.name, adding: gone, removing: left, transaction)
      try Self.rebase(
        key, OfferedSets.name(property.name), adding: gone, removing: back, transaction)
    }
  }

  /// Hands over what the change set says of each set of an object that is known here.
  ///
  /// - Parameter pending: what is pending now, so that a deleted object is known by its own entity.
  mutating func forEachSet(
    _ pending: PendingSet,
    _ body: (ObjectKey, SyncSchema.Property, RelationshipDescription, UnansweredSets.Word) throws ->
      Void
  ) throws {
    // A damaged one was never taken by a server, and goes with the log.
    guard let changeSet = try? ChangeSetDecoder().decode(outbox.frame) else { return }
    let keys = try objectKeys(changeSet.index, deleted: pending)
    for (group, reader) in columns(of: changeSet, where: { $0.relationship != nil }) {
      guard case .elements(let relationship) = reader.property.kind else { continue }
      for (row, object) in group.objects.enumerated() {
        guard let key = keys[object] else { continue }
        let (adds, removes) = reader.elements(row)
        try body(
          key, reader.property, relationship,
          UnansweredSets.Word(
            adds: adds.compactMap { keys[$0] }, removes: removes.compactMap { keys[$0] },
            isWhole: reader.saysWhole || group.kind != .update))
      }
    }
  }

  private static func rebase(
    _ key: ObjectKey, _ name: String, adding gone: [ObjectKey], removing back: Set<ObjectKey>,
    _ transaction: WriteTransaction
  ) throws {
    guard let former = try BaseValues.set(of: key, name, on: transaction.connection) else { return }
    let base =
      former.elements.filter { !back.contains($0) }
      + gone.filter { !former.elements.contains($0) }
    guard base != former.elements else { return }
    try BaseValues.replace(
      key, name, with: base, asserting: former.asserted, on: transaction.connection)
  }

  /// An object that the zone knew before the change set, alive here or not.
  mutating func root(of object: Int, _ index: ChangeSetIndex) throws -> ObjectKey? {
    let known = object - index.newObjectCount
    guard index.knownNumbers.indices.contains(known) else { return nil }
    return try directory.key(ofNumber: index.knownNumbers[known])
  }

  /// What the change set sets is newer than what is parked.
  ///
  /// - Parameter firstNumber: what the first of its new objects got.
  mutating func strikeParked(sequence: UInt64, firstNumber: UInt64) throws {
    let connection = transaction.connection
    let watched = Parking.Watched(try Parking.entries(on: connection))
    var values = try ParkedValues(connection)
    let hasValues = values.mayHaveAny || values.named.mayHaveAny
    guard try !watched.isEmpty || hasValues || namesLargeValues() else { return }
    let told = try ChangeSetDecoder().decode(outbox.frame)
    let changeSet = try CellOpener(transaction, schema: schema).opened(told)
    let index = changeSet.index
    var numbered = index
    numbered.number(from: firstNumber)
    try Parking.strike(watched, numbered, sequence: sequence, on: connection)
    guard hasValues || !index.values.isEmpty else { return }
    let keys = try objectKeys(index)
    var columns = Array(zip(told.columns, changeSet.columns))[...]
    for group in index.groups {
      let own = Array(columns.prefix(group.properties.count))
      columns = columns.dropFirst(group.properties.count)
      let names = index.entities[group.entity]
      let entity = schema.entity(namedNowOrBefore: names.name)
      for (property, (sent, column)) in zip(group.properties, own) {
        let known = entity?.property(namedNowOrBefore: names.properties[property])
        let name = known?.name ?? names.properties[property]
        var reader = known.flatMap { PropertyReader(property: $0, column: column) }
        if sent.large != nil { reader?.told = sent }
        for (row, object) in group.objects.enumerated() {
          guard let key = keys[object] else { continue }
          try noteNamedCell(reader, row: row, of: key, name, &values.named)
          guard let parked = try values.value(of: key, name) else {
            // Told by its name, since an undo went back to it, it is in the zone and not here.
            guard column.large != nil, let told = reader?.value(row), told.isInZone,
              let large = LargeCell.value(in: told)
            else { continue }
            try values.add(
              told, of: key, name, reason: LargeCell.reasonInZone(large), sequence: sequence,
              sender: changeSet.header.replica, at: Date())
            try MissedValues.noteInLog(large.digest, on: connection)
            continue
          }
          // Where it sent the parked value itself, that is the zone's still. A value that no zone has stays with who knows its name.
          let told = reader?.value(row)
          if told == parked, let large = LargeCell.value(in: parked) {
            try MissedValues.noteInLog(large.digest, on: connection)
          }
          guard told != parked, try told?.isNull != true || !isNamed(key, known, parked) else {
            continue
          }
          try values.strike(key, name)
        }
      }
    }
  }

  /// The zone's word on a property is the name that was sent, or another one than it was.
  private func noteNamedCell(
    _ reader: PropertyReader?, row: Int, of key: ObjectKey, _ name: String,
    _ named: inout NamedCells
  ) throws {
    guard let reader, reader.property.standIn?.showsNames == true, let large = reader.named(row),
      try transaction.knownRow(key)?.values[reader.property.slot].isInZone == false
    else { return try named.strike(key, name) }
    try named.note(large, of: key, name)
  }

  /// Whether the object has a value by its name, which is set aside.
  private func isNamed(
    _ key: ObjectKey, _ property: SyncSchema.Property?, _ parked: PropertyValue
  ) throws -> Bool {
    guard let property, LargeCell.value(in: parked) != nil else { return false }
    return try transaction.knownRow(key)?.values[property.slot].isInZone == true
  }

  private func namesLargeValues() throws -> Bool {
    try ChangeSetDecoder().decodeHeader(outbox.frame).namesLargeValues
  }

  /// The names of now of the properties that the change set sets, by object, also of what was deleted here since.
  mutating func properties(_ pending: PendingSet) throws -> [ObjectKey: Set<String>] {
    let (_, index) = try ChangeSetDecoder().decodeIndex(outbox.frame)
    let keys = try objectKeys(index, deleted: pending)
    var properties: [ObjectKey: Set<String>] = [:]
    for group in index.groups where group.kind != .delete {
      let names = index.entities[group.entity]
      guard let entity = schema.entity(namedNowOrBefore: names.name) else { continue }
      // An insert and a revival say every property: those that they leave out are null.
      let told =
        group.kind == .update
        ? group.properties.compactMap { entity.property(namedNowOrBefore: names.properties[$0]) }
        : entity.properties
      for key in group.objects.compactMap({ keys[$0] }) {
        properties[key, default: []].formUnion(told.map(\.name))
      }
    }
    return properties
  }

  /// The objects that the change set revived.
  mutating func revived() throws -> [ObjectKey] {
    let (_, index) = try ChangeSetDecoder().decodeIndex(outbox.frame)
    guard index.groups.contains(where: { $0.kind == .revive }) else { return [] }
    let keys = try objectKeys(index)
    return index.groups.filter { $0.kind == .revive }.flatMap { group in
      group.objects.compactMap { keys[$0] }
    }
  }

  /// An object that a part before this one makes, by its place among all that those make.
  private func key(madeBefore place: Int64) -> ObjectKey? {
    var rest = place
    guard rest >= 0 else { return nil }
    for run in madeBefore {
      if rest < run.count { return ObjectKey(entity: run.entity, key: run.first &+ rest) }
      rest -= run.count
    }
    return nil
  }

  /// The objects of the change set's table with their concrete entities; nil for a known one that
  /// has no row, unless its delete is pending.
  mutating func objectKeys(
    _ index: ChangeSetIndex, deleted pending: PendingSet = PendingSet()
  ) throws -> [ObjectKey?] {
    var deleted: [ObjectKey: ObjectKey] = [:]
    for (key, object) in pending.objects where object.whole == .delete {
      deleted[schema.rooted(key)] = key
    }
    var keys: [ObjectKey?] = []
    for run in outbox.runs {
      for offset in 0..<max(0, run.count) {
        keys.append(ObjectKey(entity: run.entity, key: run.first &+ offset))
      }
    }
    let madeCount = madeBefore.reduce(0) { $0 + $1.count }
    for number in index.knownNumbers {
      if let distance = ChangeSetIndex.distance(ofName: number) {
        keys.append(key(madeBefore: madeCount &- Int64(clamping: distance)))
        continue
      }
      let root = try directory.key(ofNumber: number)
      keys.append(try root.flatMap { try transaction.concreteKey(root: $0) ?? deleted[$0] })
    }
    return keys
  }
}
