/// Checks how the groups of a change set share the object table: every (object, property) at most
/// once, every object inserted, deleted or revived at most once, every new object inserted.
struct UniquenessCheck {
  private let index: ChangeSetIndex
  private let newCount: Int
  /// Objects that are inserted, deleted or revived.
  private var placed: ObjectBits
  private var deleted: ObjectBits

  init(_ index: ChangeSetIndex) {
    self.index = index
    newCount = index.newObjectCount
    placed = ObjectBits(count: index.objectCount)
    deleted = ObjectBits(count: index.objectCount)
  }

  mutating func run() throws(ProtocolError) {
    for group in index.groups { try place(group) }
    guard placed.containsAll(below: newCount) else {
      throw .malformed("A new object stands in no group of inserts")
    }
    for group in index.groups where group.kind != .delete && !deleted.isEmpty {
      guard !group.objects.contains(where: { deleted.contains($0) }) else {
        throw .malformed("An object of \(name(group)) is deleted and changed")
      }
    }
    for claims in index.claims where !deleted.isEmpty {
      guard !claims.objects.contains(where: { deleted.contains($0) }) else {
        throw .malformed("A deleted object claims a key")
      }
    }
    for group in index.groups { try checkEntity(group) }
    try checkProperties()
  }

  private mutating func place(_ group: ChangeSetIndex.Group) throws(ProtocolError) {
    guard let first = group.objects.first, let last = group.objects.last else { return }
    switch group.kind {
    case .update: return
    case .insert:
      guard last < newCount else {
        throw .malformed("A group of inserts of \(name(group)) has an object that is not new")
      }
    case .delete, .revive:
      guard first >= newCount else {
        throw .malformed("A group of \(group.kind)s of \(name(group)) has a new object")
      }
    }
    for object in group.objects {
      guard placed.insert(object) else {
        throw .malformed("An object of \(name(group)) is inserted, deleted or revived twice")
      }
      if group.kind == .delete { deleted.insert(object) }
    }
  }

  /// A new object's groups must be of the entity that the object table says.
  private func checkEntity(_ group: ChangeSetIndex.Group) throws(ProtocolError) {
    var run = 0
    var end = index.newObjects.first?.count ?? 0
    var position = 0
    let objects = group.objects
    while position < objects.count, objects[position] < newCount {
      while objects[position] >= end {
        run += 1
        end += index.newObjects[run].count
      }
      guard index.newObjects[run].entity == group.entity else {
        throw .malformed("A group of \(name(group)) has a new object of another entity")
      }
      // A run of objects goes on to the end of the run of the table; a list, one by one.
      position = objects.run == nil ? position + 1 : end - objects[0]
    }
  }

  private func checkProperties() throws(ProtocolError) {
    struct Place: Hashable {
      let entity: Int
      let property: Int
    }
    var groups: [Place: [Int]] = [:]
    for (place, group) in index.groups.enumerated() {
      for property in group.properties {
        groups[Place(entity: group.entity, property: property), default: []].append(place)
      }
    }
    var seen = ObjectBits(count: groups.values.contains { $0.count > 1 } ? index.objectCount : 0)
    for (_, places) in groups where places.count > 1 {
      guard Set(places).count == places.count else {
        throw .malformed("A group of \(name(index.groups[places[0]])) sets a property twice")
      }
      for place in places {
        for object in index.groups[place].objects where !seen.insert(object) {
          throw .malformed("A property of an object of \(name(index.groups[place])) is set twice")
        }
      }
      for place in places {
        for object in index.groups[place].objects { seen.remove(object) }
      }
    }
  }

  private func name(_ group: ChangeSetIndex.Group) -> String { index.entities[group.entity].name }
}

/// A set of indexes in the object table.
private struct ObjectBits {
  private var words: [UInt64]
  private(set) var isEmpty = true

  init(count: Int) {
    words = [UInt64](repeating: 0, count: (count + 63) / 64)
  }

  func contains(_ object: Int) -> Bool { words[object >> 6] & (1 << UInt64(object & 63)) != 0 }

  /// - Returns: Whether it was not in the set.
  @discardableResult
  mutating func insert(_ object: Int) -> Bool {
    isEmpty = false
    let bit: UInt64 = 1 << UInt64(object & 63)
    defer { words[object >> 6] |= bit }
    return words[object >> 6] & bit == 0
  }

  mutating func remove(_ object: Int) { words[object >> 6] &= ~(1 << UInt64(object & 63)) }

  func containsAll(below count: Int) -> Bool {
    (0..<count >> 6).allSatisfy { words[$0] == .max }
      && (count & ~63..<count).allSatisfy { contains($0) }
  }
}
