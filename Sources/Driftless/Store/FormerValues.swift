/// What an update takes away that sync may need again.
struct FormerValues {
  typealias Value = (property: String, value: PropertyValue)

  /// Of properties whose policy looks at the value before the first local change, and of those of unique keys: a key that
  /// another object holds goes back to it.
  private(set) var bases: [Value] = []
  /// References that are set to null. A link that is cut because its target is deleted comes back when the target does:
  /// the last one counts.
  private(set) var cuts: [Value] = []
  /// References that may have to go back to what the zone has, with the place beside them.
  private(set) var placed: [RelationshipDescription] = []
  /// What is added to counters.
  private(set) var deltas: [Value] = []
  /// What texts and lists of elements become.
  private(set) var left: [Value] = []

  init(
    _ row: [PropertyValue], _ slots: [PropertySlot], keys: PropertyMask,
    becoming values: ValueRow, countsDeltas: Bool
  ) {
    for slot in slots {
      let former = row[slot.index]
      if slot.needsBase || keys.contains(slot.index) {
        bases.append((slot.name, former))
        if let relationship = slot.relationship,
          relationship.hasPlaceToGoBack(isKeyed: keys.contains(slot.index))
        {
          placed.append(relationship)
        }
      } else if !former.isNull, values[slot.index].isNull {
        cuts.append((slot.name, former))
      }
      guard countsDeltas else { continue }
      switch slot.policy {
      case .counter:
        if let delta = CounterDelta.difference(values[slot.index], former) {
          deltas.append((slot.name, delta))
        }
      case .text, .union: left.append((slot.name, Self.short(values[slot.index])))
      default: break
      }
    }
  }

  /// A value that is kept for each transaction; null for one too long for that.
  private static func short(_ value: PropertyValue) -> PropertyValue {
    switch value {
    case .string(let text): text.utf8.count <= shortMax ? value : .null
    case .data(let data): data.count <= shortMax ? value : .null
    default: .null
    }
  }

  /// Bytes.
  private static let shortMax = 4096

  /// The slots of an update of which there may be something to keep.
  static func slots(
    of mask: PropertyMask, _ layout: EntityLayout, keys: PropertyMask
  ) -> [PropertySlot] {
    mask.indexes.filter(layout.slots.indices.contains).map { layout.slots[$0] }.filter { slot in
      slot.needsBase || keys.contains(slot.index)
        || slot.relationship != nil && !slot.isToMany
    }
  }

  /// The slots of an update that are counted in.
  static func counters(of mask: PropertyMask, _ layout: EntityLayout) -> [PropertySlot] {
    mask.indexes.filter(layout.slots.indices.contains).map { layout.slots[$0] }.filter {
      $0.policy == .counter
    }
  }
}

extension RelationshipDescription {
  /// Whether it has places beside its references which go back with them to what the zone has.
  fileprivate func hasPlaceToGoBack(isKeyed: Bool) -> Bool {
    !isToMany && inverseRelationship?.isOrdered == true && (isTree || isKeyed)
  }
}

extension WriteTransaction {
  /// Keeps what a reference and its place were, before the first local change of either: it may have to go back to that.
  ///
  /// - Parameter reference: what it was, when its row has another one by now.
  func keepPlace(
    of key: ObjectKey, beside relationship: RelationshipDescription,
    reference: PropertyValue? = nil
  ) throws {
    guard keepsForSync,
      let slot = schema.entity(numbered: key.entity)?.layout.index(named: relationship.name),
      relationship.hasPlaceToGoBack(
        isKeyed: schema.keyMask(numbered: key.entity).contains(slot)),
      try !BaseValues.isKept(of: key, relationship.name, on: connection),
      let reference = try reference ?? knownOwnRow(key)?.values[slot]
    else { return }
    let place = try place(of: key, in: relationship).map { PropertyValue.integer($0) } ?? .null
    try BaseValues.keep(
      RowArchive.encode([reference]), of: key, relationship.name, on: connection)
    try BaseValues.replace(key, PlaceName.of(relationship.name), with: place, on: connection)
  }
}
