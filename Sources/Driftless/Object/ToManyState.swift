/// The objects of one to-many relationship of one object: what the store holds, and what changed.
///
/// The other end of a relationship adds and removes here without reading what the store holds.
final class ToManyState {
  /// What the store holds; nil before it is read.
  private(set) var stored: [ObjectKey]?
  /// What was added, in its order; what was taken away again leaves nothing in its place.
  private var additions: [ObjectKey?] = []
  /// The places of the keys in ``additions``.
  private var addedPlaces: [Int64: Int] = [:]
  private(set) var removed: [Int64: ObjectKey] = [:]
  /// The whole content of an ordered relationship once a position in it was changed.
  private(set) var arranged: [ObjectKey]?
  private var cachedContent: [ObjectKey]?
  private var cachedMembers: Set<Int64>?

  init(stored: [ObjectKey]?) { self.stored = stored }

  var isRead: Bool { stored != nil }
  var added: [ObjectKey] { additions.compactMap { $0 } }
  var hasChanges: Bool { !addedPlaces.isEmpty || !removed.isEmpty || arranged != nil }

  func read(_ keys: [ObjectKey]) {
    stored = keys
    dropCaches()
  }

  /// The present objects; without what the store holds as long as that is not read.
  var content: [ObjectKey] {
    if let cachedContent { return cachedContent }
    var content: [ObjectKey]
    if let arranged {
      content = arranged
    } else {
      let stored = stored ?? []
      content = removed.isEmpty ? stored : stored.filter { removed[$0.key] == nil }
      if !addedPlaces.isEmpty {
        let present = Set(content.lazy.map(\.key))
        content += added.filter { !present.contains($0.key) }
      }
    }
    cachedContent = content
    return content
  }

  func contains(_ key: Int64) -> Bool {
    if addedPlaces[key] != nil { return true }
    if cachedMembers == nil { cachedMembers = Set(content.lazy.map(\.key)) }
    return cachedMembers?.contains(key) ?? false
  }

  func add(_ key: ObjectKey) {
    if removed.removeValue(forKey: key.key) == nil, addedPlaces[key.key] == nil {
      addedPlaces[key.key] = additions.count
      additions.append(key)
    } else if arranged == nil {
      dropCaches()
    }
    arranged?.append(key)
    cachedContent?.append(key)
    cachedMembers?.insert(key.key)
  }

  func remove(_ key: ObjectKey) {
    if let place = addedPlaces.removeValue(forKey: key.key) {
      additions[place] = nil
      if additions.count > 2 * addedPlaces.count + 16 { closeGaps() }
    } else {
      removed[key.key] = key
    }
    arranged?.removeAll { $0.key == key.key }
    // Removing one after the other must not work all members out anew each time.
    cachedMembers?.remove(key.key)
    if let last = cachedContent?.last, last.key == key.key {
      cachedContent?.removeLast()
    } else {
      cachedContent = nil
    }
  }

  /// Gives all objects their places; they must be the present ones.
  func arrange(_ keys: [ObjectKey]) {
    arranged = keys
    dropCaches()
  }

  /// Forgets what changed, and what the store held as well when the changes went into it unseen.
  func discardChanges() {
    additions = []
    addedPlaces = [:]
    removed = [:]
    arranged = nil
    dropCaches()
  }

  /// Takes the changes for stored, with new keys for objects that were saved for the first time.
  func commit(_ renamed: (ObjectKey) -> ObjectKey) {
    let content = stored == nil ? nil : content.map(renamed)
    discardChanges()
    stored = content
  }

  /// Objects have other keys now.
  func rename(_ name: (ObjectKey) -> ObjectKey) {
    stored = stored?.map(name)
    additions = added.map(name)
    closeGaps()
    removed = Dictionary(
      removed.values.map { (name($0).key, name($0)) }, uniquingKeysWith: { first, _ in first })
    arranged = arranged?.map(name)
    dropCaches()
  }

  /// Reads again at the next access, keeping changes.
  func forgetStored() {
    stored = nil
    dropCaches()
  }

  private func closeGaps() {
    let present = added
    additions = present
    addedPlaces = Dictionary(
      zip(present.lazy.map(\.key), 0...), uniquingKeysWith: { first, _ in first })
  }

  private func dropCaches() {
    cachedContent = nil
    cachedMembers = nil
  }
}
