import Foundation

/// An object's key, and which of the coordinator's stores it is in.
struct PlacedKey: Hashable {
  let plan: Int
  let key: ObjectKey
}

/// Which object of a graph has which key: the one place that knows.
///
/// The key of a new object is temporary, which is a negative number, until the object is saved or asks for its permanent
/// one. A child context knows objects that its parent has not saved by the temporary keys that the parent gave them. Keys
/// that objects had before are remembered as long as somebody may come with them: an ID that was given out, a change that
/// can be undone.
///
/// Objects are not held: they take themselves out when they go.
struct IdentityMap: ~Copyable {
  /// Saved objects, one registry a hierarchy of entities and store.
  private var registries: [ObjectRegistry] = []
  /// New objects by the place in their temporary key.
  private var new: ContiguousArray<ObjectReference?> = []
  /// What to add to a place for the temporary key, which no other graph has.
  private(set) var temporaryBase: Int64
  /// Objects that the parent context has not saved, by the temporary key that it gave them.
  private var adopted: [Int64: ObjectReference] = [:]
  /// Temporary keys that somebody outside may know.
  private var givenOut: [Int64: TemporaryKeyTrace] = [:]
  /// The keys of objects whose temporary one was given out, by that one.
  private var permanentKeys: [Int64: Permanent] = [:]
  /// How many of them there are when those are looked for that nobody can come with any more.
  private var permanentKeysMax = fewPermanentKeys
  private static let fewPermanentKeys = 1024
  /// Those of objects that have another temporary key now, by one that was given out.
  private var aliases: [Int64: PlacedKey] = [:]
  /// Keys that objects have now, by those that changes to be undone knew them by.
  private var newerKeys: [PlacedKey: ObjectKey] = [:]
  /// Identities given to new objects, by temporary key, and back.
  private var identities: [Int64: UUID] = [:]
  private var keysByIdentity: [UUID: Int64] = [:]

  /// How many bits of a temporary key are the place among a graph's new objects: 2^36 of them. The rest tells the graph: 2^26
  /// of them a process, of which each object is one that is made in no context.
  private static let placeBits: Int64 = 36
  private static let graphBits: Int64 = 26

  private struct Permanent {
    let place: PlacedKey
    /// nil where it is not known who has the temporary key.
    let trace: TemporaryKeyTrace?
  }

  /// - Parameter number: Of the graph, in its process.
  init(number: Int64) {
    assert((0..<1 << Self.graphBits).contains(number), "a graph takes the keys of another one")
    temporaryBase = (number & (1 << Self.graphBits - 1)) << Self.placeBits
  }

  deinit {
    for reference in new { reference?.drop() }
    for reference in adopted.values { reference.drop() }
  }

  // MARK: Finding

  /// The saved objects of a hierarchy by key.
  func registry(of shape: ObjectShape) -> ObjectRegistry { registries[shape.hierarchy] }

  func object(temporary key: Int64) -> ManagedObject? {
    let place = place(of: key)
    if new.indices.contains(place), let object = new[place]?.object { return object }
    return adopted[key]?.object
  }

  var savedObjects: [ManagedObject] { registries.flatMap(\.objects) }

  /// New ones, in the order of their keys.
  var newObjects: [ManagedObject] { new.compactMap { $0?.object } }

  /// All, held.
  var objects: [ManagedObject] {
    savedObjects + newObjects + adopted.values.compactMap(\.object)
  }

  // MARK: Coming and going

  /// Makes room for the objects of further hierarchies.
  mutating func addRegistries(upTo end: Int) {
    while registries.count < end { registries.append(ObjectRegistry()) }
  }

  /// What the next new object is to have.
  var nextTemporaryKey: Int64 { -(temporaryBase + Int64(new.count) + 1) }

  /// Takes in an object that is new here.
  mutating func addNew(_ object: ManagedObject) {
    if object.key < 0 {
      assert(object.key == nextTemporaryKey, "temporary keys are given in their order")
      new.append(ObjectReference(object))
    } else {
      let former = registries[object.shape.hierarchy].insert(object)
      assert(former == nil, "a key that is taken is no new object's")
    }
  }

  /// Takes in an object that the store or the parent has.
  ///
  /// - Returns: Another one that had the key.
  mutating func add(_ object: ManagedObject) -> ManagedObject? {
    assert(object.key != 0, "0 is the key of what is no more")
    if object.key > 0 { return registries[object.shape.hierarchy].insert(object) }
    let former = adopted.updateValue(ObjectReference(object), forKey: object.key)
    defer { former?.drop() }
    return former?.object.flatMap { $0 === object ? nil : $0 }
  }

  /// Whether a temporary key of this graph is nobody's: its object was new, and went.
  func isNobody(_ key: Int64) -> Bool {
    let place = place(of: key)
    return new.indices.contains(place) && new[place]?.object == nil
  }

  /// Whether a new object stood under the key, and nothing was saved since.
  func isVacant(_ key: Int64) -> Bool {
    let place = place(of: key)
    return key < 0 && new.indices.contains(place) && new[place]?.object == nil
      && adopted[key]?.object == nil
  }

