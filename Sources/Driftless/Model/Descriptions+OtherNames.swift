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

  /// ``coreSpotlightDisplayNameExpression``.
  package var knownDisplayNameExpression: FetchExpression? {
    get { coreSpotlightDisplayNameExpression }
    set { coreSpotlightDisplayNameExpression = newValue }
  }
}

extension PropertyDescription {
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
