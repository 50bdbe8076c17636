import Driftless
import DriftlessProtocol

/// A group of a change set while it is built: objects of one entity that set the same properties.
struct ChangeDraft {
  /// Elements that a many-to-many relationship gained and lost.
  struct Elements {
    var adds: [ObjectKey]
    var removes: [ObjectKey]
  }

  enum Cell {
    case value(PropertyValue)
    case elements(Elements)

    var isEmpty: Bool {
      switch self {
      case .value(let value): value.isNull
      case .elements(let elements): elements.adds.isEmpty && elements.removes.isEmpty
      }
    }
  }

  let kind: ChangeSetIndex.Group.Kind
  let entity: SyncSchema.Entity
  let properties: [SyncSchema.Property]
  /// The objects, and the history transaction that each row comes from.
  var keys: [ObjectKey] = []
  var transactions: [Int64] = []
  /// A column a property, a cell an object.
  var columns: [[Cell]]

  init(
    _ kind: ChangeSetIndex.Group.Kind, _ entity: SyncSchema.Entity,
    _ properties: [SyncSchema.Property]
  ) {
    self.kind = kind
    self.entity = entity
    self.properties = properties
    columns = Array(repeating: [], count: properties.count)
  }

  mutating func append(_ key: ObjectKey, transaction: Int64, cells: [Cell]) {
    keys.append(key)
    transactions.append(transaction)
    for (index, cell) in cells.enumerated() { columns[index].append(cell) }
  }

  /// The group without the columns that say nothing: only an insert may leave them out.
  func withoutEmptyColumns() -> ChangeDraft {
    let kept = columns.indices.filter { !columns[$0].allSatisfy(\.isEmpty) }
    var draft = ChangeDraft(kind, entity, kept.map { properties[$0] })
    draft.keys = keys
    draft.transactions = transactions
    draft.columns = kept.map { columns[$0] }
    return draft
  }

  /// The group with its objects in the order of their places in the object table.
  func sorted(by place: [Int]) -> ChangeDraft {
    guard zip(place, place.dropFirst()).contains(where: { $0 > $1 }) else { return self }
    let order = place.indices.sorted { place[$0] < place[$1] }
    var draft = self
    draft.keys = order.map { keys[$0] }
    draft.transactions = order.map { transactions[$0] }
    draft.columns = columns.map { column in order.map { column[$0] } }
    return draft
  }
}
