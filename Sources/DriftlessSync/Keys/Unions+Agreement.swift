import Driftless

/// Two replicas made the same objects: an import of one file twice.
extension Unions {
  /// Whether an object of the zone has all that was set of the one that becomes one with it: then nobody loses anything, and
  /// there is nothing to tell.
  ///
  /// - Parameters:
  ///   - values: those of the object that goes, with references to itself led to the one that stays.
  ///   - sets: what it holds.
  func hasAll(
    _ stayed: ObjectKey, _ entity: SyncSchema.Entity, of lost: ObjectKey, _ object: PendingObject,
    _ values: [PropertyValue],
    _ sets: [(SyncSchema.Property, RelationshipDescription, [ObjectKey])]
  ) throws -> Bool {
    let current = try applier.currentValues(of: stayed)
    for property in entity.properties where !property.isCollective {
      let slot = property.slot
      guard let number = object.transaction(of: slot) else { continue }
      // What was set after the making is somebody's edit, also where it is nothing or the default.
      let isEdit = object.whole != .insert || number != object.wholeTransaction
      guard isEdit || isNamed(values[slot], entity, slot) else { continue }
      // Counts of two objects do not add up: that they come to one number tells nothing.
      if isEdit, property.policy == .counter { return false }
      guard try values[slot] == applier.known(property, of: stayed, current[slot]) else {
        return false
      }
    }
    return try sets.allSatisfy { _, relationship, elements in
      let had = Set(try transaction.toManyKeys(of: stayed, relationship))
      return Self.elements(elements, replacing: lost, by: stayed).allSatisfy(had.contains)
    }
  }

  /// What others refer to goes first: of two parents that are one, the children are compared when they have one parent.
  func inOrder<Pair>(_ pairs: [Pair], lost: (Pair) -> ObjectKey) throws -> [Pair] {
    var waiting: [ObjectKey: Int] = [:]
    // Of several zone's objects that one clashes with, the first is tried first.
    var others: [Pair] = []
    for (index, pair) in pairs.enumerated() {
      if waiting[lost(pair)] == nil { waiting[lost(pair)] = index } else { others.append(pair) }
    }
    var ordered: [Pair] = []
    for index in pairs.indices where waiting[lost(pairs[index])] == index {
      var path = [index]
      while let last = path.last {
        let key = lost(pairs[last])
        // Out of the waiting ones when it is first met: a ring is cut where it closes.
        if waiting[key] == last {
          waiting[key] = -1
          path += try targets(of: key).compactMap { waiting[$0] }.filter { $0 >= 0 }
        } else {
          path.removeLast()
          if waiting.removeValue(forKey: key) != nil { ordered.append(pairs[last]) }
        }
      }
    }
    return ordered + others
  }

  /// What an object refers to and holds, as far as it says so itself.
  private func targets(of key: ObjectKey) throws -> [ObjectKey] {
    guard let entity = applier.schema.entity(numbered: key.entity) else { return [] }
    let values = try applier.currentValues(of: key)
    var targets: [ObjectKey] = []
    for property in entity.properties {
      switch property.kind {
      case .attribute, .place: continue
      case .toOne:
        if case .reference(let target) = values[property.slot], target != key {
          targets.append(target)
        }
      case .elements(let relationship):
        targets += try transaction.toManyKeys(of: key, relationship)
      }
    }
    return targets
  }
}
