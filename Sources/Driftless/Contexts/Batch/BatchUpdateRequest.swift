import DriftlessSQLite
import Foundation

/// Sets properties of all objects that a predicate finds, without a context: no callbacks, no validation but unique
/// constraints, and constant memory. All of it is one transaction of the history.
///
/// ```swift
/// var request = BatchUpdateRequest(entityName: "Book")
/// request.predicate = (Book.pages > 300).predicate
/// request.propertiesToUpdate = [
///   "isRead": true, "pages": try FetchExpression(format: "pages + 1"),
/// ]
/// try context.execute(request)
/// ```
public struct BatchUpdateRequest {
  /// The entity of the objects.
  public var entityName: String
  /// All objects when nil.
  public var predicate: FetchPredicate?
  /// By name: a value, nil, or a ``FetchExpression`` that is computed for each object from what it was before. A to-one
  /// relationship takes an object's ID.
  public var propertiesToUpdate: [String: Any?] = [:]
  /// Objects of subentities too.
  public var includesSubentities = true
  /// What the result tells.
  public var resultType = BatchResultType.statusOnly
  /// The stores that it is sent to: all for nil. One that the coordinator has under another reference counts by its identifier.
  public var affectedStores: [PersistentStore]?

  /// A request that changes nothing until ``propertiesToUpdate`` is set.
  public init(entityName: String) { self.entityName = entityName }
}

extension ManagedObjectContext {
  /// Changes rows. Objects of contexts know nothing of it until changes are merged:
  /// ``mergeChanges(inserted:updated:deleted:)``.
  /// - Throws: ``FetchError`` for a predicate or expression that does not fit the model, or a derived attribute;
  ///   ``ObjectError`` for an unknown property or a value that does not fit, `StoreError` with the code `constraint` for a unique value that exists.
  ///   Nothing is changed then.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    try checkMayWrite()
    _ = try shape(named: request.entityName)
    let plans = stores.plans.filter { $0.isAsked(by: request.affectedStores) }
    let updates = try plans.compactMap { plan in
      var part = request
      part.predicate = predicate(request.predicate, in: plan)
      return try plan.shape(named: request.entityName).map { try BatchUpdate(part, $0, plan) }
    }
    let targets = try self.written(updates.map(\.plan)) { plan in
      try updates.contains { update in
        try update.plan === plan && plan.store.read { try $0.count(of: update.counted) } > 0
      }
    }
    var tallies: [BatchTally] = []
    var written: [Written] = []
    defer { Self.tell(written) }
    try write(to: targets, batchInfo, &written) { plan, transaction in
      var tally = BatchTally(request.resultType, plan)
      for update in updates where update.plan === plan { try update.run(transaction, &tally) }
      tallies.append(tally)
    }
    return BatchResult(tallies, request.resultType)
  }
}

/// A batch update, compiled.
private struct BatchUpdate {
  private let shape: ObjectShape
  let plan: ObjectPlan
  private var mask = PropertyMask()
  private var constants: [(slot: Int, value: PropertyValue)] = []
  private var computed: [RowProgram.Step] = []
  /// Key, entity and computed values of each row, before any is changed.
  private let selection: SQLFragment

  init(
    _ request: BatchUpdateRequest, _ shape: ObjectShape, _ plan: ObjectPlan
  ) throws {
    self.shape = shape
    self.plan = plan
    guard !request.propertiesToUpdate.isEmpty else {
      throw FetchError(
        .invalidRequest, "The batch update has no properties to update",
        suggestion: "Set propertiesToUpdate.")
    }
    let compilation = QueryCompilation(schema: plan.schema, entity: shape.entity)
    let alias = QueryCompilation.rootAlias
    var columns = [SQLFragment.column(alias, "Z_PK"), .column(alias, "Z_ENT")]
    for (name, value) in request.propertiesToUpdate.sorted(by: { $0.key < $1.key }) {
      guard let slot = shape.layout.index(named: name), !shape.layout.slots[slot].isToMany,
        !shape.isTransient[slot]
      else {
        throw ObjectError(
          .unknownProperty,
          "\(shape.entity.name) has no stored attribute or to-one relationship \(name)",
          suggestion: "Check propertiesToUpdate against the model.")
      }
      guard !(shape.layout.slots[slot].property is DerivedAttributeDescription) else {
        throw FetchError(
          .invalidRequest,
          "\(shape.entity.name).\(name) is derived and follows from other properties",
          suggestion: "Update what it is derived from.")
      }
      mask.insert(slot)
      if let expression = value as? FetchExpression, case .none = expression.constant {
        columns.append(try Self.column(expression, slot, shape, compilation))
        computed.append(try Self.step(slot, shape, at: Int32(columns.count - 1)))
      } else {
        let constant = (value as? FetchExpression)?.constant ?? value
        constants.append((slot, try Self.constant(constant, slot, shape, plan)))
      }
    }
    let compiler = QueryCompiler(schema: plan.schema)
    let conditions = try compiler.conditions(
      request.predicate, request.includesSubentities, shape.entity, compilation)
    selection =
      "SELECT " + .joined(columns, by: ", ") + " FROM " + compilation.root.scope.from + conditions
  }

