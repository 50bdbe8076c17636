import Foundation

/// What a zone remembers of each object: when each property was set, when the object was named, and
/// which unique keys it holds. The stale check, in memory.
///
/// The rule, in words: a push made on cursor `c` is stale when, after `c`, another replica
/// * set a property that the push sets, relies on or claims a key of,
/// * deleted an object that the push's table names,
/// * changed an object that the push deletes or revives, or named it in another's table,
/// or when the push
/// * inserts an identity that the zone has, or says that such a one is deleted without its number,
/// * inserts an identity whose tombstone came after `c`: who knows of it may insert it again,
/// * claims a key that another living object holds and does not let go of in the same push.
///
/// What the pushing replica's own change sets above `c` set is not news to it, so it does not
/// count; nothing of others can lie between, because the same check refused it then.
struct ZoneIndex: Sendable {
  /// A change set on its way into the log.
  struct Push {
    let replica: UUID
    /// Up to where the replica had applied the log.
    let cursor: UInt64
    /// Sequence numbers above the cursor that are the replica's own.
    let own: Set<UInt64>
    let contents: ChangeSetIndex
  }

  private var numbers: [UUID: UInt64] = [:]
  /// Object number `n` is at `n - 1`.
  private var objects: [ZoneObject] = []
  private var keys = ZoneKeys()
  /// Of identities that were deleted and that the zone did not know: the entry that said so.
  private var tombstones: [UUID: UInt64] = [:]

  /// The number that the next new object gets.
  var nextNumber: UInt64 { UInt64(objects.count) + 1 }

  /// Takes a push in, whole or not at all.
  ///
  /// - Parameter isChecked: False for a refill: another server has checked it.
  /// - Throws: `ProtocolError`: `.stale`, or `.malformed` when it names an object number that was
  ///   never given out, or what a refill holds contradicts the log.
  mutating func apply(
    _ push: Push, sequence: UInt64, isChecked: Bool = true
  ) throws(ProtocolError) {
    let contents = push.contents
    guard contents.knownNumbers.first ?? 1 > 0, contents.knownNumbers.last ?? 0 < nextNumber else {
      throw .malformed("The push names an object number that was never given out in this zone")
    }
    let change = ZoneKeyChange(contents, firstNumber: nextNumber)
    var stale = StaleObjects()
    checkIdentities(contents, &stale)
    if isChecked {
      checkTombstones(push, &stale)
      checkObjects(push, &stale)
    }
    keys.check(change, &stale)
    try stale.throwIfAny()
    keys.apply(change)
    insert(contents, sequence)
    for tombstone in contents.tombstones { tombstones[tombstone.identity] = sequence }
    for number in contents.knownNumbers {
      objects[Int(number) - 1].name(sequence, by: push.replica)
    }
    for group in contents.groups where group.kind != .insert {
      for object in Self.known(group.objects, contents) {
        objects[Int(object) - 1].apply(group, contents, sequence)
      }
    }
  }

  /// Lets go of the keys that a part of a push lets go of, before another part of it takes them.
  mutating func letGo(_ contents: ChangeSetIndex, firstNumber: UInt64) {
    keys.letGo(ZoneKeyChange(contents, firstNumber: firstNumber))
  }

  private mutating func insert(_ contents: ChangeSetIndex, _ sequence: UInt64) {
    var number = nextNumber
    for run in contents.newObjects {
      for place in 0..<run.count {
        numbers[run.identities[place]] = number
        objects.append(ZoneObject(base: sequence))
        number += 1
      }
    }
  }

  private func checkIdentities(_ contents: ChangeSetIndex, _ stale: inout StaleObjects) {
    for run in contents.newObjects {
      for place in 0..<run.count {
        guard let number = numbers[run.identities[place]] else { continue }
        stale.add(number, "Object \(run.identities[place]) exists in the zone")
      }
    }
    for tombstone in contents.tombstones {
      guard let number = numbers[tombstone.identity] else { continue }
      stale.add(number, "Object \(tombstone.identity) exists in the zone, so it has a number")
    }
  }

