import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// What deletes of other replicas took beside their objects: references to them, and their places in sets, which the same save
/// cut where it was made, and the log says by name.
///
/// An edit of here may bring such an object back (`DeleteFates`). What the deleting replica cut was no word on its own: it
/// followed from a delete that does not stand. So the object has again what this replica knew of it, as an edit that is pushed
/// with it. Until that is decided the cuts are kept beside the delete (`ZoneStates.Mark`).
struct DeleteCuts {
  /// A reference to the object, or its place in a set, which was here when the delete came.
  struct Cut: Hashable {
    var source: ObjectKey
    var property: String
    /// Of an ordered set: how many came before it. Of a reference whose other end is ordered: its place there.
    var place: Int64?
    /// A later save of who deleted the object changed that as well, and the log has both as one word, with the later time:
    /// whether the delete took it out, or somebody had before, nobody can tell.
    var isUntold = false

    /// As they are kept.
    var values: [PropertyValue] {
      [
        .reference(source), .string(property),
        isUntold ? .bool(true) : place.map { .integer($0) } ?? .null,
      ]
    }
  }

  /// - Returns: nil where the values are none that are kept of cuts.
  static func cuts(_ values: ArraySlice<PropertyValue>) -> [Cut]? {
    guard values.count % 3 == 0 else { return nil }
    var cuts: [Cut] = []
    for first in stride(from: values.startIndex, to: values.endIndex, by: 3) {
      guard case .reference(let source) = values[first],
        case .string(let property) = values[first + 1]
      else { return nil }
      switch values[first + 2] {
      case .integer(let place): cuts.append(Cut(source: source, property: property, place: place))
      case .bool(true): cuts.append(Cut(source: source, property: property, isUntold: true))
      case .null: cuts.append(Cut(source: source, property: property))
      default: return nil
      }
    }
    return cuts
  }

  private var noted: [ObjectKey: [(cut: Cut, side: RemoteSide)]] = [:]
  /// What a snapshot deletes, by root entities: nothing else is looked at.
  var awaited: Set<ObjectKey> = []

  /// - Parameter element: by its root entity.
  mutating func note(_ cut: Cut, of element: ObjectKey, _ side: RemoteSide) {
    noted[element, default: []].append((cut, side))
  }

  /// What the save that deleted an object cut as well. What somebody took out before that, by itself, is another word. Of what
  /// went in one word with a later save it is untold.
  func ofSave(_ delete: RemoteSide, of element: ObjectKey) -> [Cut] {
    (noted[element] ?? []).compactMap { cut, side in
      guard side.origin == delete.origin, side.time >= delete.time else { return nil }
      var cut = cut
      cut.isUntold = side.time > delete.time
      return cut
    }
  }

  /// What is gone since an object was deleted. Of a set, or a reference, the sum of a log has the last word alone: where that is of
  /// before the delete, somebody took the object out by itself.
  func since(_ delete: RemoteSide, of element: ObjectKey) -> [Cut] {
    (noted[element] ?? []).filter { $0.side.sequence >= delete.sequence }.map(\.cut)
  }
}

extension PageApplier {
  /// Whether what a row takes out may be what a delete took along that meets something here. Such a row may be of a later save.
  private func mayBeCut(_ target: ObjectKey, _ frame: FrameContext) -> Bool {
    guard !frame.isOfSnapshot else { return deleteCuts.awaited.contains(rooted(target)) }
    return frame.isBraked || isHeld(target) || frame.cutTargets.contains(rooted(target))
  }

  /// Notes elements that a row takes out of a set, before it does.
  func noteCuts(
    _ elements: [ObjectKey], from key: ObjectKey, _ property: SyncSchema.Property,
    _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) throws {
    guard case .elements(let relationship) = property.kind else { return }
    let gone = elements.filter { mayBeCut($0, frame) }
    guard !gone.isEmpty else { return }
    let places = try transaction.toManyKeys(of: key, relationship).places
    for element in gone {
      guard let place = places[element] else { continue }
      deleteCuts.note(
        .init(
          source: key, property: property.name,
          place: relationship.isOrdered ? Int64(place) : nil),
        of: rooted(element), frame.side(group, row: row))
    }
  }

  /// Notes references that a row sets to null, before it does.
  func noteCuts(
    _ readers: [PropertyReader], of key: ObjectKey, _ group: ChangeSetIndex.Group, row: Int,
    _ frame: FrameContext
  ) throws {
    var values: [PropertyValue]?
    for reader in readers {
      guard case .toOne(let relationship) = reader.property.kind, reader.reference(row) == nil
      else { continue }
      if values == nil { values = try transaction.knownOwnRow(key)?.values }
      guard case .reference(let former)? = values?[reader.property.slot],
        let target = try transaction.concreteKey(root: former),
        mayBeCut(target, frame)
      else { continue }
      let isPlaced = relationship.inverseRelationship?.isOrdered == true
      deleteCuts.note(
        .init(
          source: key, property: reader.property.name,
          place: isPlaced ? try transaction.place(of: key, in: relationship) : nil),
        of: rooted(target), frame.side(group, row: row))
    }
  }

