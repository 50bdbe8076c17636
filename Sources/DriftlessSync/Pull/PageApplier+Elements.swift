import Driftless
import DriftlessProtocol

/// What a change set adds to and removes from one object's many-to-many relationship, as keys of this store.
struct ElementChange {
  var relationship: RelationshipDescription
  var adds: [ObjectKey]
  var removes: [ObjectKey]
}

extension PageApplier {
  /// Reads one row of an element column. Elements that are deleted are remembered, not added.
  func elementChange(
    _ reader: PropertyReader, row: Int, of key: ObjectKey, _ frame: inout FrameContext
  ) throws -> ElementChange {
    guard case .elements(let relationship) = reader.property.kind else {
      throw SyncError.brokenLog("\(reader.property.name) is no to-many relationship.")
    }
    let source = DanglingReferences.Source(key: key, property: reader.property.name)
    let (adds, removes) = reader.elements(row)
    var change = ElementChange(relationship: relationship, adds: [], removes: [])
    for index in removes {
      guard let entry = try life(of: index, in: &frame) else { continue }
      try dangling.remove(source, root: schema.root(of: entry.key), target: entry.key.key)
      if entry.life == .alive { change.removes.append(entry.key) }
    }
    for index in adds {
      let value = try value(ofReference: index, from: source, in: &frame)
      if case .reference(let element) = value { change.adds.append(element) }
    }
    return change
  }

  /// Applies a change of elements that are not pending here.
  func apply(_ change: ElementChange, to key: ObjectKey) throws {
    guard !change.adds.isEmpty || !change.removes.isEmpty else { return }
    try transaction.removePairs(change.relationship, key, change.removes)
    try transaction.addPairs(change.relationship, key, change.adds)
  }

  /// Merges a change of elements into a set that may be pending: add wins, element by element.
  func merge(
    _ change: ElementChange, _ property: SyncSchema.Property, of key: ObjectKey
  ) throws {
    guard pending[key]?.transaction(of: property.slot) != nil else {
      return try apply(change, to: key)
    }
    let current = Set(try transaction.toManyKeys(of: key, change.relationship))
    let base = try BaseValues.keys(of: key, property.name, on: transaction.connection) ?? []
    var merge = ElementMerge(base: Set(base), local: current)
    merge.apply(adds: change.adds, removes: change.removes)
    let added = merge.local.subtracting(current).sorted { $0.key < $1.key }
    let removed = current.subtracting(merge.local).sorted { $0.key < $1.key }
    try apply(
      ElementChange(relationship: change.relationship, adds: added, removes: removed), to: key)
    if merge.isPending {
      touched.insert(key)
      try BaseValues.replace(
        key, property.name, with: merge.base.sorted { $0.key < $1.key }, on: transaction.connection)
    } else {
      setPending(key) { $0.clear(PropertyMask([property.slot])) }
      try BaseValues.drop(key, property.name, on: transaction.connection)
    }
  }
}
