extension EntityDescription {
  /// The rule for conflicts over properties that name none: this entity's, or its superentity's.
  ///
  /// It rides in `userInfo` under ``ConflictPolicy/userInfoKey``.
  public var conflictPolicy: ConflictPolicy {
    get {
      userInfo[ConflictPolicy.userInfoKey].flatMap(ConflictPolicy.init(text:))
        ?? superentity?.conflictPolicy ?? .lastWriterWins
    }
    set { userInfo[ConflictPolicy.userInfoKey] = newValue.text }
  }

  /// The rule for a delete against an edit: this entity's, or its superentity's.
  ///
  /// It rides in `userInfo` under ``DeletePolicy/userInfoKey``.
  public var deletePolicy: DeletePolicy {
    get {
      userInfo[DeletePolicy.userInfoKey].flatMap(DeletePolicy.init(rawValue:))
        ?? superentity?.deletePolicy ?? .deleteWins
    }
    set { userInfo[DeletePolicy.userInfoKey] = newValue.rawValue }
  }

  /// The rule that holds for a property of this entity's objects: the property's own, or that of
  /// the composite attribute around it, or the entity's.
  public func effectiveConflictPolicy(for property: PropertyDescription) -> ConflictPolicy {
    var candidate: PropertyDescription? = property
    while let current = candidate {
      if let policy = current.conflictPolicy { return policy }
      candidate = (current as? AttributeDescription)?.composite
    }
    return conflictPolicy
  }
}