  /// How many objects it finds.
  var counted: CompiledQuery {
    CompiledQuery(sql: selection.sql, bindings: selection.bindings).counted
  }

  private static func column(
    _ expression: FetchExpression, _ slot: Int, _ shape: ObjectShape,
    _ compilation: QueryCompilation
  ) throws -> SQLFragment {
    if case .computed(let value, let kind) = try compilation.operand(expression) {
      let fits =
        switch (kind, shape.kinds[slot]) {
        case (.number, .bool), (.number, .integer16), (.number, .integer32), (.number, .integer64),
          (.number, .double), (.number, .decimal), (.decimal, .decimal), (.text, .string),
          (.text, .uri), (.date, .date), (.data, .data), (.uuid, .uuid):
          true
        default: false
        }
      if fits { return value }
    }
    throw FetchError(
      .typeMismatch,
      "\(shape.entity.name).\(shape.layout.slots[slot].name) is \(shape.kinds[slot]) "
        + "and cannot be set to \(expression)",
      suggestion: "Compute a value of the attribute's type.")
  }

  private static func step(
    _ slot: Int, _ shape: ObjectShape, at column: Int32
  ) throws -> RowProgram.Step {
    guard case .attribute(_, let type) = shape.layout.slots[slot].kind else {
      throw FetchError(
        .unsupported,
        "\(shape.layout.slots[slot].name) is a relationship, which takes no expression",
        suggestion: "Give it an object's ID or nil.")
    }
    return RowProgram.Step(
      slot: slot, kind: RowProgram.kind(of: type), column: column, entityColumn: -1,
      entityNumber: 0)
  }

  private static func constant(
    _ value: Any?, _ slot: Int, _ shape: ObjectShape, _ plan: ObjectPlan
  ) throws -> PropertyValue {
    guard let relation = shape.relations[slot] else {
      return try shape.attributeValue(value, slot, plan)
    }
    guard relation.inverseSlot < 0 || relation.inverseIsToMany else {
      throw FetchError(
        .unsupported,
        "\(relation.name) is one to one: a batch cannot free the place at the other end",
        suggestion: "Set it in a context.")
    }
    guard let value, !(value is NSNull) else { return .null }
    let given: ObjectKey?
    switch value as? PropertyValue {
    case .null?: return .null
    case .reference(let key)?: given = key
    default: given = (value as? any ObjectKeyProviding)?.providedObjectKey ?? value as? ObjectKey
    }
    if let given, given.store != 0, given.store != plan.objects.storeTag {
      throw ObjectError(
        .crossStore,
        "\(relation.name) cannot lead from the store \(plan.store.identifier) to an object of another one",
        suggestion:
          "Name the object's store in affectedStores, or pass the ID of an object of each store.")
    }
    guard let key = given, key.key > 0,
      plan.shape(numbered: key.entity)?.isKind(of: relation.destination) == true
    else {
      throw ObjectError(
        .typeMismatch, "\(relation.name) takes the ID of a saved \(relation.destination.name)",
        suggestion: "Pass a ManagedObjectID, or nil.")
    }
    return .reference(key)
  }

  func run(_ transaction: WriteTransaction, _ tally: inout BatchTally) throws {
    let rows = try BatchRows(transaction, columns: computed.count, selection)
    defer { rows.drop() }
    try rows.forEach { statement in
      let key = statement.objectKey(1, 0)
      var values = [PropertyValue](
        repeating: .null, count: plan.shape(numbered: key.entity)?.slotCount ?? shape.slotCount)
      for constant in constants { values[constant.slot] = constant.value }
      for step in computed {
        let value = step.value(in: statement, at: step.column)
        guard shape.kinds[step.slot].accepts(value) else {
          throw ObjectError(
            .typeMismatch,
            "\(shape.entity.name).\(shape.layout.slots[step.slot].name) cannot hold \(words(of: value))",
            suggestion: "Choose the objects or the expression so that results are in range.")
        }
        values[step.slot] = value
      }
      try transaction.update(key, mask, values: values, expectedVersion: nil)
      tally.add(key)
    }
  }
}

extension FetchExpression {
  /// The value of a constant; nil for what is to be computed.
  fileprivate var constant: PropertyValue? {
    if case .constant(let value) = self { return value }
    return nil
  }
}

extension ObjectShape {
  /// A value for an attribute, converted as an object would.
  fileprivate func attributeValue(
    _ value: Any?, _ slot: Int, _ plan: ObjectPlan
  ) throws -> PropertyValue {
    let context = ManagedObjectContext(scratchOn: PersistentStoreCoordinator(store: plan.store))
    // The object is not the context's: it must not stay behind.
    return try withExtendedLifetime(context) {
      try ManagedObject(context.graph.birth(of: self)).propertyValue(value, for: slot)
    }
  }
}
