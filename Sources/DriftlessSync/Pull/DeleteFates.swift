import Driftless
import DriftlessSQLite
import Foundation

/// Decides which deletes stand, where a delete on one side meets edits and references of the other.
///
/// What is to be kept is found first (`ReferenceRule`, `DeletePolicy`) and grown until nothing is
/// added: what a kept object requires is kept. Then a delete that stands takes along what it
/// cascades to. It decides; `PageApplier` carries out.
struct DeleteFates {
  enum Side {
    /// The zone deleted it; its row is here still.
    case zone
    /// It was deleted here, and the zone does not know yet.
    case here
  }

  struct Candidate {
    var side: Side
    var object: ZoneStates.Object
  }

  /// Why an object stays or comes back.
  enum Reason {
    case edited
    /// An object that is kept was edited, and the same delete had taken this one with it.
    case cascaded
    case denied(by: ObjectKey)
    /// Its delete takes along what refers to it, and that may not go.
    case tied(to: ObjectKey)
    case required(by: ObjectKey)
  }

  struct Kept {
    var key: ObjectKey
    var reason: Reason
    /// The pending transaction that keeps it.
    var cause: Int64
  }

  struct Taken {
    var key: ObjectKey
    /// The deleted object that takes it, and by which relationship it refers to that.
    var target: ObjectKey
    var cause: Int64
  }

  /// A reference of one side to an object that the other side deletes.
  struct Reference {
    var source: ObjectKey
    var referrer: SyncSchema.Referrer
    /// The pending transaction that set it; that of the delete when the zone set it.
    var cause: Int64
    var rule: ReferenceRule
  }

  let applier: PageApplier
  private let deletedHere: DeletedHere
  private(set) var candidates: [ObjectKey: Candidate] = [:]
  private(set) var kept: [ObjectKey: Kept] = [:]
  /// In the order in which they were found to be kept.
  private(set) var keptInOrder: [ObjectKey] = []
  private(set) var taken: [ObjectKey: Taken] = [:]
  /// What is deleted here as well, is kept, and refers to an object by the zone's word, in the order in which it was found to be kept.
  private(set) var returning: [ObjectKey: [(source: ObjectKey, property: SyncSchema.Property)]] =
    [:]

  init(_ applier: PageApplier) {
    self.applier = applier
    deletedHere = DeletedHere(applier)
  }

  mutating func add(_ key: ObjectKey, _ object: ZoneStates.Object, _ side: Side) {
    candidates[key] = Candidate(side: side, object: object)
  }

  /// The candidates in a set order.
  var keys: [ObjectKey] {
    candidates.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
  }

  /// Adds what was deleted here and the zone refers to: with the values of what lives settled, its references are known.
  mutating func addReferredTo() throws {
    let named = Set(candidates.values.lazy.filter { $0.side == .here }.flatMap(targets))
    for (key, object) in applier.pending.objects
    where object.whole == .delete && candidates[key] == nil {
      let root = rooted(key)
      if try named.contains(root) || applier.dangling.hasNews(root: root.entity, target: key.key) {
        candidates[key] = Candidate(side: .here, object: ZoneStates.Object())
      }
    }
  }

  func rooted(_ key: ObjectKey) -> ObjectKey { applier.schema.rooted(key) }

  /// What the zone has an object refer to.
  private func targets(of candidate: Candidate) -> [ObjectKey] {
    candidate.object.values.values.flatMap { $0.targets.map(rooted) }
  }

  mutating func decide() throws {
    let keys = keys
    for key in keys { try keepEdited(key) }
    var isDone = false
    while !isDone {
      isDone = true
      taken = [:]
      for key in keys where kept[key] == nil {
        for reference in try references(to: key) where try keep(key, reference) {
          isDone = false
          break
        }
      }
      if isDone { isDone = try !takeCascaded(keys) }
    }
  }

  // MARK: Keeping

  /// An edit on one side keeps what the other side deleted, with all that the delete took by
  /// cascade, where its entity says so.
  private mutating func keepEdited(_ key: ObjectKey) throws {
    guard kept[key] == nil, let candidate = candidates[key],
      let entity = applier.schema.entity(numbered: key.entity),
      entity.description.deletePolicy == .editWins
    else { return }
    let local = applier.pending[key]
    switch candidate.side {
    case .zone:
      guard let local, !local.isEmpty, !local.isOfferAlone else { return }
      try keep(Kept(key: key, reason: .edited, cause: local.lastTransaction))
    case .here:
      guard
        candidate.object.change == .revive
          || candidate.object.values.values.contains(where: { !$0.isKnown })
      else { return }
      try keep(Kept(key: key, reason: .edited, cause: local?.wholeTransaction ?? 0))
    }
    try keepCascade(of: key)
  }

