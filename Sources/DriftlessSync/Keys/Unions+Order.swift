import Driftless

/// In which order objects become one.
extension Unions {
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