  /// Gives what an edit of here, or a person's word, has brought back what its delete had cut. Each set is read and written once.
  ///
  /// - Parameter marks: the deletes, by what they deleted. What of it is back is pushed whole.
  func restoreCuts(_ marks: [(target: ObjectKey, mark: ZoneStates.Mark)]) throws {
    var sets: [CutSet: [CutElement]] = [:]
    var inOrder: [CutSet] = []
    for (target, mark) in marks where !mark.cuts.isEmpty {
      guard let object = pending[target], object.whole == .revive,
        let living = try transaction.concreteKey(root: target)
      else { continue }
      // It is of the edit that brings the object back.
      let time = try transaction.editTime(object.wholeTransaction)
      let stamp = EditStamp.number(time)
      for cut in mark.cuts {
        guard let source = try transaction.concreteKey(root: cut.source),
          let property = schema.entity(numbered: source.entity)?
            .property(namedNowOrBefore: cut.property)
        else { continue }
        guard !cut.isUntold else {
          try journalUntold(living, property, of: source, time, mark.side)
          continue
        }
        switch property.kind {
        case .attribute, .place: continue
        case .elements:
          let set = CutSet(source: source, slot: property.slot)
          if sets[set] == nil { inOrder.append(set) }
          sets[set, default: []].append(
            CutElement(element: living, place: cut.place, stamp: stamp))
        case .toOne(let relationship):
          try restore(living, as: relationship, property, of: source, at: cut.place, by: stamp)
        }
      }
    }
    for set in inOrder { try restore(sets[set] ?? [], in: set) }
  }

  private struct CutSet: Hashable {
    var source: ObjectKey
    var slot: Int
  }

  private struct CutElement {
    var element: ObjectKey
    var place: Int64?
    var stamp: Int64
  }

  /// CONFLICT: an edit of here brings an object back that another replica deleted, and a set or a reference is without it there,
  /// which a later save of that one changed. RESOLUTION: it is out, and the journal has it as it was here.
  private func journalUntold(
    _ target: ObjectKey, _ property: SyncSchema.Property, of source: ObjectKey,
    _ time: HybridTime, _ delete: RemoteSide
  ) throws {
    guard let entity = schema.entity(numbered: source.entity) else { return }
    let explanation =
      "\(property.name) is without an object that another replica deleted and an edit of here brings back: whether the delete "
      + "took it out, or somebody had before, the log does not tell. It is out."
    switch property.kind {
    case .attribute, .place: return
    case .elements(let relationship):
      let current = try transaction.toManyKeys(of: source, relationship)
      guard !current.contains(target) else { return }
      try journal.addSets(
        entity: entity, property: property, key: source, local: current + [target],
        remote: current, kept: current, outcome: .remote, localTime: time, side: delete,
        explanation: explanation)
    case .toOne:
      guard pending[source]?.transaction(of: property.slot) == nil,
        try transaction.knownRow(source)?.values[property.slot].isNull == true
      else { return }
      try journal.addDeleteConflict(
        entity: entity, property: property, key: source, local: .reference(target), remote: nil,
        outcome: .remote, localTime: time, side: delete, explanation: explanation)
    }
    report.conflicts += 1
  }

  private func restore(_ elements: [CutElement], in set: CutSet) throws {
    let source = set.source
    guard let property = schema.entity(numbered: source.entity)?.property(at: set.slot),
      case .elements(let relationship) = property.kind
    else { return }
    let current = try transaction.toManyKeys(of: source, relationship)
    var known = Set(current)
    let new = elements.filter { known.insert($0.element).inserted }
    guard let first = new.first else { return }
    try changePairs(
      ElementChange(relationship: relationship, adds: new.map(\.element), removes: []),
      of: source)
    if relationship.isOrdered, new.contains(where: { $0.place != nil }) {
      try transaction.setOrder(relationship, source, Self.placed(new, in: current))
    }
    report.updated += new.count
    // What is pending of the set says it as well.
    guard pending[source]?.transaction(of: set.slot) == nil else {
      touched.insert(source)
      return
    }
    try BaseValues.replace(source, property.name, with: current, on: transaction.connection)
    setPending(source) { $0.set(PropertyMask([set.slot]), by: first.stamp) }
  }

  /// A set with elements that had places in it; those that had none come last.
  private static func placed(_ elements: [CutElement], in current: [ObjectKey]) -> [ObjectKey] {
    let placed = elements.compactMap { element in element.place.map { (element.element, $0) } }
      .enumerated().sorted { ($0.element.1, $0.offset) < ($1.element.1, $1.offset) }
    var sequence: [ObjectKey] = []
    var rest = current[...]
    for (_, (element, place)) in placed {
      let before = rest.prefix(max(0, Int(clamping: place) - sequence.count))
      sequence += before
      rest = rest.dropFirst(before.count)
      sequence.append(element)
    }
    return sequence + rest + elements.filter { $0.place == nil }.map(\.element)
  }

  private func restore(
    _ target: ObjectKey, as relationship: RelationshipDescription,
    _ property: SyncSchema.Property, of source: ObjectKey, at place: Int64?, by stamp: Int64
  ) throws {
    let slot = property.slot
    // Another word on it stands.
    guard pending[source]?.transaction(of: slot) == nil,
      var values = try transaction.knownRow(source)?.values, values[slot].isNull
    else { return }
    values[slot] = .reference(target)
    try transaction.update(source, PropertyMask([slot]), values: values, expectedVersion: nil)
    if relationship.inverseRelationship?.isOrdered == true {
      if let place {
        try transaction.setPlace(place, of: source, in: relationship)
      } else {
        try transaction.setLastPlace(of: source, in: relationship)
      }
    }
    report.updated += 1
    try replaceBase(of: source, property, with: .null)
    setPending(source) { $0.set(PropertyMask([slot]), by: stamp) }
  }
}
