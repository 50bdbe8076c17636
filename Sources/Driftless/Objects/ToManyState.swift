/// The objects of one to-many relationship of one object: what the store holds, and what changed.
///
/// The other end of a relationship adds and removes here without reading what the store holds.
final class ToManyState {
  /// What the store holds; nil before it is read.
  private(set) var stored: [ObjectKey]? { didSet { isHeldAsItIs = false } }
  /// What was added, in its order; what was taken away again leaves nothing in its place.
  private var additions: [ObjectKey?] = [] { didSet { isHeldAsItIs = false } }
  /// The places of the keys in ``additions``.
  private var addedPlaces: [Int64: Int] = [:]
  private(set) var removed: [Int64: ObjectKey] = [:] { didSet { isHeldAsItIs = false } }
  /// Whether a position in an ordered relationship was changed: then ``list`` is what is to be saved.
  private(set) var isArranged = false
  /// The present objects, once one in their middle was moved or taken away.
  private var list: KeyList? { didSet { isHeldAsItIs = false } }
  private var cachedContent: [ObjectKey]?
  private var cachedMembers: Set<Int64>?

  /// The objects that were read last, where the context holds the members of relationships.
  private var held: [ManagedObject] = []
  /// Whether nothing was changed since they were read, and how many objects had left the graph then.
  private var isHeldAsItIs = false
  private var departuresBefore = 0
  /// How many moves of members were looked at: see ``MemberMoves``.
  var seenMoves = 0
  /// What the store holds with members that are left out of ``stored``, since they are to leave it; nil where there are none.
  private var unhidden: [ObjectKey]?
  /// The same objects in other forms, by their types.
  private var heldForms: [ObjectIdentifier: Any] = [:]

  init(stored: [ObjectKey]?) { self.stored = stored }

  deinit { letGo() }

  /// Holds the present objects, and those alone, until the relationship is forgotten.
  ///
  /// - Parameter departures: How many objects have left the graph.
  func hold(_ objects: [ManagedObject], departures: Int) {
    letGo()
    held = objects
    departuresBefore = departures
    isHeldAsItIs = true
  }

  /// The objects that are held, as long as they are the present ones: nothing was changed, and none of them can have left the
  /// graph, where another would have its key.
  func held(departures: Int) -> [ManagedObject]? {
    isHeldAsItIs && isRead && departures == departuresBefore ? held : nil
  }

  /// A form of the present objects, which were just asked for: made once for as long as they are these.
  func heldForm<Form>(_ make: () -> Form?) -> Form? {
    guard isHeldAsItIs else { return make() }
    // Nothing kept is no form, also where the form is an optional.
    if let kept = heldForms[ObjectIdentifier(Form.self)], let form = kept as? Form { return form }
    let form = make()
    heldForms[ObjectIdentifier(Form.self)] = form
    return form
  }

  func letGo() {
    isHeldAsItIs = false
    if !heldForms.isEmpty { heldForms = [:] }
    if !held.isEmpty { LettingGo.letGo(&held) }
  }

  var isRead: Bool { stored != nil }
  var hidesSome: Bool { unhidden != nil }
  /// What the store held when it was asked, whoever is to leave it.
  var lastRead: [ObjectKey]? { unhidden ?? stored }
  var added: [ObjectKey] { additions.compactMap { $0 } }
  var hasChanges: Bool { !addedPlaces.isEmpty || !removed.isEmpty || isArranged }
  /// The whole content of an ordered relationship once a position in it was changed.
  var arranged: [ObjectKey]? { isArranged ? content : nil }

  func read(_ keys: [ObjectKey]) {
    stored = keys
    unhidden = nil
    cachedContent = nil
    cachedMembers = nil
    if !isArranged { list = nil }
    if hasChanges { reconcile(with: keys) }
    assertSound()
  }

  /// What is added has its place, and nothing is added and removed at once.
  private func assertSound() {
    assert(addedPlaces.allSatisfy { key, place in additions[place]?.key == key })
    assert(addedPlaces.count == added.count, "what was taken away leaves nothing in its place")
    assert(removed.allSatisfy { key, object in key == object.key && addedPlaces[key] == nil })
  }

  /// The present objects; without what the store holds as long as that is not read.
  var content: [ObjectKey] {
    if let cachedContent { return cachedContent }
    let content = list?.keys ?? changedContent
    cachedContent = content
    return content
  }

