import Driftless
import DriftlessProtocol

/// A save that a change set tells in part: what of it refers to an object that was set aside, because the server refuses it,
/// was left out. Who has that save pending still, since it forgot the zone or is another copy of the store, keeps that pending.
extension PageApplier {
  /// Whether a set that the zone has is the one of a save that is pending here, without what that left out.
  func isLess(
    _ elements: [ObjectKey], of property: SyncSchema.Property, of key: ObjectKey,
    _ frame: FrameContext
  ) throws -> Bool {
    guard case .elements = property.kind else { return false }
    return try isLeftOut(property, of: key, saying: elements, frame)
  }

  /// Whether what is pending of a property is of a save that a change set tells in part, and not in what that says of it.
  ///
  /// - Parameter targets: what the change set says that it refers to.
  private func isLeftOut(
    _ property: SyncSchema.Property, of key: ObjectKey, saying targets: [ObjectKey],
    _ frame: FrameContext
  ) throws -> Bool {
    guard frame.changeSet.index.isPartial, let object = pending[key],
      object.offer(of: property.slot) == nil,
      let last = object.transaction(of: property.slot), last > 0,
      try frame.tells(transaction.transactionName(last))
    else { return false }
    switch property.kind {
    case .attribute: return false
    case .toOne, .place:
      return try targets.isEmpty && !currentValues(of: key)[property.slot].isNull
    case .elements(let relationship):
      let told = Set(targets.map(rooted))
      return try transaction.toManyKeys(of: key, relationship)
        .contains { !told.contains(rooted($0)) }
    }
  }

  /// Keeps a property of a new object pending that an insert does not name, where that left it out.
  ///
  /// - Returns: whether it did.
  func keepLeftOut(
    _ property: SyncSchema.Property, of key: ObjectKey, _ frame: FrameContext
  ) throws -> Bool {
    guard try isLeftOut(property, of: key, saying: [], frame) else { return false }
    if case .elements = property.kind {
      try BaseValues.replace(key, property.name, with: [ObjectKey](), on: transaction.connection)
    } else {
      try replaceBase(of: key, property, with: .null)
    }
    return true
  }

  /// Keeps a reference pending, with the place beside it, that a row of the same save says to be none since it left that out.
  ///
  /// - Parameter readers: all that the row names.
  /// - Returns: whether it did.
  func keepLeftOut(
    _ reader: PropertyReader, among readers: [PropertyReader], of key: ObjectKey,
    _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) throws -> Bool {
    let property = reader.property
    switch property.kind {
    case .attribute, .elements: return false
    case .toOne, .place: break
    }
    let saysTarget = readers.contains {
      $0.property.slot == property.slot && $0.reference(row) != nil
    }
    guard !saysTarget, !isLate, try isOfLastEdit(property, of: key, group, row: row, frame),
      try isLeftOut(property, of: key, saying: [], frame)
    else { return false }
    if case .toOne = property.kind { try replaceBase(of: key, property, with: .null) }
    try zone.removeValue(of: key, property.name)
    return true
  }

  /// Whether a row is of the save that set a property last here, which it may name by its time.
  private func isOfLastEdit(
    _ property: SyncSchema.Property, of key: ObjectKey, _ group: ChangeSetIndex.Group, row: Int,
    _ frame: FrameContext
  ) throws -> Bool {
    let transactions = frame.changeSet.index.transactions
    guard let last = pending[key]?.transaction(of: property.slot), last > 0,
      let place = frame.transaction(group, row: row), transactions.indices.contains(place)
    else { return false }
    let name = transactions[place].name
    return try name == transaction.transactionName(last)
      || name == transaction.hybridTime(of: last).rawValue
  }
}