  /// Takes a new object in again under the key that it had.
  mutating func fillVacancy(_ object: ManagedObject) {
    assert(isVacant(object.key), "two objects have one temporary key")
    replace(at: place(of: object.key), with: ObjectReference(object))
  }

  /// Puts a reference, or none, in the place of one that is not needed any more.
  private mutating func replace(at place: Int, with reference: ObjectReference?) {
    new[place]?.drop()
    new[place] = reference
  }

  mutating func remove(_ object: ManagedObject) {
    if object.key > 0 {
      registries[object.shape.hierarchy].remove(object)
    } else if reference(of: object.key)?.isOf(object) == true {
      removeTemporary(object.key)
    }
  }

  /// Takes out an object that ended elsewhere, unless another has its key.
  mutating func remove(_ departed: Departures.Departure) {
    if departed.key > 0 {
      registries[departed.shape.hierarchy].remove(departed.key) {
        $0.isSame(as: departed.reference)
      }
    } else if reference(of: departed.key)?.isSame(as: departed.reference) == true {
      removeTemporary(departed.key)
    }
  }

  private func reference(of temporaryKey: Int64) -> ObjectReference? {
    let place = place(of: temporaryKey)
    return (new.indices.contains(place) ? new[place] : nil) ?? adopted[temporaryKey]
  }

  /// No object has the temporary key any more.
  mutating func removeTemporary(_ key: Int64) {
    let place = place(of: key)
    if new.indices.contains(place), new[place] != nil {
      replace(at: place, with: nil)
    } else {
      // Of the parent, or a fault under the key of an object that is no more.
      adopted.removeValue(forKey: key)?.drop()
    }
    forgetIdentity(of: key)
  }

  // MARK: Places of new objects

  /// How many places there are.
  var newCount: Int { new.count }

  func place(of temporaryKey: Int64) -> Int { Int(0 &- temporaryKey &- temporaryBase &- 1) }

  func temporaryKey(at place: Int) -> Int64 { -(temporaryBase + Int64(place) + 1) }

  /// No new object is left: keys go on where they are.
  mutating func retireTemporaryKeys() {
    assert(new.isEmpty || isOwn(temporaryKey(at: new.count - 1)), "the graph is out of keys")
    temporaryBase += Int64(new.count)
    for reference in new { reference?.drop() }
    new = []
  }

  /// Those that are saved are not new any more; others are.
  mutating func forgetSavedPlaces() {
    for place in new.indices where new[place] != nil && (new[place]?.object?.key ?? 1) > 0 {
      replace(at: place, with: nil)
    }
    for key in Array(identities.keys) where object(temporary: key) == nil {
      forgetIdentity(of: key)
    }
  }

  /// After a reset: nothing is known of unsaved objects, nor of what they were called.
  mutating func forgetUnsaved() {
    retireTemporaryKeys()
    for reference in adopted.values { reference.drop() }
    adopted = [:]
    forgetIdentities()
    newerKeys = [:]
  }

  // MARK: Keys that changed

  /// The key may be anywhere.
  mutating func noteGivenOut(_ temporaryKey: Int64) {
    givenOut[temporaryKey] = TemporaryKeyTrace(isCopied: true)
  }

  /// The key is in one ID, unless it was given out before.
  mutating func noteGivenOut(_ temporaryKey: Int64, _ trace: TemporaryKeyTrace) {
    if let former = givenOut[temporaryKey], former.isLive { trace.copy() }
    givenOut[temporaryKey] = trace
  }

  /// What is saved is known by its permanent key; the parent's keys are temporary as well, and may have been given out.
  mutating func forgetGivenOut() {
    guard !givenOut.isEmpty else { return }
    givenOut = givenOut.filter { !isOwn($0.key) || object(temporary: $0.key) != nil }
  }

  /// Whether this graph gave the temporary key.
  private func isOwn(_ key: Int64) -> Bool {
    (0 &- key) >> Self.placeBits == temporaryBase >> Self.placeBits
  }

  func isGivenOut(_ temporaryKey: Int64) -> Bool { givenOut[temporaryKey] != nil }

  /// Who may know a temporary key; nil where that is not known.
  func trace(of temporaryKey: Int64) -> TemporaryKeyTrace? { givenOut[temporaryKey] }

  /// The key that an object has now, whose temporary one was given out. A key of a child leads to one that this graph gave,
  /// and that to the store's.
  func permanentKey(for temporaryKey: Int64) -> PlacedKey? {
    var newest = aliases[temporaryKey]
    var steps = 1
    while steps < aliases.count, let alias = newest, let next = aliases[alias.key.key] {
      newest = next
      steps += 1
    }
    assert(newest.map { aliases[$0.key.key] == nil } ?? true, "temporary keys lead in a ring")
    return permanentKeys[newest?.key.key ?? temporaryKey]?.place ?? newest
  }

  /// The temporary keys that somebody may know for objects which have other temporary ones now.
  var formerTemporaryKeys: [(old: Int64, new: Int64)] {
    aliases.map { ($0.key, $0.value.key.key) }
  }

