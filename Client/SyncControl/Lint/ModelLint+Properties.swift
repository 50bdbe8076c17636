import Driftless

extension ModelLint {
  /// - Parameters:
  ///   - path: The attribute's name with those of the composite attributes around it.
  ///   - around: The policy of the composite attribute around it, where that has one.
  mutating func look(
    at attribute: AttributeDescription, of entity: EntityDescription, path: String,
    around: ConflictPolicy?
  ) {
    let element = "\(entity.name).\(path)"
    lookAtSettings(
      attribute.userInfo, element,
      known: [
        ConflictPolicy.userInfoKey, AttributeDescription.encryptedKey, FetchTiming.userInfoKey,
        PropertyDescription.formerNamesKey,
      ])
    lookAtFetch(
      attribute.userInfo, element, obstacle: fetchObstacle(attribute, of: entity, around))
    lookAtEncryption(
      attribute.userInfo, element,
      obstacle: attribute.isKept ? nil : "which is not synced, so nothing of it is ever sealed")
    let own = ownPolicy(attribute.userInfo)
    guard attribute.isKept else {
      if let own { addIdle(own, element, "which is not synced") }
      return
    }
    if case .custom(let name)? = own { addCustom(name, element, "it") }
    if let composite = attribute as? CompositeAttributeDescription {
      for part in composite.elements {
        look(at: part, of: entity, path: "\(path).\(part.name)", around: own ?? around)
      }
      return
    }
    guard let policy = own ?? around, let obstacle = policy.obstacle(of: attribute.type) else {
      return
    }
    let source = own == nil ? " of the attribute around it" : ""
    add(
      .unfitPolicy, element,
      "has the policy \(policy.text)\(source) and the type \(attribute.type): \(obstacle)",
      "Give it a policy of its own that fits.")
  }

  mutating func look(at relationship: RelationshipDescription, of entity: EntityDescription) {
    let element = "\(entity.name).\(relationship.name)"
    let destination = relationship.destinationEntity?.name ?? ""
    lookAtSettings(
      relationship.userInfo, element,
      known: [
        ConflictPolicy.userInfoKey, AttributeDescription.encryptedKey,
        PropertyDescription.formerNamesKey,
      ]
        + (relationship.isToMany ? [] : [RelationshipDescription.treeKey]))
    lookAtPolicy(of: relationship, element)
    lookAtEncryption(
      relationship.userInfo, element,
      obstacle: "and is a relationship: the server puts references together, and sees them")
    if let text = relationship.userInfo[RelationshipDescription.treeKey], !relationship.isToMany,
      !relationship.isTree, !Self.noWords.contains(text.lowercased())
    {
      add(
        .unknownSetting, element,
        "says \(RelationshipDescription.treeKey) = \(text), which is neither yes nor no: it is no tree",
        "Write 1, or take it away.")
    }
    guard !relationship.isTransient else { return }
    if relationship.inverseRelationship == nil {
      add(
        .missingInverse, element,
        "has no inverse: no delete rule says what becomes of it when its \(destination) is deleted"
          + (relationship.isToMany ? ", and a file that keeps it in columns cannot sync" : ""),
        "Add a relationship to \(entity.name) in \(destination), and let each name the other as its inverse."
      )
    }
    if relationship.isSecondOrder {
      add(
        .twofoldOrder, element,
        "is ordered at both ends: of two many-to-many ends the order of one alone is synced, and this one's is not",
        "Leave this end unordered, or make the pair an entity with two to-one relationships.")
    }
  }

  /// Whoever believes that a property is encrypted has to be told where it is not.
  private mutating func lookAtEncryption(
    _ userInfo: [String: String], _ element: String, obstacle: String?
  ) {
    let key = AttributeDescription.encryptedKey
    guard let text = userInfo[key], !Self.noWords.contains(text.lowercased()) else { return }
    guard ["1", "true", "yes"].contains(text.lowercased()) else {
      return add(
        .unfitEncryption, element,
        "says \(key) = \(text), which is neither yes nor no: it is not encrypted",
        "Write yes, or no.")
    }
    guard let obstacle else { return }
    add(
      .unfitEncryption, element, "says \(key), \(obstacle)",
      "Take the word away; encrypt the attributes that shall not be read.")
  }

  /// Whoever believes that values wait has to be told which never do.
  mutating func lookAtFetch(
    _ userInfo: [String: String], _ element: String, obstacle: String?
  ) {
    let key = FetchTiming.userInfoKey
    guard let text = userInfo[key] else { return }
    guard let timing = FetchTiming(rawValue: text) else {
      let words = FetchTiming.allCases.map(\.rawValue).joined(separator: " or ")
      return add(
        .unfitFetch, element, "says \(key) = \(text), which is no word for when values are fetched",
        "Write \(words).")
    }
    guard timing == .firstUse, let obstacle else { return }
    add(.unfitFetch, element, "says \(key) = \(text), \(obstacle)", "Take the word away.")
  }

  private func fetchObstacle(
    _ attribute: AttributeDescription, of entity: EntityDescription, _ around: ConflictPolicy?
  ) -> String? {
    guard attribute.isKept else { return "which is not synced" }
    guard attribute.type == .binaryData || attribute.type == .transformable else {
      return "and has the type \(attribute.type): only what is bytes waits in the zone"
    }
    let policy = ownPolicy(attribute.userInfo) ?? around ?? ownPolicy(entity.userInfo)
    guard policy?.addsToFormer != true else {
      return "and edits add to what is there, which has to be here for that"
    }
    let isKeyed = entity.uniquenessConstraints.contains { $0.contains(attribute.name) }
    return isKeyed ? "and is part of a unique key, which has to be here" : nil
  }

  private static let noWords = ["0", "false", "no", ""]

  private mutating func lookAtPolicy(of relationship: RelationshipDescription, _ element: String) {
    guard let policy = ownPolicy(relationship.userInfo) else { return }
    guard !relationship.isTransient else { return addIdle(policy, element, "which is not synced") }
    if relationship.isToMany {
      if policy != .union { addIdle(policy, element, "whose elements are merged one by one") }
      return
    }
    if relationship.followsOneToOne {
      let other = relationship.inverseRelationship
      let name = "\(other?.entity?.name ?? "").\(other?.name ?? "")"
      return addIdle(policy, element, "which follows \(name): the policy of that one counts")
    }
    if case .custom(let name) = policy { addCustom(name, element, "it") }
    guard !policy.fitsReferences else { return }
    add(
      .unfitPolicy, element,
      "has the policy \(policy.text) and holds one object: references have neither size nor elements, "
        + "and \(policy == .union ? "the later edit stands" : "what the zone has stands")",
      "Give it another policy.")
  }

  private mutating func addIdle(_ policy: ConflictPolicy, _ element: String, _ reason: String) {
    add(.idlePolicy, element, "has the policy \(policy.text), \(reason)", "Take the policy away.")
  }
}

extension AttributeDescription {
  /// Whether replicas tell each other its values.
  fileprivate var isKept: Bool { !isTransient && !(self is DerivedAttributeDescription) }
}

extension RelationshipDescription {
  /// Whether both ends of a many-to-many relationship are ordered, and the order of this one is not synced.
  fileprivate var isSecondOrder: Bool {
    guard isToMany, isOrdered, let inverse = inverseRelationship, inverse !== self,
      inverse.isToMany, inverse.isOrdered
    else { return false }
    let mine = (inverse.destinationEntity?.name ?? "", name)
    return mine > (destinationEntity?.name ?? "", inverse.name)
  }
}
