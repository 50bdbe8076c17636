import Driftless
import DriftlessProtocol

/// Columns that hold what no value of their property can be, and references to what is nowhere: a digest is of what is shown in
/// their place, which may be what the zone has.
extension SyncEngine {
  /// Finds them. With a repair each that the zone knows is written as it is shown, a reference as none, so that it is compared as
  /// all else is, and gets what the zone has. What waits to be sent is somebody's edit, and stays.
  func damagedCells(_ verification: ZoneVerification) throws -> [VerifyReport.Difference] {
    let found = try store.read { transaction in
      try checkPlace(verification, transaction)
      var found: [BrokenValue] = []
      try transaction.forEachBrokenValue { value in
        guard schema.entity(numbered: value.key.entity)?.property(at: value.slot) != nil else {
          return
        }
        found.append(value)
      }
      return try withoutMissing(found, transaction)
    }
    guard verification.repairs, !found.isEmpty else {
      return try store.read { transaction in
        try found.map { try difference($0, transaction, isRepaired: false) }
      }
    }
    return try settling { applier, state in
      guard state.position == verification.place else { throw ZoneVerification.Moved() }
      let differences = try found.map { value in
        try self.difference(
          value, applier.transaction, isRepaired: applier.writeAsShown(value))
      }
      try applier.finishKeys()
      return differences
    }
  }

  /// Without what refers to an object that the zone has, and whose row is gone without a word: that is missing, and what refers to it
  /// is as it should be. What was deleted, history tells.
  private func withoutMissing(
    _ found: [BrokenValue], _ transaction: ReadTransaction
  ) throws -> [BrokenValue] {
    var directory = ObjectDirectory(transaction.connection)
    var isDeleted: [ObjectKey: Bool] = [:]
    for case let target? in found.map(\.nowhere) {
      let root = schema.rooted(target)
      if isDeleted[root] == nil, try directory.number(root: root.entity, key: root.key) != nil {
        isDeleted[root] = false
      }
    }
    guard !isDeleted.isEmpty else { return found }
    try transaction.forEachChange(after: 0) { _, type, key, _ in
      let root = schema.rooted(key)
      if isDeleted[root] != nil { isDeleted[root] = type == .delete }
    }
    return found.filter { $0.nowhere.map { isDeleted[schema.rooted($0)] ?? true } ?? true }
  }

  private func difference(
    _ value: BrokenValue, _ transaction: ReadTransaction, isRepaired: Bool
  ) throws -> VerifyReport.Difference {
    let entity = schema.entity(numbered: value.key.entity)
    var difference = VerifyReport.Difference(
      kind: .damaged, entity: entity?.name ?? "", object: try transaction.identity(of: value.key),
      isRepaired: isRepaired)
    difference.property = entity?.property(at: value.slot)?.name
    difference.breach = value.breach
    difference.local = value.text
    return difference
  }
}

extension PageApplier {
  /// - Returns: whether it was written.
  fileprivate func writeAsShown(_ value: BrokenValue) throws -> Bool {
    let key = value.key
    guard try directory.number(root: schema.root(of: key), key: key.key) != nil,
      pending[key].map({ $0.whole == .none && $0.transaction(of: value.slot) == nil }) ?? true,
      let property = schema.entity(numbered: key.entity)?.property(at: value.slot),
      var values = try transaction.knownOwnRow(key)?.values
    else { return false }
    if case .elements(let relationship) = property.kind {
      guard let element = value.nowhere else { return false }
      try transaction.removePairs(relationship, key, [element])
      try record(relationship, of: key)
      report.updated += 1
      return true
    }
    if value.nowhere != nil { values[value.slot] = .null }
    try transaction.update(
      key, PropertyMask([value.slot]), values: values, expectedVersion: nil)
    report.updated += 1
    return true
  }
}