  /// What the delete of an object took by cascade comes back with it.
  private mutating func keepCascade(of key: ObjectKey) throws {
    guard let cause = kept[key]?.cause else { return }
    // Depth first, with no bound on the depth.
    var rest = try cascade(of: key)
    while let member = rest.popLast() {
      guard kept[member] == nil, applier.schema.entity(numbered: member.entity) != nil else {
        continue
      }
      try keep(Kept(key: member, reason: .cascaded, cause: cause))
      rest += try cascade(of: member)
    }
  }

  /// What the delete of an object took with it, the last one first.
  private func cascade(of key: ObjectKey) throws -> [ObjectKey] {
    guard let entity = applier.schema.entity(numbered: key.entity) else { return [] }
    return try relationships(of: entity).filter { $0.deleteRule == .cascade }
      .flatMap { try members(of: key, entity, $0) }
      .filter { kept[$0] == nil && isSameDelete(key, $0) }
      .reversed()
  }

  /// In a set order.
  private func relationships(of entity: SyncSchema.Entity) -> [RelationshipDescription] {
    entity.description.relationshipsByName.values.sorted { $0.name < $1.name }
  }

  /// The objects that a relationship of an object held when it was deleted.
  private func members(
    of key: ObjectKey, _ entity: SyncSchema.Entity, _ relationship: RelationshipDescription
  ) throws -> [ObjectKey] {
    let transaction = applier.transaction
    if let row = try applier.valuesHere(of: key), !relationship.isToMany {
      guard let slot = entity.description.layout.index(named: relationship.name),
        case .reference(let member) = row[slot]
      else { return [] }
      return [try transaction.concreteKey(root: member) ?? member]
    }
    if try transaction.concreteKey(root: key) == key {
      return try transaction.toManyKeys(of: key, relationship)
    }
    if let kept = try BaseValues.keys(of: key, relationship.name, on: transaction.connection) {
      return kept
    }
    return try deletedHere.members(of: key, relationship)
  }

  /// Whether one transaction deleted both.
  private func isSameDelete(_ a: ObjectKey, _ b: ObjectKey) -> Bool {
    if let first = applier.pending[a], first.whole == .delete {
      let second = applier.pending[b]
      return second?.whole == .delete && second?.wholeTransaction == first.wholeTransaction
    }
    guard let first = candidates[a]?.object.mark?.side, let other = candidates[b],
      other.side == .zone, let second = other.object.mark?.side
    else { return false }
    return first.sequence == second.sequence && first.time == second.time
  }

  /// Keeps an object when a reference to it says so.
  private mutating func keep(_ key: ObjectKey, _ reference: Reference) throws -> Bool {
    switch reference.rule {
    case .deny:
      try keep(Kept(key: key, reason: .denied(by: reference.source), cause: reference.cause))
    case .require:
      try keep(Kept(key: key, reason: .required(by: reference.source), cause: reference.cause))
    case .cascade, .nullify: return false
    }
    return true
  }

  /// Keeps an object that another one must refer to.
  mutating func keep(_ key: ObjectKey, requiredBy source: ObjectKey) throws {
    try keep(
      Kept(
        key: key, reason: .required(by: source),
        cause: applier.pending[key]?.wholeTransaction ?? 0))
  }

  /// Keeps an object, and what it requires.
  private mutating func keep(_ found: Kept) throws {
    // Depth first, with no bound on the depth.
    var rest = [found]
    while let next = rest.popLast() {
      guard kept[next.key] == nil else { continue }
      kept[next.key] = next
      keptInOrder.append(next.key)
      noteReturning(next.key)
      rest += try required(by: next).reversed()
    }
  }

  /// Notes what an object refers to that comes back with the zone's values.
  private mutating func noteReturning(_ source: ObjectKey) {
    guard let candidate = candidates[source], candidate.side == .here,
      let owner = applier.schema.entity(numbered: source.entity)
    else { return }
    for property in owner.properties where property.relationship != nil {
      for target in Set(candidate.object.values[property.name]?.targets.map(rooted) ?? []) {
        returning[target, default: []].append((source, property))
      }
    }
  }

