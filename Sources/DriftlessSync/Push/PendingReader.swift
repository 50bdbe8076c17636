import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Reads the current values of what is pending, in one snapshot, as groups of a change set.
struct PendingReader {
  let transaction: ReadTransaction
  let schema: SyncSchema
  var directory: ObjectDirectory
  private var rows: RowWalk
  var elementWalks: [ObjectIdentifier: ElementWalk] = [:]
  let dangling: DanglingReferences
  private let parkedValues: ParkedValues
  private var drafts: [ChangeDraft] = []
  private var places: [Shape: Int] = [:]
  /// The shape of the last object and its place: most objects have that of the one before.
  private var last: (shape: Shape, place: Int)?
  /// New objects, in the order of the object table.
  private(set) var newKeys: [ObjectKey] = []
  /// Deletes of objects that the zone had, and lost.
  private(set) var tombstones: [TombstoneDraft] = []
  /// What stays pending: references to what neither the zone nor this change set has, and what waits for a key.
  var unsent: [ObjectKey: PropertyMask] = [:]
  /// What stands in columns and cannot be read: it is no value that could be sent.
  private var unreadable: [ObjectKey: PropertyMask] = [:]
  /// What new objects say nothing of: large values that no zone has.
  var unsaid: [ObjectKey: PropertyMask] = [:]
  let isPartial: Bool
  private var tellsLater = false
  /// Up to which transaction the window goes.
  let through: Int64
  /// Properties of the window that are offers.
  var offered: [ObjectKey: PropertyMask] = [:]
  /// Those that were edited since.
  var edited: [ObjectKey: PropertyMask] = [:]
  /// New objects of the window, by root entity and key: known only when it is partial.
  private(set) var arriving: Set<ObjectKey> = []
  /// When the properties of what the window revives were edited.
  private let knownEdits: EditHistory
  /// The keys that the objects hold from now on.
  private(set) var claims: KeyClaimsDraft
  private(set) var objects = 0
  private(set) var properties = 0
  /// About how many bytes the values take, not compressed.
  private(set) var bytes = 0

  /// - Parameters:
  ///   - isPartial: objects are left out of the window, to which others may refer.
  ///   - through: the last transaction of the window.
  ///   - knownEdits: when the properties of what is revived were edited.
  init(
    _ transaction: ReadTransaction, schema: SyncSchema, zone: UUID, isPartial: Bool, through: Int64,
    knownEdits: EditHistory
  ) throws {
    self.through = through
    self.knownEdits = knownEdits
    claims = KeyClaimsDraft(transaction, zone: zone, ring: schema.keys)
    self.transaction = transaction
    self.schema = schema
    self.isPartial = isPartial
    directory = ObjectDirectory(transaction.connection, readsAhead: true)
    rows = RowWalk(transaction)
    dangling = try DanglingReferences(transaction.connection)
    parkedValues = try ParkedValues(transaction.connection)
  }

  /// The groups of a window of pending objects: inserts, revivals, updates, deletes.
  ///
  /// - Throws: `PartBounds.Passed` when they are more than one change set holds.
  mutating func read(_ window: PendingObjects, within bounds: PartBounds) throws -> [ChangeDraft] {
    defer { finishWalks() }
    prepare(window)
    try window.forEachInOrder {
      guard bounds.admit(objects: objects, bytes: bytes) else { throw PartBounds.Passed() }
      try append($0, $1)
    }
    return try takeDrafts()
  }

  /// The groups of a part of a window: as many objects as the bounds let in.
  mutating func read(
    _ part: inout WindowParts, of window: PendingObjects, within bounds: PartBounds
  ) throws -> [ChangeDraft] {
    defer { finishWalks() }
    prepare(window)
    while bounds.admit(objects: objects, bytes: bytes), let next = part.next() {
      switch next {
      case .object(let key): if let object = window[key] { try append(key, object) }
      case .later(let key, let properties): try append(properties, of: key, window)
      }
    }
    return try takeDrafts()
  }