  /// Whether a key that somebody has may be a former one.
  var haveChanged: Bool { !permanentKeys.isEmpty || !aliases.isEmpty }

  /// Notes which key an object has in place of a temporary one that somebody may know.
  ///
  /// - Parameter trace: Who knows it, where another graph gave it out; nil for what is known here.
  mutating func notePermanent(
    _ place: PlacedKey, for temporaryKey: Int64, _ trace: TemporaryKeyTrace? = nil
  ) {
    if place.key.key < 0 {
      aliases[temporaryKey] = place
    } else {
      permanentKeys[temporaryKey] = Permanent(
        place: place, trace: trace ?? givenOut[temporaryKey])
      aliases[temporaryKey] = nil
      if permanentKeys.count > permanentKeysMax { forgetUnknownKeys() }
    }
  }

  /// A context that lives long must not keep a key for each object whose ID was given out: those go whose IDs are no more.
  ///
  /// What a child knows is kept, for it cannot be told from afar when nobody has it any more: a parent remembers the key of
  /// each object that a child saved into it or read of it before it had another one.
  private mutating func forgetUnknownKeys() {
    // What is renamed twice is found by its first key through the second.
    let between = Set(aliases.values.lazy.map(\.key.key))
    permanentKeys = permanentKeys.filter { key, permanent in
      permanent.trace?.isLive ?? true || between.contains(key)
    }
    permanentKeysMax = max(Self.fewPermanentKeys, 2 * permanentKeys.count)
  }

  /// How many temporary keys are remembered.
  var permanentKeyCount: Int { permanentKeys.count }

  /// Notes it if the temporary key was given out.
  mutating func notePermanentIfGivenOut(_ place: PlacedKey, for temporaryKey: Int64) {
    if givenOut[temporaryKey] != nil { notePermanent(place, for: temporaryKey) }
  }

  /// Notes that an object has another key. The new one may be an old one of its own: an object that comes back takes its
  /// key at the save.
  mutating func noteRenamed(_ old: ObjectKey, _ new: ObjectKey, in plan: Int) {
    newerKeys[PlacedKey(plan: plan, key: old)] = new
    newerKeys[PlacedKey(plan: plan, key: new)] = nil
  }

  /// The key that an object has now, which an undoable change knew by an older one.
  func newest(_ key: ObjectKey, in plan: Int) -> ObjectKey {
    var key = key
    var steps = 0
    while steps < newerKeys.count, let next = newerKeys[PlacedKey(plan: plan, key: key)] {
      key = next
      steps += 1
    }
    assert(newerKeys[PlacedKey(plan: plan, key: key)] == nil, "former keys lead in a ring")
    return key
  }

  /// The parent's objects have other keys.
  ///
  /// - Parameters:
  ///   - isUndoable: Whether changes may be undone that knew them by the old ones.
  ///   - isAskedFor: Whether somebody may come with an old one that was not given out.
  ///   - shape: What objects of a key are: the parent may have put a new one into another store.
  /// - Returns: Objects whose keys these are now.
  mutating func renameAdopted(
    _ renamed: [Int64: PlacedKey], isUndoable: Bool, isAskedFor: Bool,
    _ shape: (PlacedKey) -> ObjectShape?
  ) -> [ManagedObject] {
    var replaced: [ManagedObject] = []
    for (old, place) in renamed where isAskedFor || givenOut[old] != nil {
      notePermanent(place, for: old)
      givenOut[old] = nil
      if place.key.key < 0 { noteGivenOut(place.key.key) }
    }
    for (old, reference) in adopted {
      guard let place = renamed[old] else { continue }
      adopted[old] = nil
      defer { reference.drop() }
      guard let object = reference.object else { continue }
      if isUndoable { noteRenamed(object.objectKey, place.key, in: place.plan) }
      object.key = place.key.key
      if place.plan != object.shape.planIndex, let shape = shape(place) {
        // The parent lets an object change stores only to the same slots.
        precondition(shape.slotCount == object.shape.slotCount, "values of another shape")
        object.shape = shape
      }
      if let former = add(object) { replaced.append(former) }
    }
    // What was renamed here before leads to the newest key.
    for (old, place) in aliases {
      if let newest = renamed[place.key.key] { notePermanent(newest, for: old) }
    }
    return replaced
  }

  // MARK: Identities of new objects

  var hasIdentities: Bool { !identities.isEmpty }

  func identity(of temporaryKey: Int64) -> UUID? { identities[temporaryKey] }

  func key(of identity: UUID) -> Int64? { keysByIdentity[identity] }

  mutating func give(_ identity: UUID, to key: Int64) {
    forgetIdentity(of: key)
    identities[key] = identity
    keysByIdentity[identity] = key
  }

  /// Another object may have been given the same one meanwhile, which the save refuses: that keeps it.
  private mutating func forgetIdentity(of key: Int64) {
    guard let identity = identities.removeValue(forKey: key) else { return }
    if keysByIdentity[identity] == key { keysByIdentity[identity] = nil }
    assert(keysByIdentity.count <= identities.count, "an identity leads to no new object")
  }

  mutating func forgetIdentities() {
    identities = [:]
    keysByIdentity = [:]
  }
}
