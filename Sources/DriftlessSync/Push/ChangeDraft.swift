import Driftless
import DriftlessProtocol

/// A group of a change set while it is built: objects of one entity that set the same properties.
struct ChangeDraft {
  let kind: ChangeSetIndex.Group.Kind
  let entity: SyncSchema.Entity
  /// The objects, and the history transaction that each row comes from.
  var keys: [ObjectKey] = []
  var transactions: [Int64] = []
  /// A column a property, a cell an object.
  var columns: [ColumnDraft]

  init(
    _ kind: ChangeSetIndex.Group.Kind, _ entity: SyncSchema.Entity,
    _ properties: [SyncSchema.Property]
  ) {
    self.kind = kind
    self.entity = entity
    columns = properties.map { ColumnDraft($0) }
  }

  mutating func append(_ key: ObjectKey, transaction: Int64) {
    keys.append(key)
    transactions.append(transaction)
  }

  /// An insert without the relationships that hold nothing. Of attributes it says that there is no value: what it does not
  /// name its model did not have, and shows a default.
  func withoutEmptyRelationships() -> ChangeDraft {
    var draft = self
    draft.columns.removeAll { column in
      if case .attribute = column.property.kind { return false }
      return column.isEmpty
    }
    return draft
  }

  /// The group with its objects in the order of their places in the object table.
  func sorted(by place: [Int]) -> ChangeDraft {
    assert(place.count == keys.count && transactions.count == keys.count)
    assert(columns.allSatisfy { $0.count == keys.count }, "a column has a cell an object")
    guard zip(place, place.dropFirst()).contains(where: { $0 > $1 }) else { return self }
    let order = place.indices.sorted { place[$0] < place[$1] }
    var draft = self
    draft.keys = order.map { keys[$0] }
    draft.transactions = order.map { transactions[$0] }
    draft.columns = columns.map { $0.reordered(order) }
    return draft
  }
}

/// The delete of an object that the zone had, and lost, while the change set is built: it goes by its identity.
struct TombstoneDraft {
  var key: ObjectKey
  var entity: SyncSchema.Entity
  var transaction: Int64
}