  var count: Int { list?.count ?? content.count }
  var first: ObjectKey? { list.map(\.firstKey) ?? content.first }
  var last: ObjectKey? { list.map(\.lastKey) ?? content.last }

  func contains(_ key: Int64) -> Bool {
    if addedPlaces[key] != nil { return true }
    if let list { return list.contains(key) }
    if cachedMembers == nil { cachedMembers = Set(content.lazy.map(\.key)) }
    return cachedMembers?.contains(key) ?? false
  }

  /// Whether an object was added and is not saved.
  func adds(_ key: Int64) -> Bool { addedPlaces[key] != nil }

  /// Adds an object, at the end.
  func add(_ key: ObjectKey) {
    let isOld = isStored(key)
    // It went elsewhere since this was read, and comes back: what was read is older than what its other end says.
    if isOld { stored?.removeAll { $0.key == key.key } }
    guard note(key), list?.contains(key.key) != true else { return }
    list?.append(key)
    if isOld { cachedContent = nil } else { cachedContent?.append(key) }
    cachedMembers?.insert(key.key)
  }

  /// Whether the store had the object when it was asked, and nothing was done with it since.
  private func isStored(_ key: ObjectKey) -> Bool {
    guard stored?.isEmpty == false, removed[key.key] == nil, addedPlaces[key.key] == nil else {
      return false
    }
    return contains(key.key)
  }

  func remove(_ key: ObjectKey) {
    if let place = addedPlaces.removeValue(forKey: key.key) {
      additions[place] = nil
      if additions.count > 2 * addedPlaces.count + 16 { closeGaps() }
    } else {
      removed[key.key] = key
    }
    cachedMembers?.remove(key.key)
    if let last = cachedContent?.last, last.key == key.key {
      list?.remove(key.key)
      cachedContent?.removeLast()
      return
    }
    // Taking away one after the other must not work all that is left out anew each time.
    if list == nil, let cachedContent { list = KeyList(cachedContent) }
    list?.remove(key.key)
    cachedContent = nil
  }

  /// An object is in it or not as it was before it was added or removed.
  func forgetChange(of key: Int64) {
    let isAdded = addedPlaces[key] != nil
    if let place = addedPlaces.removeValue(forKey: key) { additions[place] = nil }
    let isBack = removed.removeValue(forKey: key) != nil
    cachedContent = nil
    cachedMembers = nil
    // An order that was arranged stays that of the others.
    if isAdded {
      list?.remove(key)
    } else if !isArranged {
      list = nil
    } else if isBack {
      putBack(key)
    }
  }

  /// Puts an object whose removal is given up into an arranged order: behind the nearest of those that the store has before it.
  private func putBack(_ key: Int64) {
    guard let stored, let place = stored.firstIndex(where: { $0.key == key }), var order = list
    else { return }
    // One owner: it is changed in its place.
    list = nil
    let before = stored[..<place].last { order.contains($0.key) }
    if !order.insert(stored[place], after: before?.key) { order.append(stored[place]) }
    list = order
  }

  // MARK: Positions, of what is read

  /// The object that stands before this one; nil for the first.
  func previous(of key: Int64) -> ObjectKey? {
    if let content = cachedContent, list == nil, content.last?.key == key {
      return content.dropLast().last
    }
    makeList()
    return list?.previous(of: key)
  }

  /// Adds an object, or moves one that is there, behind another: to the beginning when that is nil, to the end when it is
  /// not there.
  func place(_ key: ObjectKey, after other: Int64?) {
    makeList()
    if list?.contains(key.key) != true { _ = note(key) }
    list?.remove(key.key)
    if list?.insert(key, after: other) != true { list?.append(key) }
    isArranged = true
    cachedContent = nil
    cachedMembers?.insert(key.key)
  }

  /// Adds an object that is not there, at the end of an order.
  func placeLast(_ key: ObjectKey) {
    makeList()
    _ = note(key)
    list?.append(key)
    isArranged = true
    cachedContent?.append(key)
    cachedMembers?.insert(key.key)
  }

  /// Gives all objects their places; they must be the present ones.
  func arrange(_ keys: [ObjectKey]) {
    assert(Set(keys) == Set(content) && keys.count == content.count, "an order loses no object")
    dropCaches()
    list = KeyList(keys)
    cachedContent = keys
    isArranged = true
  }

