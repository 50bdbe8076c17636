import Foundation

/// What the expressions of one mapping say: which objects it is about, and what they become.
struct MappingExpressions {
  private typealias Operand = PredicateEvaluator.Operand

  let manager: MigrationManager
  let mapping: EntityMapping
  /// Who answers what expressions ask of `$entityPolicy`.
  let policy: EntityMigrationPolicy

  init(
    _ mapping: EntityMapping, of manager: MigrationManager,
    _ policy: EntityMigrationPolicy = EntityMigrationPolicy()
  ) {
    self.manager = manager
    self.mapping = mapping
    self.policy = policy
  }

  /// Names and texts that expressions may ask for: `$entityMapping.name`.
  private struct Names: PropertySource {
    var values: [String: PredicateValue]
    var predicateObjectKey: ObjectKey? { nil }

    init(_ names: [String: String?], userInfo: [String: String] = [:]) {
      values = names.mapValues { .scalar($0.map { .string($0) } ?? .null) }
      values["userInfo"] = .object(Entries(values: userInfo))
    }

    func predicateValue(forKey key: String) -> PredicateValue? { values[key] }
  }

  private struct Entries: PropertySource {
    var values: [String: String]
    var predicateObjectKey: ObjectKey? { nil }

    func predicateValue(forKey key: String) -> PredicateValue? {
      .scalar(values[key].map { .string($0) } ?? .null)
    }
  }

  // MARK: Objects

  func setAttributes(of destination: ManagedObject, from source: ManagedObject) throws {
    for property in mapping.attributeMappings {
      // What is derived follows from the rest.
      guard let expression = property.valueExpression,
        !(destination.entity.propertiesByName[property.name] is DerivedAttributeDescription)
      else { continue }
      let operand = try evaluate(expression, source, destination, property)
      if let slot = destination.entity.layout.index(named: property.name),
        case .value(let value) = operand
      {
        let description = destination.entity.layout.slots[slot]
        // As without a mapping: what became required gets its default.
        if value.isNull, !description.isOptional, !description.defaultValue.isNull { continue }
        if case .attribute(_, let type) = description.kind, let fitting = Self.fit(value, type) {
          try destination.setValue(fitting, forKey: property.name)
          continue
        }
      }
      try destination.setValue(Self.plain(operand), forKey: property.name)
    }
  }

  /// The value as an attribute of the type has it; nil when that takes more than another form of the number.
  private static func fit(_ value: PropertyValue, _ type: AttributeType) -> PropertyValue? {
    if case .bool(let flag) = value, type == .double || type == .float {
      return .double(flag ? 1 : 0)
    }
    if case .uri(let url) = value, type == .string { return .string(url.absoluteString) }
    return CompiledValueReader.fit(value, type)
  }

  func setRelationships(of destination: ManagedObject) throws {
    guard mapping.relationshipMappings.contains(where: { $0.valueExpression != nil }) else {
      return
    }
    let source =
      manager.sourceInstances(
        forEntityMappingName: mapping.name, destinationInstances: [destination]
      ).first
    for property in mapping.relationshipMappings {
      guard let expression = property.valueExpression,
        let relationship = destination.entity.relationshipsByName[property.name]
      else { continue }
      let operand = try evaluate(expression, source, destination, property)
      let wanted = relationship.destinationEntity
      var objects = Self.objects(operand).filter { object in
        wanted?.selfAndDescendants.contains { $0 === object.entity } ?? true
      }
      if relationship.isToMany {
        var seen: Set<ManagedObject> = []
        objects = objects.filter { seen.insert($0).inserted }
        try checkHolders(of: objects, in: relationship, for: destination)
        // What the other end set already stays, unless this end says something else.
        try destination.setValue(objects, forKey: property.name)
      } else {
        try destination.setValue(objects.first, forKey: property.name)
      }
    }
  }

  /// Columns name one object that holds another: that one made before holds it as well would be lost without a word.
  private func checkHolders(
    of members: [ManagedObject], in relationship: RelationshipDescription,
    for holder: ManagedObject
  ) throws {
    guard
      let relation = holder.shape.relations.lazy.compactMap({ $0 }).first(where: {
        $0.description === relationship
      }), relation.isExclusive
    else { return }
    for member in members {
      let holders = holder.graph?.holders(of: member, in: relation) ?? []
      if holders.contains(where: { $0 !== holder }) {
        throw MigrationPlan.severalHolders(in: relationship)
      }
    }
  }

  /// The fetch for the objects that the mapping is about; nil when its expression is something else.
  func sourceRequest() throws -> FetchRequest<ManagedObject>? {
    guard let name = mapping.sourceEntityName else { return nil }
    guard let expression = mapping.sourceExpression else {
      return try request(name, predicate: "TRUEPREDICATE")
    }
    guard
      case .message(
        .variable("manager", path: []), MigrationManager.fetchRequest, let operands, _) =
        expression,
      operands.count == 2
    else { return nil }
    let values = try operands.map { try evaluate($0, nil, nil, nil) }
    guard case .value(.string(let entityName)) = values[0],
      case .value(.string(let predicate)) = values[1]
    else { return nil }
    return try request(entityName, predicate: predicate)
  }