  /// References of a new object to what parts after its own make.
  private mutating func append(
    _ properties: PropertyMask, of key: ObjectKey, _ window: PendingObjects
  ) throws {
    guard let object = window[key], let entity = schema.entity(numbered: key.entity) else { return }
    var later = PendingObject()
    for property in entity.properties where properties.contains(property.slot) {
      later.set(
        PropertyMask([property.slot]),
        by: object.transaction(of: property.slot) ?? object.lastTransaction)
    }
    tellsLater = true
    try appendEdits(key, later, entity)
    tellsLater = false
  }

  private func finishWalks() {
    rows.finish()
    for walk in elementWalks.values { walk.finish() }
  }

  private mutating func prepare(_ window: PendingObjects) {
    if isPartial {
      for (key, object) in window where object.whole == .insert || object.whole == .revive {
        arriving.insert(schema.rooted(key))
      }
    }
    if window.containsState(where: { !$0.offers.isEmpty }) {
      for (key, object) in window where !object.offers.isEmpty {
        offered[key] = object.offers.reduce(into: PropertyMask()) { $0.formUnion($1.properties) }
        edited[key] = object.editedOffers
      }
    }
  }

  private mutating func takeDrafts() throws -> [ChangeDraft] {
    guard unreadable.isEmpty else { throw UnreadableValues(objects: unreadable) }
    let drafts = drafts
    self.drafts = []
    // The object table goes group by group.
    newKeys = drafts.filter { $0.kind == .insert }.flatMap(\.keys)
    let order: [ChangeSetIndex.Group.Kind] = [.insert, .revive, .update, .delete]
    return order.flatMap { kind in
      // A revival says its nulls: deleted and made anew between two pushes, the object is alive elsewhere, with what it had.
      // So does an offer: that nothing is there may be the later word.
      drafts.filter { $0.kind == kind }.map {
        kind == .insert && !isOffer($0) ? $0.withoutEmptyRelationships() : $0
      }
    }
  }

  private mutating func append(_ key: ObjectKey, _ object: PendingObject) throws {
    guard let entity = schema.entity(numbered: key.entity) else { return }
    let isKnown = try directory.number(root: entity.rootNumber, key: key.key) != nil
    switch (object.whole, isKnown) {
    case (.delete, false):
      // Made and deleted before the zone heard of it: nothing to say.
      guard object.isOfZone, try transaction.concreteKey(root: key) == nil else { return }
      tombstones.append(
        TombstoneDraft(key: key, entity: entity, transaction: object.wholeTransaction))
      objects += 1
    case (.delete, true):
      // Made again as an object of another entity of its hierarchy, it is not deleted.
      if try transaction.concreteKey(root: key) == nil { appendDelete(key, object, entity) }
    // A pending insert of an object with a number: the zone had it and deleted it, and it is here again.
    case (.revive, true): try appendRevival(key, object, entity)
    case (.insert, true): try appendWhole(.revive, key, object, entity)
    case (_, false)
    where EditStamp.time(object.wholeTransaction) != nil
      && (object.edits.contains { $0.transaction != object.wholeTransaction }
        || object.isOfferedInPart(entity)):
      try appendByTime(.insert, key, object, entity, object.editsByTime)
    case (_, false):
      let edits = object.editsSinceMaking(entity)
      guard edits.count > 1 else { return try appendWhole(.insert, key, object, entity) }
      try appendByTime(.insert, key, object, entity, edits)
    case (.none, true): try appendEdits(key, object, entity)
    }
  }

  private mutating func appendDelete(
    _ key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity
  ) {
    let place = place(.delete, entity, PropertyMask())
    drafts[place].append(key, transaction: object.wholeTransaction)
    objects += 1
  }

