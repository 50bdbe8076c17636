/// Saved objects that were deleted, or set to refer to another one, in this context. What was read of a to-many relationship may show
/// them all the same, where their own end was older than what was read: each relationship looks at what moved since it was
/// read.
struct MemberMoves {
  private var members: [PlacedKey] = []
  /// How many were noted before the first of these.
  private var base = 0
  /// Whoever has looked at fewer looks at its own members.
  private static let memberMax = 4096

  /// How many were noted so far.
  var end: Int { base + members.count }

  mutating func note(_ member: ManagedObject) {
    if members.count >= Self.memberMax {
      base += members.count
      members.removeAll(keepingCapacity: true)
    }
    members.append(PlacedKey(plan: member.shape.planIndex, key: member.objectKey))
  }

  /// Those that were noted after so many; nil where some of them are forgotten, or they are more than `limit`.
  func noted(after count: Int, limit: Int) -> ArraySlice<PlacedKey>? {
    guard count >= base, end - count <= limit else { return nil }
    return members[(count - base)...]
  }
}

/// What a relationship's rows say, and what a member's own end says.
extension ManagedObject {
  /// What the store, or the parent, has at a to-one end.
  enum StoredEnd {
    case gone
    case value(PropertyValue)
  }

  /// Takes what was read of a to-many relationship, without members that are to leave it with the next save.
  final func take(_ keys: [ObjectKey], into state: ToManyState, of relation: Relation) {
    state.read(keys)
    guard let graph else { return }
    state.seenMoves = graph.moves.end
    guard !graph.ledger.changed.isEmpty, !isDeleted else { return }
    hide(keys.lazy.filter { self.isLeaving($0, relation) }, from: state)
  }

  /// Looks at what was deleted or moved since this was read or looked at last.
  final func review(_ state: ToManyState, of relation: Relation) {
    guard let graph else { return }
    let seen = state.seenMoves
    state.seenMoves = graph.moves.end
    guard state.isRead, !isInserted, !isDeleted else { return }
    guard let moved = graph.moves.noted(after: seen, limit: state.count) else {
      return hide(state.content.lazy.filter { self.isLeaving($0, relation) }, from: state)
    }
    var leaving: [ObjectKey] = []
    for member in moved where member.plan == shape.planIndex && state.contains(member.key.key) {
      // Objects of other entities have the same keys.
      guard
        graph.shapes(at: member.plan)?.shape(numbered: member.key.entity)?.isKind(
          of: relation.destination) == true
      else { continue }
      guard let object = graph.registered(member.key, in: member.plan) else {
        // It was saved, or given up, and let go of: the rows know.
        return state.forgetStored()
      }
      if isLeaving(member.key, relation) {
        leaving.append(member.key)
      } else if !object.isDeleted, !object.isUpdated, !object.lacksValues,
        disagrees(with: object, state, relation)
      {
        return state.forgetStored()
      }
    }
    hide(leaving, from: state)
  }

  private final func hide(_ keys: some Sequence<ObjectKey>, from state: ToManyState) {
    let keys = Set(keys.lazy.map(\.key))
    guard !keys.isEmpty else { return }
    state.hide(keys)
    graph?.hidesMembers = true
  }

  /// Whether the next save takes a member out, by what it says itself.
  private final func isLeaving(_ key: ObjectKey, _ relation: Relation) -> Bool {
    guard let member = graph?.registered(key, in: shape.planIndex), member.hasChanges,
      !member.isInserted, member !== graph?.departing
    else { return false }
    if member.isDeleted {
      guard let inverse = relation.description.inverseRelationship else { return true }
      return inverse.deleteRule == .nullify || inverse.deleteRule == .cascade
    }
    return relation.hasMembersThatSaySo && member.changed.contains(relation.inverseSlot)
      && !member.refers(to: self, by: relation)
  }

  /// Whether the member's own end says another thing than what was read.
  private final func disagrees(
    with member: ManagedObject, _ state: ToManyState, _ relation: Relation
  ) -> Bool {
    relation.hasMembersThatSaySo
      && member.refers(to: self, by: relation) != state.contains(member.key)
  }

  private final func refers(to owner: ManagedObject, by relation: Relation) -> Bool {
    guard case .reference(let key) = values[relation.inverseSlot] else { return false }
    return key.key == owner.key
  }

  /// Before a member is put in or taken out: where its own end is older than what was read of the relationship, or the other way
  /// around, both become what its row says. Its version stays, so that its save meets what others saved.
  ///
  /// - Parameter reading: Whether the relationship is read where the member's own end says that it is not there.
  final func bringInLine(_ member: ManagedObject, in relation: Relation, reading: Bool) {
    guard relation.hasMembersThatSaySo, let graph, member.graph === graph, !isInserted,
      !member.isInserted, !member.isDeleted, member.shape.planIndex == shape.planIndex,
      member.shape.isKind(of: relation.destination)
    else { return }
    if member.needsWaking { member.fire() }
    guard member.state.isDisjoint(with: [.unreadable, .missing]),
      !member.changed.contains(relation.inverseSlot)
    else { return }
    let isThere = member.refers(to: self, by: relation)
    guard collection(ifUsed: relation.slot)?.isRead == true || reading && !isThere else { return }
    let state = collection(relation.slot, reading: true)
    guard state.isRead, disagrees(with: member, state, relation),
      let end = graph.source?.storedEnd(of: member, relation.inverseSlot, of: self, in: relation)
    else { return }
    switch end {
    // What is changed of it meets the delete at the save.
    case .gone: member.correct(.null, at: relation.inverseSlot)
    case .value(let value): member.correct(value, at: relation.inverseSlot)
    }
    let isMember = member.refers(to: self, by: relation)
    if isMember != state.contains(member.key) {
      state.correct(member.objectKey, isThere: isMember)
      tellObservers(relation.slot)
    }
  }

  /// A property has another value in the store than was read: that is no change.
  private final func correct(_ value: PropertyValue, at slot: Int) {
    guard values[slot] != value else { return }
    tellObservers(slot)
    values[slot] = value
    committed?[slot] = value
  }

  /// A member went elsewhere.
  final func noteMove(at slot: Int) {
    guard !isInserted, shape.relations[slot]?.inverseIsToMany == true else { return }
    graph?.moves.note(self)
  }
}

extension ObjectGraph {
  /// What was deleted or moved may be back: relationships that left members out for that are read again.
  func showHiddenMembers() {
    guard hidesMembers else { return }
    hidesMembers = false
    for object in keys.savedObjects {
      for state in object.collections where state?.hidesSome == true { state?.forgetStored() }
    }
  }
}

extension Relation {
  /// Whether each member of it refers to its one owner, in its own row.
  fileprivate var hasMembersThatSaySo: Bool { isToMany && inverseSlot >= 0 && !inverseIsToMany }
}
