import DriftlessSQLite

/// Takes care of values that rows of an import are to have and a unique index refuses.
///
/// A log gives keys up and takes them in an order that no index asks for: two objects that swap a value, a new object
/// before the delete of the one that had it. So an import writes a row without what is refused, and hands it over.
package protocol KeyKeeper: AnyObject {
  /// Whether nothing is kept: then it need not hear of what is written.
  var isEmpty: Bool { get }
  /// Whether any of what is kept waits for a unique key: then rows are written one by one.
  var waitsForKeys: Bool { get }
  /// The row is about to get other values of these properties, or of all of them (nil): what is kept of them counts no
  /// more.
  func forget(_ key: ObjectKey, _ mask: PropertyMask?) throws
  /// The row was to have this value.
  func keep(_ key: ObjectKey, _ slot: Int, _ value: PropertyValue) throws
  /// One-to-one relationships that the object owns were written, or went with it: the other ends have to follow.
  func noteOwner(_ key: ObjectKey)
  /// The row was written without a value that its model requires.
  func noteLack(_ key: ObjectKey, _ slot: Int, had: PropertyValue)
  /// The row was written with a value that its model requires.
  func noteFill(_ key: ObjectKey, _ slot: Int) throws
  /// The row is about to go.
  func noteGone(_ key: ObjectKey) throws
  /// The row is new, and has partners that its model requires once those say so.
  func noteNew(_ key: ObjectKey)
}

/// An object that holds a unique key which another one is to have.
package struct KeyHolder: Hashable, Sendable {
  package let holder: ObjectKey
  /// The places of the constrained properties in the layout of the one that is to have it.
  package let slots: [Int]
}

extension StoreSchema {
  /// The places of the properties of each uniqueness constraint that holds for an entity's rows. The store's index holds
  /// for all rows that have these properties, whichever entity of the hierarchy declares the constraint.
  package func uniqueSlots(numbered number: Int32) -> [[Int]] {
    uniqueColumns(numbered: number).map(\.slots)
  }
}

extension ReadTransaction {
  /// The other objects that hold a key which an object with these values would hold.
  ///
  /// - Parameter mask: only of constraints over one of these properties.
  package func keyHolders(
    of key: ObjectKey, _ values: [PropertyValue], touching mask: PropertyMask
  ) throws -> [KeyHolder] {
    var holders: [KeyHolder] = []
    for columns in schema.uniqueColumns(numbered: key.entity)
    where columns.slots.contains(where: mask.contains) {
      let holder = try values.withRow { try columns.row(with: $0, self) }
      guard let holder, holder.key != key.key else { continue }
      holders.append(KeyHolder(holder: holder, slots: columns.slots))
    }
    return holders
  }
}

extension SQLiteError {
  /// Whether a unique index refuses a row.
  var isUniqueness: Bool { code == 19 | (8 << 8) }
}

extension WriteTransaction {
  /// Runs a write of a row; when a unique index refuses it, runs it without what is refused, which goes to the keeper.
  func keeping(
    _ key: ObjectKey, _ mask: PropertyMask?, _ values: ValueRow,
    write: (ValueRow) throws -> Void
  ) throws {
    guard let keyKeeper else { return try write(values) }
    if !keyKeeper.isEmpty { try keyKeeper.forget(key, mask) }
    let required = required(numbered: key.entity, mask)
    let empty = required.filter { $0 < values.count && values[$0].isNull }
    let former = mask == nil || empty.isEmpty ? nil : try knownOwnRow(key)?.values
    var refused: [Int] = []
    do {
      try write(values)
    } catch let error as SQLiteError where error.isUniqueness {
      let rest = try takeOut(key, mask, values.array, keyKeeper)
      try rest.withRow(write)
      refused = required.filter { !empty.contains($0) && rest[$0].isNull }
    }
    for slot in required {
      if empty.contains(slot) {
        keyKeeper.noteLack(key, slot, had: former?[slot] ?? .null)
      } else if refused.contains(slot) {
        keyKeeper.noteLack(key, slot, had: values[slot])
      } else {
        try keyKeeper.noteFill(key, slot)
      }
    }
    if mask == nil, !schema.requiredFollowers(numbered: key.entity).isEmpty {
      keyKeeper.noteNew(key)
    }
    noteOwner(key, mask)
  }