  private func checkTombstones(_ push: Push, _ stale: inout StaleObjects) {
    guard !tombstones.isEmpty else { return }
    for run in push.contents.newObjects {
      for place in 0..<run.count {
        guard let sequence = tombstones[run.identities[place]], push.isNews(sequence) else {
          continue
        }
        stale.refuse("Object \(run.identities[place]) was deleted after \(push.cursor)")
      }
    }
  }

  private func checkObjects(_ push: Push, _ stale: inout StaleObjects) {
    let contents = push.contents
    for number in contents.knownNumbers where objects[Int(number) - 1].isDeleted(after: push) {
      stale.add(number, "Object \(number) was deleted after sequence number \(push.cursor)")
    }
    for group in contents.groups where group.kind != .insert {
      for number in Self.known(group.objects, contents)
      where objects[Int(number) - 1].isStale(group, push) {
        stale.add(number, "Object \(number) changed after sequence number \(push.cursor)")
      }
    }
    let relied =
      contents.relied.map { ($0.entity, $0.properties, $0.objects) }
      + contents.claims.map { ($0.entity, $0.properties, $0.objects) }
    for (entity, properties, relying) in relied {
      let names = properties.map { contents.entities[entity].properties[$0] }
      for number in Self.known(relying, contents)
      where objects[Int(number) - 1].isSet(names, after: push) {
        stale.add(number, "What the push builds on, object \(number), changed after \(push.cursor)")
      }
    }
  }

  /// The numbers of objects that the zone knows; new ones need no check, their insert covers them.
  private static func known(
    _ objects: ObjectIndexes, _ contents: ChangeSetIndex
  ) -> some Sequence<UInt64> {
    let newCount = contents.newObjectCount
    return objects.lazy.filter { $0 >= newCount }.map { contents.knownNumbers[$0 - newCount] }
  }
}

/// When what of an object was set.
struct ZoneObject: Sendable {
  /// The sequence number that set all of it: its insert, delete or revival.
  private var base: UInt64
  private var isDeleted = false
  /// What was set later, by entity-independent name.
  private var later: [String: UInt64] = [:]
  /// The last entry whose table names the object, and who made it.
  private var named: (sequence: UInt64, replica: UUID)?
  /// The last one before it by another replica.
  private var namedByOther: UInt64 = 0

  init(base: UInt64) { self.base = base }

  fileprivate func isDeleted(after push: ZoneIndex.Push) -> Bool {
    isDeleted && push.isNews(base)
  }

  fileprivate func isSet(_ names: [String], after push: ZoneIndex.Push) -> Bool {
    names.contains { push.isNews(later[$0] ?? base) }
  }

  fileprivate func isStale(_ group: ChangeSetIndex.Group, _ push: ZoneIndex.Push) -> Bool {
    switch group.kind {
    case .insert:
      return false
    case .update:
      let names = push.contents.entities[group.entity].properties
      return group.properties.contains { push.isNews(later[names[$0]] ?? base) }
    case .delete, .revive:
      return push.isNews(base) || later.values.contains(where: push.isNews) || isNamed(after: push)
    }
  }

  private func isNamed(after push: ZoneIndex.Push) -> Bool {
    guard let named else { return false }
    return (named.replica == push.replica ? namedByOther : named.sequence) > push.cursor
  }

  fileprivate mutating func name(_ sequence: UInt64, by replica: UUID) {
    if let named, named.replica != replica { namedByOther = named.sequence }
    named = (sequence, replica)
  }

  fileprivate mutating func apply(
    _ group: ChangeSetIndex.Group, _ contents: ChangeSetIndex, _ sequence: UInt64
  ) {
    switch group.kind {
    case .insert:
      return
    case .update:
      let names = contents.entities[group.entity].properties
      for property in group.properties { later[names[property]] = sequence }
    case .delete, .revive:
      base = sequence
      isDeleted = group.kind == .delete
      later.removeAll()
    }
  }
}

extension ZoneIndex.Push {
  fileprivate func isNews(_ sequence: UInt64) -> Bool {
    sequence > cursor && !own.contains(sequence)
  }
}
