import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  /// Applies those parts of a parked change set that the model did not know when it came.
  ///
  /// Objects of entities that were known then have their numbers; only those of entities that are
  /// new are made now.
  func replay(
    _ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64, only names: Set<String>
  ) throws {
    var frame = FrameContext(changeSet, sequence: sequence, schema: schema)
    var number = firstNumber
    for run in changeSet.index.newObjects {
      if let entity = frame.entity(run.entity), names.contains(entity.name) {
        try addNewObjects(run, firstNumber: number, to: &frame)
      } else {
        directory.refresh()
        for offset in 0..<run.count { try addKnownObject(number &+ UInt64(offset), to: &frame) }
      }
      number &+= UInt64(run.count)
    }
    directory.refresh()
    for known in changeSet.index.knownNumbers { try addKnownObject(known, to: &frame) }
    var columns = changeSet.columns[...]
    for group in changeSet.index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      guard let entity = frame.entity(group.entity) else { continue }
      if names.contains(entity.name) {
        try apply(group, columns: own, in: &frame)
        continue
      }
      let readers = frame.readers(group, entity: entity, columns: own).filter {
        names.contains("\(entity.name).\($0.property.name)")
      }
      if group.kind != .delete, !readers.isEmpty {
        try applyUpdates(group, entity, readers, &frame)
      }
    }
  }

  private func addKnownObject(_ number: UInt64, to frame: inout FrameContext) throws {
    frame.table.append(
      try directory.key(ofNumber: number).map {
        ObjectTable.Entry(key: $0, life: .unknown, existed: true)
      })
  }
}