  /// The objects that the mapping's expression gives.
  func sourceInstances() throws -> [ManagedObject] {
    guard let expression = mapping.sourceExpression else { return [] }
    return Self.objects(try evaluate(expression, nil, nil, nil))
  }

  private func request(
    _ entityName: String, predicate: String
  ) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.includesSubentities = false
    if predicate != "TRUEPREDICATE", !predicate.isEmpty {
      request.predicate = try FetchPredicate(format: predicate)
    }
    return request
  }

  // MARK: Evaluation

  private func evaluate(
    _ expression: FetchExpression, _ source: ManagedObject?, _ destination: ManagedObject?,
    _ property: PropertyMapping?
  ) throws -> Operand {
    let names = Names(["currentEntityMapping": mapping.name])
    var evaluator = PredicateEvaluator(nulls: .value, source: source ?? names)
    evaluator.variables = [
      "source": source.map { .object($0) } ?? .value(.null),
      "destination": destination.map { .object($0) } ?? .value(.null),
      "manager": .object(names), "entityPolicy": .value(.null),
      "entityMapping": .object(
        Names(
          [
            "name": mapping.name, "sourceEntityName": mapping.sourceEntityName,
            "destinationEntityName": mapping.destinationEntityName,
          ], userInfo: mapping.userInfo)),
      "propertyMapping": .object(
        Names(["name": property?.name], userInfo: property?.userInfo ?? [:])),
    ]
    var failure: (any Error)?
    let result = Result {
      evaluator.answer = { receiver, selector, operands throws(FetchError) in
        do {
          return try self.answer(receiver, selector, operands)
        } catch {
          failure = error
          throw PredicateEvaluator.unanswered(selector)
        }
      }
      return try evaluator.operand(expression)
    }
    if let failure { throw failure }
    return try result.get()
  }

  private func answer(
    _ receiver: String, _ selector: String, _ operands: [Operand]
  ) throws -> Operand {
    if receiver == "entityPolicy" {
      return try Self.operand(
        policy.perform(selector, operands.map(Self.plain), manager: manager))
    }
    var name = ""
    if case .value(.string(let text))? = operands.first { name = text }
    if receiver == "manager", operands.count == 2 {
      switch selector {
      case MigrationManager.byMapping:
        guard manager.mappingModel.entityMappingsByName[name] != nil else {
          throw StoreError(
            .cannotMigrate, "The mapping model has no mapping \(name), which an expression names.",
            suggestion: "Correct the name.")
        }
        return .list(
          manager.destinationInstances(
            forEntityMappingName: name, sourceInstances: Self.objects(operands[1])
          ).map { .object($0) })
      case MigrationManager.byRelationship:
        return .list(
          manager.destinationInstances(of: Self.objects(operands[1])).map { .object($0) })
      case "sourceInstancesForEntityMappingNamed:destinationInstances:":
        return .list(
          manager.sourceInstances(
            forEntityMappingName: name, destinationInstances: Self.objects(operands[1])
          ).map { .object($0) })
      case MigrationManager.fetchRequest:
        guard case .value(.string(let predicate)) = operands[1] else { break }
        let objects = try manager.sourceContext.fetch(request(name, predicate: predicate))
        return .list(objects.map { .object($0) })
      default: break
      }
    }
    throw StoreError(
      .cannotMigrate, "$\(receiver) has no answer to \(selector).",
      suggestion: "Use an expression that the documentation names, or a policy.")
  }

  private static func objects(_ operand: Operand) -> [ManagedObject] {
    switch operand {
    case .value: []
    case .object(let object): [object as? ManagedObject].compactMap { $0 }
    case .list(let elements): elements.flatMap(objects)
    }
  }

  private static func plain(_ operand: Operand) -> Any? {
    switch operand {
    // What is not here goes on being that.
    case .value(let value): value.isInZone ? value : value.plain
    case .object(let object): object as? ManagedObject
    case .list(let elements): elements.map(plain)
    }
  }

  private static func operand(_ value: Any?) throws -> Operand {
    switch value {
    case nil: return .value(.null)
    case let object as ManagedObject: return .object(object)
    case let objects as [ManagedObject]: return .list(objects.map { .object($0) })
    case let value as PropertyValue: return .value(value)
    case let value as any AttributeConvertible: return .value(value.propertyValue)
    default:
      throw StoreError(
        .cannotMigrate,
        "A policy answered with a \(type(of: value ?? "")), which no property takes.",
        suggestion: "Answer with a value of an attribute, an object or an array of objects.")
    }
  }
}
