// For the module that gives the library under Core Data's names, whose members of other types hide those of the same name.

extension EntityDescription {
  /// ``name``.
  package var knownName: String {
    get { name }
    set { name = newValue }
  }

  /// ``managedObjectModel``.
  package var knownModel: ManagedObjectModel? { managedObjectModel }

  /// ``userInfo``.
  package var knownUserInfo: [String: String] {
    get { userInfo }
    set { userInfo = newValue }
  }

  /// ``uniquenessConstraints``.
  package var knownConstraints: [[String]] {
    get { uniquenessConstraints }
    set { uniquenessConstraints = newValue }
  }

  /// An entity of no model with the same content and subentities, whose relationships find their destinations by name in the
  /// model that it is put into.
  package func knownCopy() throws(ModelError) -> EntityDescription {
    let model: ManagedObjectModel
    if let own = managedObjectModel {
      model = try own.copy()
    } else {
      let passing = ManagedObjectModel(entities: rootEntity.selfAndDescendants)
      defer { passing.entities = [] }
      model = try passing.copy()
    }
    guard let copy = model.entitiesByName[name] else { return EntityDescription(name) }
    model.entities = []
    copy.superentity?.subentities.removeAll { $0 === copy }
    return copy
  }

  /// ``coreSpotlightDisplayNameExpression``.
  package var knownDisplayNameExpression: FetchExpression? {
    get { coreSpotlightDisplayNameExpression }
    set { coreSpotlightDisplayNameExpression = newValue }
  }
}

extension ManagedObjectModel {
  /// ``copy()``.
  package func knownCopy() throws(ModelError) -> ManagedObjectModel { try copy() }
}

extension PropertyDescription {
  /// A property of no entity with the same content.
  package func knownCopy() throws(ModelError) -> PropertyDescription {
    let copy: EntityDescription
    if let entity {
      copy = try entity.knownCopy()
    } else {
      let passing = EntityDescription("Entity")
      passing.properties = [self]
      defer { passing.properties = [] }
      copy = try passing.knownCopy()
    }
    let property = copy.ownProperties.first { $0.name == name }
    copy.properties = []
    return property ?? self
  }

  /// ``entity``.
  package var knownEntity: EntityDescription? { entity }

  /// ``userInfo``.
  package var knownUserInfo: [String: String] {
    get { userInfo }
    set { userInfo = newValue }
  }

  /// ``validationPredicates``.
  package var knownPredicates: [FetchPredicate] { validationPredicates }

  /// ``validationWarnings``.
  package var knownWarnings: [ValidationWarning] { validationWarnings }

  /// ``setValidationPredicates(_:withValidationWarnings:)``.
  package func setKnownPredicates(_ predicates: [FetchPredicate]?, _ warnings: [ValidationWarning]?)
  {
    setValidationPredicates(predicates, withValidationWarnings: warnings)
  }
}

extension AttributeDescription {
  /// ``defaultValue``.
  package var knownDefault: PropertyValue {
    get { defaultValue }
    set { defaultValue = newValue }
  }
}

extension RelationshipDescription {
  /// ``deleteRule``.
  package var knownDeleteRule: DeleteRule {
    get { deleteRule }
    set { deleteRule = newValue }
  }
}

extension DerivedAttributeDescription {
  /// ``derivationExpression``.
  package var knownExpression: FetchExpression? {
    get { derivationExpression }
    set { derivationExpression = newValue }
  }
}

extension ExpressionDescription {
  /// ``expression``.
  package var knownExpression: FetchExpression? {
    get { expression }
    set { expression = newValue }
  }
}

extension FetchIndexDescription {
  /// ``partialIndexPredicate``.
  package var knownPredicate: FetchPredicate? {
    get { partialIndexPredicate }
    set { partialIndexPredicate = newValue }
  }
}
