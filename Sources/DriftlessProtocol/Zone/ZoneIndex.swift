import Foundation

/// The last sequence number that set each property of each object of a zone: the stale check, in
/// memory.
///
/// The rule, in words: a push made on cursor `c` is stale when
/// * it sets a property that has a sequence number above `c`,
/// * it touches an object that was deleted after `c`,
/// * it deletes or revives an object of which anything has a sequence number above `c`,
/// * it inserts an identity that the zone has.
///
/// What the pushing replica's own change sets above `c` set is not news to it, so it does not
/// count; nothing of others can lie between, because the same check refused it then.
struct ZoneIndex: Sendable {
  /// Which properties of an object were set when.
  fileprivate struct ObjectState {
    /// The sequence number that set all of it: its insert, delete or revival.
    var base: UInt64
    var isDeleted = false
    /// What was set later, by entity-independent name.
    var later: [String: UInt64] = [:]
  }

  /// A change set on its way into the log.
  struct Push {
    /// Up to where the replica had applied the log.
    let cursor: UInt64
    /// Sequence numbers above the cursor that are the replica's own.
    let own: Set<UInt64>
    let contents: ChangeSetIndex
  }

  private var numbers: [UUID: UInt64] = [:]
  /// Object number `n` is at `n - 1`.
  private var objects: [ObjectState] = []

  /// The number that the next new object gets.
  var nextNumber: UInt64 { UInt64(objects.count) + 1 }

  /// Takes a push in, whole or not at all.
  ///
  /// - Throws: `ProtocolError`: `.stale`, or `.malformed` when it names an object number that was
  ///   never given out.
  mutating func apply(_ push: Push, sequence: UInt64) throws(ProtocolError) {
    try check(push)
    var number = nextNumber
    for run in push.contents.newObjects {
      for place in 0..<run.count {
        numbers[run.identities[place]] = number
        objects.append(ObjectState(base: sequence))
        number += 1
      }
    }
    for group in push.contents.groups where group.kind != .insert {
      for object in Self.known(group, push.contents) {
        objects[Int(object) - 1].apply(group, push.contents, sequence)
      }
    }
  }

  private func check(_ push: Push) throws(ProtocolError) {
    let contents = push.contents
    guard contents.knownNumbers.first ?? 1 > 0, contents.knownNumbers.last ?? 0 < nextNumber else {
      throw .malformed("The push names an object number that was never given out in this zone")
    }
    for run in contents.newObjects {
      for place in 0..<run.count where numbers[run.identities[place]] != nil {
        throw Self.stale("Object \(run.identities[place]) exists in the zone")
      }
    }
    for group in contents.groups where group.kind != .insert {
      for object in Self.known(group, contents) {
        guard objects[Int(object) - 1].isStale(group, push) else { continue }
        throw Self.stale("Object \(object) changed after sequence number \(push.cursor)")
      }
    }
  }

  /// The numbers of a group's objects; new ones need no check, their insert covers them.
  private static func known(
    _ group: ChangeSetIndex.Group, _ contents: ChangeSetIndex
  ) -> some Sequence<UInt64> {
    let newCount = contents.newObjectCount
    return group.objects.lazy.filter { $0 >= newCount }
      .map { contents.knownNumbers[$0 - newCount] }
  }

  private static func stale(_ message: String) -> ProtocolError {
    ProtocolError(.stale, message, suggestion: "Pull, then push again.")
  }
}

extension ZoneIndex.ObjectState {
  fileprivate func isStale(_ group: ChangeSetIndex.Group, _ push: ZoneIndex.Push) -> Bool {
    func isNews(_ sequence: UInt64) -> Bool {
      sequence > push.cursor && !push.own.contains(sequence)
    }
    switch group.kind {
    case .insert:
      return false
    case .update:
      if isDeleted, isNews(base) { return true }
      let names = push.contents.entities[group.entity].properties
      return group.properties.contains { isNews(later[names[$0]] ?? base) }
    case .delete, .revive:
      return isNews(base) || later.values.contains(where: isNews)
    }
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