  /// What an object holds: where the model cannot hold the zone's value, and nobody here edited it, the zone's.
  private mutating func values(
    of key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity
  ) throws -> [PropertyValue]? {
    guard case (var values, var lost, var unreadable)? = try rows.values(of: key) else {
      return nil
    }
    if object.whole == .none { unreadable.formIntersection(object.properties) }
    if !unreadable.isEmpty { self.unreadable[key] = unreadable }
    // A value whose file is gone stays pending until it is there again.
    if object.whole == .none { lost.formIntersection(object.properties) }
    if !lost.isEmpty { unsent[key, default: .init()].formUnion(lost) }
    try nameOrLeaveOut(&values, key, object, entity)
    guard parkedValues.mayHaveAny else { return values }
    let isBack = try isBack(key, object, entity)
    for property in entity.properties {
      guard let standIn = property.standIn,
        object.transaction(of: property.slot).map({ EditStamp.time($0) != nil }) ?? true,
        let value = try parkedValues.value(of: key, property.name),
        standIn.crosses(value)
          || (isBack || object.isOffered(property.slot)) && standIn.names(value)
      else { continue }
      values[property.slot] = value
    }
    return values
  }

  private mutating func appendWhole(
    _ kind: ChangeSetIndex.Group.Kind, _ key: ObjectKey, _ object: PendingObject,
    _ entity: SyncSchema.Entity
  ) throws {
    guard let values = try values(of: key, object, entity) else { return }
    try appendRow(
      place(kind, entity, said(entity.all, of: key)), kind, key, object, values,
      by: object.lastTransaction)
    try claims.add(key, entity, values, leaving: unsent[key])
    objects += 1
  }

  /// A new object whose properties were edited at different times, each of which counts: it is
  /// inserted with those of its making, and the others follow as updates of the same change set. A null is an edit there,
  /// which an insert does not name.
  private mutating func appendByTime(
    _ kind: ChangeSetIndex.Group.Kind, _ key: ObjectKey, _ object: PendingObject,
    _ entity: SyncSchema.Entity, _ edits: [PendingObject.Edit]
  ) throws {
    guard let values = try values(of: key, object, entity) else { return }
    for (index, edit) in edits.enumerated() {
      let mask = said(edit.properties, of: key)
      if index > 0, mask.isEmpty { continue }
      try appendRow(
        place(index == 0 ? kind : .update, entity, mask), kind, key, object, values,
        by: edit.transaction)
    }
    try claims.add(key, entity, values, leaving: unsent[key])
    objects += 1
  }

  /// What the properties of a draft's group are of a new object.
  private mutating func appendRow(
    _ place: Int, _ kind: ChangeSetIndex.Group.Kind, _ key: ObjectKey, _ object: PendingObject,
    _ values: [PropertyValue], by transaction: Int64
  ) throws {
    for column in drafts[place].columns.indices {
      let property = drafts[place].columns[column].property
      let cell = try wholeCell(kind, key, object, property, values)
      if !cell.isEmpty { properties += 1 }
      bytes += cell.bytes
      drafts[place].columns[column].append(cell)
    }
    drafts[place].append(key, transaction: transaction)
  }

  /// An object that the zone deleted, and that an edit keeps. What was edited at another time than that, here or by those
  /// whose edits came before the delete, has its own: an edit of another replica may be between the two. What adds up has no
  /// time, and sets are whole in the revival.
  private mutating func appendRevival(
    _ key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity
  ) throws {
    let last = object.lastTransaction
    var whole = entity.all
    var others: [Int64: PropertyMask] = [:]
    for property in entity.properties where !property.keepsDeltas {
      if case .elements = property.kind { continue }
      let slot = property.slot
      let edit =
        object.transaction(of: slot)
        ?? EditStamp.number(knownEdits.time(of: key, slot) ?? HybridTime(rawValue: 0))
      guard edit != last else { continue }
      let mask = PropertyMask([slot])
      whole.subtract(mask)
      others[edit, default: PropertyMask()].formUnion(mask)
    }
    let edits = others.sorted { $0.key < $1.key }
      .map { PendingObject.Edit(transaction: $0.key, properties: $0.value) }
    try appendByTime(
      .revive, key, object, entity,
      [PendingObject.Edit(transaction: last, properties: whole)] + edits)
  }

