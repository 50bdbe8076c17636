/// Looks which of a context's unsaved objects of one store meet others under uniqueness constraints.
struct ConstraintCheck {
  /// Values that unsaved objects are to have, of one constraint.
  private struct Claim: Hashable {
    let constraint: String
    let values: [PropertyValue]
  }

  /// A row whose object gives its values up in the same save.
  struct Leaving {
    let object: ManagedObject
    let columns: UniqueColumns
  }

  private let context: ManagedObjectContext
  private let plan: ObjectPlan
  private let transaction: WriteTransaction
  private var claims: [Claim: (columns: UniqueColumns, objects: [ManagedObject])] = [:]
  private var order: [Claim] = []
  private(set) var conflicts: [ConstraintConflict] = []
  private(set) var leaving: [Leaving] = []

  init(_ context: ManagedObjectContext, _ plan: ObjectPlan, _ transaction: WriteTransaction) {
    self.context = context
    self.plan = plan
    self.transaction = transaction
  }

  mutating func run() throws {
    for object in context.changedObjects where object.isIn(context) && object.hasChanges {
      if !object.isDeleted, object.shape.planIndex == plan.index { collectClaims(of: object) }
    }
    for claim in order {
      guard let (columns, objects) = claims[claim] else { continue }
      try check(claim, columns, objects)
    }
  }

  private mutating func collectClaims(of object: ManagedObject) {
    let all = plan.schema.uniqueColumns(numbered: object.shape.number)
    guard !all.isEmpty else { return }
    let changed = object.isInserted ? nil : object.changedSlots
    for columns in all {
      if let changed, !columns.slots.contains(where: changed.contains) { continue }
      guard let values = Self.values(of: object, columns) else { continue }
      let claim = Claim(constraint: columns.name, values: values)
      if claims[claim] == nil {
        claims[claim] = (columns, [object])
        order.append(claim)
      } else {
        claims[claim]?.objects.append(object)
      }
    }
  }

  private static func values(of object: ManagedObject, _ columns: UniqueColumns) -> [PropertyValue]?
  {
    columns.values(object.row)
  }

  private mutating func check(
    _ claim: Claim, _ columns: UniqueColumns, _ objects: [ManagedObject]
  ) throws {
    var objects = objects
    var row: ReadTransaction.Row?
    if let key = try columns.row(with: claim.values, transaction) {
      // Another object may have the key here still: what it has is not in this row.
      if let owner = context.graph.registered(key, in: plan.index),
        owner.shape.number == key.entity
      {
        if owner.isDeleted || Self.hasLeft(owner, columns, claim.values) {
          leaving.append(Leaving(object: owner, columns: columns))
        } else {
          objects.removeAll { $0 === owner }
          row = try transaction.knownRow(key)
        }
      } else {
        row = try transaction.knownRow(key)
      }
    }
    guard objects.count > 1 || (row != nil && !objects.isEmpty) else { return }
    let sorted = objects.filter { !$0.isInserted } + objects.filter(\.isInserted)
    conflicts.append(conflict(claim, columns, sorted, row))
  }

  /// Whether the object is to be saved with other values than its row has.
  private static func hasLeft(
    _ owner: ManagedObject, _ columns: UniqueColumns, _ stored: [PropertyValue]
  ) -> Bool {
    guard owner.isUpdated, !owner.lacksValues else { return false }
    let changed = owner.changedSlots
    return columns.slots.contains(where: changed.contains) && values(of: owner, columns) != stored
  }

  private func conflict(
    _ claim: Claim, _ columns: UniqueColumns, _ objects: [ManagedObject],
    _ row: ReadTransaction.Row?
  ) -> ConstraintConflict {
    let entities = Set(objects.map(\.shape.number) + (row.map { [$0.key.entity] } ?? []))
    return ConstraintConflict(
      constraint: columns.properties,
      constraintValues: Dictionary(
        zip(columns.properties, claim.values), uniquingKeysWith: { first, _ in first }),
      databaseObject: row.flatMap { plan.objectID($0.key) },
      databaseSnapshot: row.flatMap { row in
        plan.shape(numbered: row.key.entity).map { $0.snapshot(row.values) }
      },
      conflictingObjects: objects.map(\.objectID),
      conflictingSnapshots: objects.map { $0.isInserted ? nil : $0.committedValues },
      isOfOneEntity: entities.count == 1)
  }
}

extension ObjectShape {
  /// The attributes and to-one relationships of a row, by name.
  func snapshot(_ values: [PropertyValue]) -> [String: PropertyValue] {
    var snapshot: [String: PropertyValue] = [:]
    for slot in layout.slots where !slot.isToMany && slot.index < values.count {
      snapshot[slot.name] = values[slot.index]
    }
    return snapshot
  }
}
