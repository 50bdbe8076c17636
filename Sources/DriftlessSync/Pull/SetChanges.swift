import Driftless
import DriftlessSQLite

/// Sets that deletes take elements out of, and that what comes back is put into again. Each is read once and written once,
/// however many its elements are; what takes out and puts in is told at once, and where it stands when all are known.
///
/// That an element is deleted or comes back changes nothing in the zone's sequence of a set, so that is found once.
struct SetChanges {
  fileprivate struct Change {
    var property: SyncSchema.Property
    var relationship: RelationshipDescription
    /// The zone's sequence of an ordered set, and the places in it.
    var sequence: [ObjectKey] = []
    var places: [ObjectKey: Int] = [:]
    /// What a set that is pending here has as its base, read when something asks.
    var base: Set<ObjectKey>?
    /// What goes from the base.
    var gone: [ObjectKey] = []
    /// What is in the set again.
    var back: [ObjectKey] = []
    /// Those of them that the zone has in it again as well.
    var backInZone: [ObjectKey] = []
  }

  fileprivate var depth = 0
  fileprivate var changes: [DanglingReferences.Source: Change] = [:]
  fileprivate var properties: [ObjectKey: Set<String>] = [:]

  init() {}
}

extension PageApplier {
  /// Carries out what may change sets by deletes and returns, and writes them when all of it is done.
  func changingSets<T>(_ body: () throws -> T) throws -> T {
    setChanges.depth += 1
    defer { setChanges.depth -= 1 }
    let result = try body()
    guard setChanges.depth == 1 else { return result }
    for source in setChanges.changes.keys.sorted(by: Self.precedes) { try finish(source) }
    return result
  }

  private static func precedes(
    _ one: DanglingReferences.Source, _ other: DanglingReferences.Source
  ) -> Bool {
    (one.key.entity, one.key.key, one.property) < (other.key.entity, other.key.key, other.property)
  }

  /// Writes the sets of an object that wait to be written: something else is to be read or said of them.
  func finishSets(of key: ObjectKey) throws {
    for property in (setChanges.properties[key] ?? []).sorted() {
      try finish(DanglingReferences.Source(key: key, property: property))
    }
  }

  /// Takes a deleted object out of a set. When the log has it in the set, it comes back with the object.
  func cutElement(
    _ target: ObjectKey, from source: ObjectKey, _ holder: SyncSchema.Referrer
  ) throws {
    try changingSets {
      let name = holder.property.name
      let place = DanglingReferences.Source(key: source, property: name)
      var change = try setChange(of: place, holder.property, holder.relationship)
      var isInZone = true
      if pending[source]?.transaction(of: holder.property.slot) != nil {
        let base =
          try change.base
          ?? Set(BaseValues.keys(of: source, name, on: transaction.connection) ?? [])
        change.base = base
        isInZone = base.contains(target)
        if isInZone { change.gone.append(target) }
      }
      setChanges.changes[place] = change
      if isInZone {
        let element = rooted(target)
        try dangling.add(place, root: element.entity, target: element.key)
        if let own = change.places[element] {
          try dangling.note(place: own, of: element, in: place)
        }
      }
      try transaction.removePairs(holder.relationship, source, [target])
      try record(holder.relationship, of: source)
    }
  }

  /// Puts an object that is back into a set, where it is in the zone's sequence.
  ///
  /// - Parameter isInZone: the zone has it in the set by its word of before.
  func putBack(
    _ element: ObjectKey, into source: DanglingReferences.Source, _ property: SyncSchema.Property,
    _ relationship: RelationshipDescription, isInZone: Bool
  ) throws {
    try changingSets {
      var change = try setChange(of: source, property, relationship)
      change.back.append(element)
      if isInZone { change.backInZone.append(element) }
      setChanges.changes[source] = change
      try changePairs(
        ElementChange(relationship: relationship, adds: [element], removes: []), of: source.key,
        isPlacedLater: true)
    }
  }

  private func setChange(
    of source: DanglingReferences.Source, _ property: SyncSchema.Property,
    _ relationship: RelationshipDescription
  ) throws -> SetChanges.Change {
    if let change = setChanges.changes[source] { return change }
    var change = SetChanges.Change(property: property, relationship: relationship)
    if relationship.isOrdered {
      change.sequence = try zoneSequence(of: source, property)
      change.places = change.sequence.places
    }
    setChanges.properties[source.key, default: []].insert(source.property)
    setChanges.changes[source] = change
    return change
  }

  private func finish(_ source: DanglingReferences.Source) throws {
    guard let change = setChanges.changes.removeValue(forKey: source) else { return }
    setChanges.properties[source.key]?.remove(source.property)
    let (key, name, connection) = (source.key, source.property, transaction.connection)
    var base = try BaseValues.set(of: key, name, on: connection)
    if !change.gone.isEmpty, let before = base {
      base?.elements = before.elements.without(change.gone)
      base?.asserted = before.asserted.without(change.gone)
    }
    // It may have gone itself since.
    if !change.back.isEmpty, try transaction.concreteKey(root: key) == key {
      if change.relationship.isOrdered {
        try transaction.setOrder(
          change.relationship, key,
          transaction.toManyKeys(of: key, change.relationship)
            .placing(change.back, as: change.sequence, by: rooted))
      }
      let isPending = pending[key]?.transaction(of: change.property.slot) != nil
      if isPending, var value = try zone.object(key).values[name] {
        let known = Set(value.elements.map(rooted))
        let new = change.backInZone.filter { !known.contains(rooted($0)) }
        if !new.isEmpty {
          value.elements += new
          try zone.set(value, of: key, name)
        }
      }
      if isPending || base != nil, !change.backInZone.isEmpty {
        let elements = (base?.elements ?? []).placing(
          change.backInZone, as: change.sequence, by: rooted)
        return try BaseValues.replace(
          key, name, with: elements, asserting: base?.asserted ?? [], on: connection)
      }
    }
    if !change.gone.isEmpty, let base {
      try BaseValues.replace(
        key, name, with: base.elements, asserting: base.asserted, on: connection)
    }
  }
}

extension [ObjectKey] {
  /// The place of each.
  var places: [ObjectKey: Int] {
    Dictionary(enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The elements with some of them, or others, each behind the nearest element that is before it in a sequence of root entities'
  /// keys, or at the end where it is not in that.
  func placing(
    _ others: [ObjectKey], as sequence: [ObjectKey], by rooted: (ObjectKey) -> ObjectKey
  ) -> [ObjectKey] {
    var waiting = Dictionary(
      others.map { (rooted($0), $0) }, uniquingKeysWith: { first, _ in first })
    let rest = filter { waiting[rooted($0)] == nil }
    let known = Set(rest.map(rooted))
    var first: [ObjectKey] = []
    var behind: [ObjectKey: [ObjectKey]] = [:]
    var last: ObjectKey?
    for element in sequence {
      if known.contains(element) {
        last = element
      } else if let other = waiting.removeValue(forKey: element) {
        if let last { behind[last, default: []].append(other) } else { first.append(other) }
      }
    }
    return first + rest.flatMap { [$0] + (behind[rooted($0)] ?? []) }
      + others.filter { waiting.removeValue(forKey: rooted($0)) != nil }
  }
}