  // MARK: What members say of themselves

  /// Leaves out members that the store has there, and that are to leave it. Those that were removed here are left out already, and
  /// are there again once that is given up.
  func hide(_ keys: Set<Int64>) {
    let keys = keys.filter { removed[$0] == nil }
    guard !keys.isEmpty else { return }
    if unhidden == nil { unhidden = stored }
    stored?.removeAll { keys.contains($0.key) }
    for key in keys { list?.remove(key) }
    cachedContent = nil
    cachedMembers = nil
  }

  /// What was read says another thing of a member than its row, which was read later.
  func correct(_ key: ObjectKey, isThere: Bool) {
    guard isThere else {
      forgetChange(of: key.key)
      stored?.removeAll { $0.key == key.key }
      list?.remove(key.key)
      return dropMembers()
    }
    guard removed[key.key] == nil else { return }
    stored?.append(key)
    list?.append(key)
    dropMembers()
  }

  private func dropMembers() {
    cachedContent = nil
    cachedMembers = nil
  }

  /// Forgets an order that is the stored one.
  func forgetStoredOrder() {
    guard isArranged, addedPlaces.isEmpty, removed.isEmpty, content == stored else { return }
    isArranged = false
  }

  // MARK: Saves and reads

  /// Forgets what changed, and what the store held as well when the changes went into it unseen.
  func discardChanges() {
    additions = []
    addedPlaces = [:]
    removed = [:]
    isArranged = false
    dropCaches()
  }

  /// Takes the changes for stored, with new keys for objects that were saved for the first time.
  func commit(_ renamed: (ObjectKey) -> ObjectKey) {
    // One that could not be saved is nobody's.
    let content = stored == nil ? nil : content.map(renamed).filter { $0.key != 0 }
    discardChanges()
    stored = content
    unhidden = nil
  }

  /// Objects have other keys now.
  func rename(_ name: (ObjectKey) -> ObjectKey) {
    let order = arranged
    stored = stored?.map(name)
    unhidden = unhidden?.map(name)
    additions = added.map(name)
    closeGaps()
    removed = Dictionary(
      removed.values.map { (name($0).key, name($0)) }, uniquingKeysWith: { first, _ in first })
    dropCaches()
    list = order.map { KeyList($0.map(name)) }
    assertSound()
  }

  /// Reads again at the next access, keeping changes.
  func forgetStored() {
    let order = arranged
    stored = nil
    unhidden = nil
    dropCaches()
    list = order.map { KeyList($0) }
  }

  /// Notes an object as added. False when it is already.
  private func note(_ key: ObjectKey) -> Bool {
    if removed.removeValue(forKey: key.key) != nil { return true }
    guard addedPlaces[key.key] == nil else { return false }
    addedPlaces[key.key] = additions.count
    additions.append(key)
    return true
  }

  /// What the store holds, with the changes.
  private var changedContent: [ObjectKey] {
    let stored = stored ?? []
    var content = removed.isEmpty ? stored : stored.filter { removed[$0.key] == nil }
    if !addedPlaces.isEmpty {
      let present = Set(content.lazy.map(\.key))
      content += added.filter { !present.contains($0.key) }
    }
    return content
  }

  /// What the store holds by now is no change any more, and what it does not hold any more cannot be in an order.
  private func reconcile(with stored: [ObjectKey]) {
    let there = Set(stored.lazy.map(\.key))
    removed = removed.filter { there.contains($0.key) }
    for key in added where there.contains(key.key) {
      if let place = addedPlaces.removeValue(forKey: key.key) { additions[place] = nil }
    }
    guard isArranged, let order = list?.keys else { return }
    let content = changedContent
    let present = Set(content.lazy.map(\.key))
    var merged = KeyList(order.filter { present.contains($0.key) })
    for key in content { merged.append(key) }
    list = merged
  }

  private func makeList() { if list == nil { list = KeyList(content) } }

  private func closeGaps() {
    let present = added
    additions = present
    addedPlaces = Dictionary(
      zip(present.lazy.map(\.key), 0...), uniquingKeysWith: { first, _ in first })
  }

  private func dropCaches() {
    list = nil
    cachedContent = nil
    cachedMembers = nil
  }
}