  /// What an object that is kept requires of what one of the two sides deleted.
  private func required(by found: Kept) throws -> [Kept] {
    guard let entity = applier.schema.entity(numbered: found.key.entity),
      let row = try applier.valuesHere(of: found.key)
    else { return [] }
    var required: [Kept] = []
    for property in entity.properties {
      guard case .toOne(let relationship) = property.kind,
        case .reference(let reference) = row[property.slot],
        let target = try deleted(reference), kept[target] == nil
      else { continue }
      switch ReferenceRule(relationship) {
      case .deny:
        required.append(Kept(key: target, reason: .denied(by: found.key), cause: found.cause))
      case .require, .cascade:
        guard !relationship.isOptional else { continue }
        required.append(Kept(key: target, reason: .required(by: found.key), cause: found.cause))
      case .nullify: continue
      }
    }
    // Ends of one-to-one relationships that follow are references as well.
    for slot in entity.echoes.indexes {
      guard let relationship = entity.description.layout.slots[slot].relationship,
        relationship.followsOneToOne, !relationship.isOptional,
        let owner = try formerOwner(of: found.key, row[slot], relationship), kept[owner] == nil
      else { continue }
      required.append(Kept(key: owner, reason: .required(by: found.key), cause: found.cause))
    }
    return required
  }

  /// The object that had another one for a partner, when one of the two sides deleted it.
  private func formerOwner(
    of key: ObjectKey, _ value: PropertyValue, _ relationship: RelationshipDescription
  ) throws -> ObjectKey? {
    if case .reference(let reference) = value { return try deleted(reference) }
    // It let go of it before it was deleted itself.
    return try deletedHere.owner(of: key, relationship)
  }

  /// The object that a reference names, when one of the two sides deleted it.
  func deleted(_ reference: ObjectKey) throws -> ObjectKey? {
    if let living = try applier.transaction.concreteKey(root: reference) {
      return candidates[living]?.side == .zone ? living : nil
    }
    return applier.deletedHere(reference)
  }

  // MARK: Taking

  /// Finds what the deletes that stand take along.
  ///
  /// - Returns: whether an object has to be kept after all, because what it would take may not go.
  private mutating func takeCascaded(_ keys: [ObjectKey]) throws -> Bool {
    var isAnyKept = false
    for key in keys where kept[key] == nil {
      for reference in try references(to: key) where reference.rule == .cascade {
        guard let closure = try closure(of: reference.source) else {
          // What it takes is found anew, with all that are found here.
          try keep(Kept(key: key, reason: .tied(to: reference.source), cause: reference.cause))
          isAnyKept = true
          break
        }
        for member in closure {
          taken[member] = Taken(key: member, target: key, cause: reference.cause)
        }
      }
    }
    return isAnyKept
  }

  private enum Step {
    case take(ObjectKey)
    /// These may not be left when what refers to them goes.
    case deny([ObjectKey])
  }

  /// What the delete of a living object takes along; nil when something in it may not go.
  private func closure(of key: ObjectKey) throws -> Set<ObjectKey>? {
    var closure: Set<ObjectKey> = []
    // Depth first, with no bound on the depth.
    var rest = [Step.take(key)]
    while let step = rest.popLast() {
      switch step {
      case .take(let key):
        guard kept[key] == nil else { return nil }
        guard taken[key] == nil, let entity = applier.schema.entity(numbered: key.entity),
          closure.insert(key).inserted
        else { continue }
        rest += try steps(from: key, entity).reversed()
      case .deny(let members):
        guard members.allSatisfy({ closure.contains($0) || taken[$0] != nil }) else { return nil }
      }
    }
    return closure
  }

  private func steps(from key: ObjectKey, _ entity: SyncSchema.Entity) throws -> [Step] {
    var steps: [Step] = []
    for relationship in relationships(of: entity) {
      guard relationship.deleteRule == .cascade || relationship.deleteRule == .deny else {
        continue
      }
      let members = try members(of: key, entity, relationship).filter {
        candidates[$0]?.side != .zone || kept[$0] != nil
      }
      if relationship.deleteRule == .deny {
        steps.append(.deny(members))
      } else {
        steps += members.map { .take($0) }
      }
    }
    return steps
  }
}
