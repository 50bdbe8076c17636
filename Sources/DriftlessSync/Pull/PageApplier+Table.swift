import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension PageApplier {
  /// Finds or makes a key for every object that the change set names, and gives the new ones their
  /// numbers.
  func makeTable(_ frame: inout FrameContext, firstNumber: UInt64) throws {
    var number = firstNumber
    for run in frame.changeSet.index.newObjects {
      if !remembered.isEmpty {
        try remembered.meet(run, &frame) { maker in
          try transaction.transactionNumber(named: maker).map(transaction.editTime)
        }
      }
      try addNewObjects(run, firstNumber: number, to: &frame)
      number &+= UInt64(run.count)
    }
    directory.refresh()
    for known in frame.changeSet.index.knownNumbers {
      frame.table.append(
        try directory.key(ofNumber: known).map {
          ObjectTable.Entry(key: $0, life: .unknown, existed: true)
        })
    }
  }

  func addNewObjects(
    _ run: ChangeSetIndex.NewObjects, firstNumber: UInt64, to frame: inout FrameContext
  ) throws {
    guard let entity = frame.entity(run.entity) else {
      frame.noteUnknownEntity(run.entity)
      for _ in 0..<run.count { frame.table.append(nil) }
      return
    }
    if case .range(let first, let count) = run.identities, !remembered.have(run.identities),
      try !mayExist(first, count)
    {
      try addRange(first, count, entity, firstNumber: firstNumber, to: &frame)
      return
    }
    let areFree = try run.count > 0 && transaction.areFree(firstNumber, run.count)
    for offset in 0..<run.count {
      let identity = run.identities[offset]
      let number = firstNumber &+ UInt64(offset)
      if let key = try known(identity, entity) ?? remembered.key(of: identity),
        try !isAnother(key, run, offset, &frame)
      {
        try transaction.assignNumbers(
          root: entity.rootNumber, firstKey: key.key, count: 1, firstNumber: number)
        frame.table.append(ObjectTable.Entry(key: key, life: .unknown, existed: true))
        continue
      }
      if try transaction.willMint(identity) {
        try transaction.renewMintPrefix()
        directory.refresh()
      }
      let key = try transaction.allocateKeys(entity.description, count: 1).lowerBound
      try transaction.assignIdentities(
        root: entity.rootNumber, firstKey: key, count: 1, firstIdentity: identity,
        firstNumber: number, areFree: areFree)
      frame.table.append(
        ObjectTable.Entry(
          key: ObjectKey(entity: entity.number, key: key), life: .alive, existed: false))
    }
  }

  /// Whether a pending object that was made here has the identity of another one by chance of a copy: of this file, or of
  /// what it held before it was put back. It gets another identity then, and the zone's object is new here.
  private func isAnother(
    _ key: ObjectKey, _ run: ChangeSetIndex.NewObjects, _ offset: Int, _ frame: inout FrameContext
  ) throws -> Bool {
    guard !run.isGiven, let object = pending[key], object.whole == .insert,
      object.wholeTransaction > 0,
      try directory.number(root: schema.root(of: key), key: key.key) == nil
    else { return false }
    let maker = try transaction.transactionName(object.wholeTransaction)
    guard maker != 0, !frame.tells(maker) else { return false }
    // Where a later save set all that the first had set, the object goes by that one.
    for edit in object.edits where edit.transaction > 0 {
      if try frame.tells(transaction.transactionName(edit.transaction)) { return false }
    }
    // Who offers it has it from a snapshot, or keeps the entry that made it no more: the time of its making is left.
    if !run.makers.indices.contains(offset) || run.makers[offset] == 0,
      try frame.offersAsMade(transaction.editTime(object.wholeTransaction))
    {
      frame.learn(maker: maker)
      return false
    }
    _ = try transaction.remint(key)
    directory.refresh()
    return true
  }

  /// The object here that an identity of the wire names; nil when it is new. An object of another
  /// entity that was made here under this identity is another object: the zone heard of this one
  /// first, so that one gets an identity that every replica derives alike, or a new one where it was made by this store.
  private func known(_ identity: UUID, _ entity: SyncSchema.Entity) throws -> ObjectKey? {
    guard let key = try transaction.key(ofOwn: identity) else { return nil }
    let isSame =
      try schema.root(of: key) == entity.rootNumber
      && (transaction.concreteKey(root: key).map { $0.entity == entity.number } ?? true)
    guard !isSame else { return key }
    guard let other = schema.entity(numbered: key.entity) ?? schema.entity(rooted: key.entity),
      try directory.number(root: schema.root(of: key), key: key.key) == nil
    else { return key }
    defer { directory.refresh() }
    guard !identity.isMinted else {
      _ = try transaction.remint(key)
      return nil
    }
    try IdentityRuns.replaceSingle(
      root: schema.root(of: key), key: key.key,
      by: DerivedIdentity.identity(identity, of: other.name, in: zoneID),
      on: transaction.connection)
    return nil
  }

  /// The common case: identities that follow each other become keys that follow each other, one row
  /// of identity.
  private func addRange(
    _ identity: UUID, _ count: Int, _ entity: SyncSchema.Entity, firstNumber: UInt64,
    to frame: inout FrameContext
  ) throws {
    guard count > 0 else { return }
    let keys = try transaction.allocateKeys(entity.description, count: count)
    try transaction.assignIdentities(
      root: entity.rootNumber, firstKey: keys.lowerBound, count: Int64(count),
      firstIdentity: identity, firstNumber: firstNumber)
    for key in keys {
      frame.table.append(
        ObjectTable.Entry(
          key: ObjectKey(entity: entity.number, key: key), life: .alive, existed: false))
    }
  }

  /// Whether some identity of a run may be known here already: a query on both ends of the run.
  private func mayExist(_ first: UUID, _ count: Int) throws -> Bool {
    guard count > 0 else { return false }
    // Identities that this store minted have no row until they are numbered.
    if try transaction.mintedKey(of: first) != nil { return true }
    if try transaction.key(ofOwn: first) != nil { return true }
    let last = first.advanced(by: UInt64(count - 1))
    if try transaction.key(ofOwn: last) != nil { return true }
    return try IdentityRuns.anyBegins(within: (first, last), on: transaction.connection)
  }

  /// Whether the object has a row here, and of which entity; asked once an object.
  func life(of index: Int, in frame: inout FrameContext) throws -> ObjectTable.Entry? {
    guard var entry = frame.table.entry(index) else { return nil }
    guard entry.life == .unknown else { return entry }
    if let key = try transaction.concreteKey(root: entry.key) {
      entry.key = key
      entry.life = .alive
    } else {
      entry.life = .dead
    }
    frame.table.setLife(entry.life, key: entry.key, at: index)
    return entry
  }

  /// The object of a group's row, and whether it lives here. Nil when the row says nothing here: the
  /// object is another entity's, or one that a parked entry makes.
  ///
  /// - Parameter isUpdate: the row says nothing of the object's life: of one that is deleted here it waits for parked entries
  ///   before it, which may bring the object back.
  func target(
    _ index: Int, _ entity: SyncSchema.Entity, isUpdate: Bool = false, in frame: inout FrameContext
  ) throws -> (key: ObjectKey, isAlive: Bool)? {
    guard let entry = try life(of: index, in: &frame) else {
      if !parked.isEmpty, frame.number(of: index) != nil { frame.needsParked = true }
      return nil
    }
    guard !entry.isLeftOut, schema.root(of: entry.key) == entity.rootNumber else { return nil }
    let key = ObjectKey(entity: entity.number, key: entry.key.key)
    if entry.life == .alive { return entry.key == key ? (key, true) : nil }
    if !parked.isEmpty, !isHeld(key), let number = frame.number(of: index),
      parked.contains(where: {
        $0.mayMake(number) || isUpdate && $0.sequence < frame.sequence
      })
    {
      frame.needsParked = true
      return nil
    }
    return (key, false)
  }

  /// An object that a row refers to is not here: the reference waits for the parked entry that may make it.
  ///
  /// - Parameter name: the relationship, as `Entity.property`: where the model does not know what the object is, it is taken
  ///   anew with one that does.
  func noteUnmade(_ index: Int, _ name: String, _ frame: inout FrameContext) {
    frame.unmade.insert(name)
    guard let number = frame.number(of: index), parked.contains(where: { $0.mayMake(number) })
    else { return }
    frame.needsParked = true
  }

  /// Which readers of a row still count: of an entry that comes late, what was set after it stays.
  func current(
    _ readers: [PropertyReader], of index: Int, _ frame: FrameContext
  ) throws -> [PropertyReader] {
    guard isLate, let number = frame.laterNumber(of: index) else { return readers }
    let struck = try Parking.struck(
      number, after: frame.sequence, on: transaction.connection)
    guard !struck.isEmpty else { return readers }
    // It was deleted since: what the object is by now was said of it later.
    if isLateInPart, struck.contains(Parking.life) { return [] }
    return try readers.compactMap { reader in
      let names = reader.property.names
      guard names.contains(where: struck.contains) else { return reader }
      guard case .elements(let relationship) = reader.property.kind, !relationship.isOrdered,
        let later = try elementsSet(
          after: frame, of: number, names)
      else { return nil }
      var reader = reader
      reader.laterElements = later
      reader.leftOut.formUnion(
        frame.table.entries.indices.filter {
          frame.laterNumber(of: $0).map(later.contains) ?? false
        })
      return reader
    }
  }

  /// Whether an object was deleted or brought back after an entry that comes late.
  func isStruck(_ index: Int, _ frame: FrameContext) throws -> Bool {
    try setSince(index, frame).contains(Parking.life)
  }

  /// What was set of an object after an entry that comes late.
  func setSince(_ index: Int, _ frame: FrameContext) throws -> Set<String> {
    guard isLate, let number = frame.number(of: index) else { return [] }
    return try Parking.struck(number, after: frame.sequence, on: transaction.connection)
  }

  /// A reference of the wire as a value here. One to a deleted object is null, and remembered; one to an object of an
  /// entity that the relationship does not hold, which no program of this model makes, is null.
  func value(
    ofReference index: Int?, from source: DanglingReferences.Source,
    _ property: SyncSchema.Property, in frame: inout FrameContext
  ) throws -> PropertyValue {
    guard let index else { return .null }
    guard let entry = try life(of: index, in: &frame) else {
      let owner = schema.entity(numbered: source.key.entity)?.name ?? ""
      noteUnmade(index, "\(owner).\(property.name)", &frame)
      return .null
    }
    guard schema.admits(entry.key, isAlive: entry.life == .alive, in: property.relationship) else {
      return .null
    }
    if entry.life == .alive { return .reference(entry.key) }
    try dangling.add(source, root: schema.root(of: entry.key), target: entry.key.key)
    return .null
  }
}
