import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// What an accepted change set says of references to objects that are deleted here.
extension SentFrame {
  /// References that the change set set are the zone's now: what they referred to before is
  /// forgotten.
  mutating func settleDangling() throws {
    let connection = transaction.connection
    guard try DanglingReferences.exist(on: connection) else { return }
    let dangling = try DanglingReferences(connection)
    let changeSet = try opened()
    let index = changeSet.index
    let keys = try objectKeys(index)
    let updated = Self.updated(index)
    var columns = changeSet.columns[...]
    for group in index.groups {
      let own = Array(columns.prefix(group.properties.count))
      columns = columns.dropFirst(group.properties.count)
      guard group.kind != .delete else { continue }
      let names = index.entities[group.entity]
      guard let entity = schema.entity(namedNowOrBefore: names.name) else { continue }
      // An insert and a revival say every property: those that they leave out are null.
      let properties =
        group.kind == .update
        ? group.properties.compactMap { entity.property(namedNowOrBefore: names.properties[$0]) }
        : entity.properties
      for property in properties {
        switch property.kind {
        case .toOne: break
        // An update says what it adds and removes; the others say whole sets.
        case .elements: break
        case .attribute, .place: continue
        }
        let told = group.properties.firstIndex { entity.isNamed(names.properties[$0], property) }
        let reader = told.flatMap { PropertyReader(property: property, column: own[$0]) }
        if case .elements = property.kind, group.kind == .update {
          if let reader { try settleElements(reader, group, keys, index, dangling) }
          continue
        }
        let place = names.properties.firstIndex { entity.isNamed($0, property) }
        for (row, object) in group.objects.enumerated() {
          guard let key = keys[object] else { continue }
          // It says that by itself, with a time of its own.
          if reader == nil, let place, updated[object]?.contains(place) == true { continue }
          let source = DanglingReferences.Source(key: key, property: property.name)
          if let target = reader?.reference(row), keys[target] == nil {
            // What it refers to is deleted, and the zone has it so.
            try dangling.acknowledge(source)
          } else {
            try dangling.removeAll(of: source)
          }
        }
      }
    }
  }

  /// What the change set took out of sets does not come back into them when an edit brings it back. What is deleted of an
  /// ordered one, and is not named, stands before what is, as it does with who reads the log.
  private mutating func settleElements(
    _ reader: PropertyReader, _ group: ChangeSetIndex.Group, _ keys: [ObjectKey?],
    _ index: ChangeSetIndex, _ dangling: DanglingReferences
  ) throws {
    for (row, object) in group.objects.enumerated() {
      guard let key = keys[object] else { continue }
      let source = DanglingReferences.Source(key: key, property: reader.property.name)
      let (adds, removes) = reader.elements(row)
      for removed in removes where keys[removed] == nil {
        guard let root = try root(of: removed, index) else { continue }
        try dangling.remove(source, root: root.entity, target: root.key)
      }
      guard reader.property.relationship?.isOrdered == true else { continue }
      let dead = try dangling.places(in: source).map(\.element)
      guard !dead.isEmpty else { continue }
      let named = try adds.compactMap { try keys[$0].map(schema.rooted) ?? root(of: $0, index) }
      let sequence = ElementSequence.after(dead, adding: named, removing: [])
      let gone = Set(dead)
      for (place, element) in sequence.enumerated() where gone.contains(element) {
        try dangling.note(place: place, of: element, in: source)
      }
    }
  }

  /// What updates say of objects that the same change set makes or revives: the places of the properties' names.
  private static func updated(_ index: ChangeSetIndex) -> [Int: Set<Int>] {
    var whole: Set<Int> = []
    for group in index.groups where group.kind == .insert || group.kind == .revive {
      whole.formUnion(group.objects)
    }
    var updated: [Int: Set<Int>] = [:]
    for group in index.groups where group.kind == .update {
      for object in group.objects where whole.contains(object) {
        updated[object, default: []].formUnion(group.properties)
      }
    }
    return updated
  }
}

extension SyncSchema.Entity {
  /// Whether a change set means a property by a name: it may have been made before the property got the name that it has.
  fileprivate func isNamed(_ name: String, _ property: SyncSchema.Property) -> Bool {
    self.property(namedNowOrBefore: name)?.slot == property.slot
  }
}
