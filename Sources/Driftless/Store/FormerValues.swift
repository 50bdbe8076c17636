/// What an update takes away that sync may need again.
struct FormerValues {
  typealias Value = (property: String, value: PropertyValue)

  /// Of properties whose policy looks at the value before the first local change.
  private(set) var bases: [Value] = []
  /// References that are set to null. A link that is cut because its target is deleted comes back when the target does:
  /// the last one counts.
  private(set) var cuts: [Value] = []
  /// What is added to counters.
  private(set) var deltas: [Value] = []

  init(
    _ row: [PropertyValue], _ slots: [PropertySlot],
    becoming values: UnsafeBufferPointer<PropertyValue>, countsDeltas: Bool
  ) {
    for slot in slots {
      let former = row[slot.index]
      if slot.policy.needsBase {
        bases.append((slot.name, former))
      } else if !former.isNull, values[slot.index].isNull {
        cuts.append((slot.name, former))
      }
      if countsDeltas, slot.policy == .counter,
        let delta = CounterDelta.difference(values[slot.index], former)
      {
        deltas.append((slot.name, delta))
      }
    }
  }

  /// The slots of an update of which there may be something to keep.
  static func slots(of mask: PropertyMask, _ layout: EntityLayout) -> [PropertySlot] {
    mask.indexes.filter(layout.slots.indices.contains).map { layout.slots[$0] }.filter { slot in
      slot.policy.needsBase || slot.relationship != nil && !slot.isToMany
    }
  }
}
