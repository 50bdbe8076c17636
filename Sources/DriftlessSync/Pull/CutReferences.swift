import Driftless
import DriftlessProtocol
import Foundation

/// References and places in sets that deletes took where they were made, which the log says beside them: where a person keeps
/// what was deleted, they have it again.
struct CutReferences {
  private struct Cut {
    var sequence: UInt64
    var source: ObjectKey
    var property: SyncSchema.Property
    /// What left a set, by root entities; none for a reference.
    var elements: [ObjectKey] = []
  }

  private let applier: PageApplier
  private var cuts: [Cut] = []

  /// - Parameter kept: the objects that are kept, with the zone's deletes of them.
  init(_ applier: PageApplier, of kept: [ObjectKey: RemoteSide]) throws {
    self.applier = applier
    let sequences = kept.values.map(\.sequence)
    guard let first = sequences.min(), let last = sequences.max() else { return }
    var names: Set<UInt64> = []
    var directory = ObjectDirectory(applier.transaction.connection)
    try KeptFrames.forEach(after: first - 1, on: applier.transaction.connection) { entry in
      guard entry.sequence <= last, let changeSet = try? ChangeSetDecoder().decode(entry.frame)
      else { return }
      let index = changeSet.index
      // One transaction may come in several entries.
      for group in index.groups where group.kind == .delete {
        names.formUnion(group.transactionRuns.map { index.transactions[$0.transaction].name })
      }
      try read(changeSet, entry, names, &directory)
    }
  }

  private mutating func read(
    _ changeSet: ChangeSet, _ entry: PullPage.Entry, _ names: Set<UInt64>,
    _ directory: inout ObjectDirectory
  ) throws {
    let index = changeSet.index
    let frame = FrameContext(
      changeSet, sequence: entry.sequence, firstNumber: entry.firstObjectNumber,
      schema: applier.schema)
    var column = 0
    for group in index.groups {
      let columns = changeSet.columns[column..<column + group.properties.count]
      column += group.properties.count
      guard group.kind == .update, let entity = frame.entity(group.entity) else { continue }
      let known = index.entities[group.entity].properties
      for (place, column) in zip(group.properties, columns) {
        guard let property = entity.property(namedNowOrBefore: known[place]),
          let reader = PropertyReader(property: property, column: column)
        else { continue }
        for (row, object) in group.objects.enumerated() {
          guard let transaction = frame.transaction(group, row: row),
            names.contains(index.transactions[transaction].name)
          else { continue }
          func key(_ object: Int) throws -> ObjectKey? {
            try frame.laterNumber(of: object).flatMap { try directory.key(ofNumber: $0) }
          }
          var elements: [ObjectKey] = []
          switch property.kind {
          case .attribute, .place: continue
          case .toOne: guard reader.reference(row) == nil else { continue }
          case .elements:
            elements = try reader.elements(row).removes.compactMap { try key($0) }
            if elements.isEmpty { continue }
          }
          guard let root = try key(object),
            let source = try applier.transaction.concreteKey(root: root)
          else { continue }
          cuts.append(
            Cut(
              sequence: entry.sequence, source: source, property: property, elements: elements))
        }
      }
    }
  }

  /// Points those at what is kept again that refer to nothing still, and puts it into the sets again: as edits, which are pushed
  /// with it.
  ///
  /// - Parameters:
  ///   - kept: what is kept, by root entities.
  ///   - stamp: the time of the edits (`EditStamp`).
  func restore(to kept: Set<ObjectKey>, by stamp: Int64) throws {
    // What was cut last is what stood last.
    let cutsBySequence = Dictionary(grouping: cuts, by: \.sequence)
    for (sequence, cuts) in cutsBySequence.sorted(by: { $0.key > $1.key }) {
      var names: PlaceValues.Names = [:]
      for cut in cuts {
        names[cut.source, default: []].formUnion([
          cut.property.name, PlaceName.of(cut.property.name),
        ])
      }
      let former = try PlaceValues.find(
        names, upTo: sequence - 1, applier.transaction, schema: applier.schema)
      for cut in cuts {
        if case .elements(let relationship) = cut.property.kind {
          try put(
            cut.elements.filter(kept.contains), into: cut, relationship,
            former[cut.source]?[cut.property.name], by: stamp)
          continue
        }
        guard case .value(.reference(let target))? = former[cut.source]?[cut.property.name],
          kept.contains(applier.rooted(target)),
          let living = try applier.transaction.concreteKey(root: target)
        else { continue }
        try point(cut, at: living, former[cut.source]?[PlaceName.of(cut.property.name)], by: stamp)
      }
    }
  }

  private func point(
    _ cut: Cut, at target: ObjectKey, _ place: PlaceValues.Said?, by stamp: Int64
  ) throws {
    let slot = cut.property.slot
    guard case .toOne(let relationship) = cut.property.kind,
      applier.pending[cut.source]?.transaction(of: slot) == nil,
      try applier.zone.object(cut.source).values[cut.property.name] == nil,
      var values = try applier.transaction.knownRow(cut.source)?.values, values[slot].isNull
    else { return }
    values[slot] = .reference(target)
    try applier.transaction.update(
      cut.source, PropertyMask([slot]), values: values, expectedVersion: nil)
    if relationship.inverseRelationship?.isOrdered == true {
      if case .value(.integer(let place))? = place {
        try applier.transaction.setPlace(place, of: cut.source, in: relationship)
      } else {
        try applier.transaction.setLastPlace(of: cut.source, in: relationship)
      }
    }
    applier.setPending(cut.source) { $0.set(PropertyMask([slot]), by: stamp) }
    applier.report.updated += 1
  }

  private func put(
    _ elements: [ObjectKey], into cut: Cut, _ relationship: RelationshipDescription,
    _ former: PlaceValues.Said?, by stamp: Int64
  ) throws {
    let transaction = applier.transaction
    let current = try transaction.toManyKeys(of: cut.source, relationship)
    let adds = try elements.compactMap { try transaction.concreteKey(root: $0) }.without(current)
    // More than one delete may have cut the set.
    let edit = applier.pending[cut.source]?.transaction(of: cut.property.slot)
    guard !adds.isEmpty, edit == nil || edit == stamp,
      try applier.zone.object(cut.source).values[cut.property.name] == nil
    else { return }
    try applier.changePairs(
      ElementChange(relationship: relationship, adds: adds, removes: []), of: cut.source)
    if relationship.isOrdered, case .elements(let roots)? = former {
      let order = try roots.compactMap { try transaction.concreteKey(root: $0) }
      try transaction.setOrder(relationship, cut.source, (current + adds).inOrder(of: order))
    }
    if edit == nil {
      try BaseValues.replace(
        cut.source, cut.property.name, with: current, on: transaction.connection)
    }
    applier.setPending(cut.source) { $0.set(PropertyMask([cut.property.slot]), by: stamp) }
    applier.report.updated += 1
  }
}
