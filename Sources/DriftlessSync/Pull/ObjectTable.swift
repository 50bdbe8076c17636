import Driftless

/// The objects that a change set names, as this store knows them: by index, their key and whether
/// they live.
struct ObjectTable {
  enum Life: Hashable { case unknown, alive, dead }

  struct Entry {
    /// The concrete entity when the object is known to live, else its root entity.
    var key: ObjectKey
    var life: Life
    /// The object's identity existed here before: an insert of it merges.
    var existed: Bool
    /// It may be referred to, but rows about it do not count.
    var isLeftOut = false
    /// Of a snapshot: it was not here before.
    var isNew = true
  }

  /// Nil: an object of an entity that this model does not have.
  private(set) var entries: [Entry?]

  init(capacity: Int) {
    entries = []
    entries.reserveCapacity(capacity)
  }

  mutating func append(_ entry: Entry?) { entries.append(entry) }

  /// What is said of the object does not count, or counts again.
  mutating func leaveOut(_ index: Int, _ isLeftOut: Bool = true) {
    guard entries.indices.contains(index) else { return }
    entries[index]?.isLeftOut = isLeftOut
  }

  func entry(_ index: Int) -> Entry? {
    entries.indices.contains(index) ? entries[index] : nil
  }

  mutating func setLife(_ life: Life, key: ObjectKey, at index: Int) {
    guard entries.indices.contains(index) else { return }
    entries[index]?.life = life
    entries[index]?.key = key
  }
}