  /// What a property of a new object says: a set says all of its elements.
  private mutating func wholeCell(
    _ kind: ChangeSetIndex.Group.Kind, _ key: ObjectKey, _ object: PendingObject,
    _ property: SyncSchema.Property, _ values: [PropertyValue]
  ) throws -> ColumnDraft.Cell {
    // Nil where a later change set tells it.
    let edit = object.transaction(of: property.slot)
    switch property.kind {
    case .place(let relationship):
      return .value(try transaction.placeValue(of: key, in: relationship))
    case .attribute:
      let value = try total(key, property, values, edit)
      guard KeylessEdits.waits(value, property, schema) else { return .value(value) }
      unsent[key, default: PropertyMask()].insert(property.slot)
      return .value(.null)
    case .toOne:
      let value = try reference(key, property, values, edit)
      if case .reference(let target) = value, try !hasPlace(target) {
        unsent[key, default: PropertyMask()].insert(property.slot)
        return .value(.null)
      }
      return .value(value)
    case .elements(let relationship):
      // Until then a new object's is empty: a copy of this store, which knows the save that made the object, would take
      // elements of later for some of that save.
      if kind == .insert, edit == nil { return .elements(adds: [], removes: []) }
      let elements = try elements(key, property, relationship, edit)
      if isPartial {
        for element in elements where try !hasPlace(element) {
          unsent[key, default: PropertyMask()].insert(property.slot)
        }
      }
      return .elements(adds: elements, removes: [])
    }
  }

  private mutating func appendEdits(
    _ key: ObjectKey, _ object: PendingObject, _ entity: SyncSchema.Entity
  ) throws {
    guard let values = try values(of: key, object, entity) else { return }
    var isCounted = false
    for edit in object.edits {
      var mask = PropertyMask()
      for property in entity.properties
      where edit.properties.contains(property.slot) && !isUnread(property, of: key) {
        mask.insert(property.slot)
      }
      if isPartial { try leaveOut(key, entity, values, edit.transaction, of: &mask) }
      guard !mask.isEmpty else { continue }
      let place = place(.update, entity, mask)
      for column in drafts[place].columns.indices {
        let cell = try cell(key, drafts[place].columns[column].property, values, edit.transaction)
        drafts[place].columns[column].append(cell)
        properties += 1
        bytes += cell.bytes
      }
      drafts[place].append(key, transaction: edit.transaction)
      isCounted = true
    }
    if isCounted {
      objects += 1
      try claims.add(
        key, entity, values, setting: object.properties, leaving: unsent[key])
    }
  }

  private mutating func cell(
    _ key: ObjectKey, _ property: SyncSchema.Property, _ values: [PropertyValue], _ edit: Int64
  ) throws -> ColumnDraft.Cell {
    if case .place(let relationship) = property.kind {
      return .value(try transaction.placeValue(of: key, in: relationship))
    }
    guard case .elements(let relationship) = property.kind else {
      if case .attribute = property.kind { return .value(try total(key, property, values, edit)) }
      return .value(try reference(key, property, values, edit))
    }
    let current = try elements(key, property, relationship, edit)
    // Of a new object all is told, whatever it was here before the zone knew of it.
    guard !tellsLater else { return .elements(adds: current, removes: []) }
    let set = try BaseValues.set(of: key, property.name, on: transaction.connection)
    let base = set?.elements ?? []
    let asserted = set?.asserted ?? []
    let old = Set(base).subtracting(asserted)
    let new = Set(current)
    for element in new.subtracting(old) where try !hasPlace(element) {
      unsent[key, default: PropertyMask()].insert(property.slot)
    }
    // An ordered relationship says its whole sequence: the zone's check lets nobody else's change of it lie in between.
    return .elements(
      adds: relationship.isOrdered ? current : current.filter { !old.contains($0) },
      removes: base.filter { !new.contains($0) }
        + asserted.filter { !new.contains($0) && !base.contains($0) })
  }

  private mutating func place(
    _ kind: ChangeSetIndex.Group.Kind, _ entity: SyncSchema.Entity, _ mask: PropertyMask
  ) -> Int {
    let shape = Shape(kind: kind, entity: entity.number, properties: mask)
    if let last, last.shape == shape { return last.place }
    let place = places[shape] ?? drafts.count
    if place == drafts.count {
      drafts.append(ChangeDraft(kind, entity, entity.properties.filter { mask.contains($0.slot) }))
      places[shape] = place
    }
    last = (shape, place)
    return place
  }
}