  /// What of the properties, or of all of a new row, the model requires. The ends of a new row that follow others are looked at
  /// once those were followed.
  private func required(numbered number: Int32, _ mask: PropertyMask?) -> [Int] {
    var required = schema.requiredMask(numbered: number)
    guard !required.isEmpty else { return [] }
    if let mask {
      required.formIntersection(mask)
      return required.indexes
    }
    let followers = schema.requiredFollowers(numbered: number)
    return required.indexes.filter { !followers.contains($0) }
  }

  /// Tells the keeper of new rows that were written at once.
  func noteInserts(_ rows: NewRows, _ number: Int32) {
    guard let keyKeeper else { return }
    if !schema.pairedEnds(numbered: number).isEmpty {
      for key in rows.keys { keyKeeper.noteOwner(ObjectKey(entity: number, key: key)) }
    }
    if !schema.requiredFollowers(numbered: number).isEmpty {
      for key in rows.keys { keyKeeper.noteNew(ObjectKey(entity: number, key: key)) }
    }
    let required = required(numbered: number, nil)
    guard !required.isEmpty else { return }
    for row in 0..<rows.count {
      for slot in required where rows.value(row, slot).isNull {
        keyKeeper.noteLack(ObjectKey(entity: number, key: rows.keys[row]), slot, had: .null)
      }
    }
  }

  /// Tells the keeper of a row that is about to go.
  func noteGone(_ key: ObjectKey) throws {
    guard let keyKeeper else { return }
    if !keyKeeper.isEmpty { try keyKeeper.forget(key, nil) }
    try keyKeeper.noteGone(key)
    noteOwner(key, nil)
  }

  /// Tells the keeper when the properties, or all, are owning ends of one-to-one relationships.
  func noteOwner(_ key: ObjectKey, _ mask: PropertyMask?) {
    guard let keyKeeper else { return }
    var owned = schema.pairedEnds(numbered: key.entity)
    if let mask { owned.formIntersection(mask) }
    if !owned.isEmpty { keyKeeper.noteOwner(key) }
  }

  /// The values of a row with null in place of one property of each key that another object holds.
  private func takeOut(
    _ key: ObjectKey, _ mask: PropertyMask?, _ values: [PropertyValue], _ keeper: any KeyKeeper
  ) throws -> [PropertyValue] {
    guard let layout = schema.entity(numbered: key.entity)?.layout else { return values }
    var values = values
    var whole = values
    var written = PropertyMask(all: layout.slots.count)
    if let mask {
      written = mask
      if let row = try knownRow(key) { whole = row.values }
      mask.forEach { if $0 < whole.count, $0 < values.count { whole[$0] = values[$0] } }
    }
    // One at a time: a property may be part of several keys.
    while let refused = try keyHolders(of: key, whole, touching: written).first {
      let places = refused.slots.filter(written.contains)
      guard let slot = Self.preferred(places, layout) else { return values }
      try keeper.keep(key, slot, whole[slot])
      whole[slot] = .null
      values[slot] = .null
    }
    return values
  }

  /// Which property of a key goes without a value: an optional one, rather an attribute than a reference.
  package static func preferred(_ places: [Int], _ layout: EntityLayout) -> Int? {
    func cost(_ place: Int) -> Int {
      let slot = layout.slots[place]
      return (slot.relationship == nil ? 0 : 1) + (slot.isOptional ? 0 : 2)
    }
    return places.min { (cost($0), -$0) < (cost($1), -$1) }
  }
}
