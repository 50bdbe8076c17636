import Driftless

extension ModelLint {
  /// Settings of an entity, and its uniqueness constraints.
  mutating func look(at entity: EntityDescription) {
    lookAtSettings(
      entity.userInfo, entity.name,
      known: [
        ConflictPolicy.userInfoKey, DeletePolicy.userInfoKey, FetchTiming.userInfoKey,
        PropertyDescription.formerNamesKey,
      ])
    lookAtFetch(entity.userInfo, entity.name, obstacle: nil)
    if let policy = ownPolicy(entity.userInfo) {
      if case .custom(let name) = policy {
        addCustom(name, entity.name, "all properties that name no other")
      } else if !isOfUse(policy, in: entity) {
        add(
          .idlePolicy, entity.name,
          "has the policy \(policy.text), which fits none of the properties that follow it",
          "Take it away, or name it for the properties that it is meant for.")
      }
    }
    let properties = entity.propertiesByName
    for constraint in entity.uniquenessConstraints {
      let optional = constraint.filter { properties[$0]?.isOptional == true }
      guard !optional.isEmpty else { continue }
      add(
        .optionalKey, "\(entity.name).\(optional.joined(separator: ","))",
        "is part of a uniqueness constraint and optional: objects without a value of it are not held apart",
        "Make it required, or see to it that every object gets a value.")
    }
  }

  /// Whether an entity's policy settles anything in objects of it or of an heir.
  private func isOfUse(_ policy: ConflictPolicy, in entity: EntityDescription) -> Bool {
    let heirs = entity.subentities.filter { ownPolicy($0.userInfo) == nil }
    return entity.propertiesByName.values.contains { settles($0, by: policy) }
      || heirs.contains { isOfUse(policy, in: $0) }
  }

  private func settles(_ property: PropertyDescription, by policy: ConflictPolicy) -> Bool {
    guard property.conflictPolicy == nil, !property.isTransient else { return false }
    switch property {
    case let composite as CompositeAttributeDescription:
      return composite.elements.contains { settles($0, by: policy) }
    case is DerivedAttributeDescription: return false
    case let attribute as AttributeDescription: return policy.obstacle(of: attribute.type) == nil
    case let relationship as RelationshipDescription:
      return !relationship.isToMany && policy.fitsReferences
    default: return false
    }
  }

  /// Keys that are the library's by their beginning, and that it does not know there.
  mutating func lookAtSettings(_ userInfo: [String: String], _ element: String, known: [String]) {
    for key in userInfo.keys.sorted() where key.lowercased().hasPrefix("driftless.") {
      guard !known.contains(key) else { continue }
      add(
        .unknownSetting, element, "has \(key) in its userInfo, which means nothing there",
        known.isEmpty
          ? "Take it away." : "Take it away, or write \(known.joined(separator: " or ")).")
    }
  }

  func ownPolicy(_ userInfo: [String: String]) -> ConflictPolicy? {
    userInfo[ConflictPolicy.userInfoKey].flatMap(ConflictPolicy.init(text:))
  }

  mutating func addCustom(_ name: String, _ element: String, _ what: String) {
    add(
      .customPolicy, element,
      "leaves conflicts over \(what) to the rule \(name): every program that syncs the store must have "
        + "it, and syncd and syncctl have none; without it the later edit stands",
      "Sync the store by the application, and give its engine SyncOptions.customPolicies[\"\(name)\"]."
    )
  }
}

extension ConflictPolicy {
  /// Whether the rule has something to say of two references.
  var fitsReferences: Bool {
    switch self {
    case .lastWriterWins, .serverWins, .clientWins, .custom, .manual: true
    case .max, .min, .counter, .union, .text: false
    }
  }

  /// Why the rule cannot do its work on values of a type; nil where it can.
  func obstacle(of type: AttributeType) -> String? {
    switch self {
    case .lastWriterWins, .serverWins, .clientWins, .custom, .manual: nil
    case .counter where !type.isNumber: "only numbers add up, so the later edit stands"
    case .text where type != .string: "only edits of texts are merged, so the later one stands"
    case .union where !type.mayBeList:
      "only lists are united (JSON in a text or in bytes, or a property list), so the later edit stands"
    case .max where type.isOfBytes, .min where type.isOfBytes:
      "bytes are compared one by one, so the value that stands is neither size nor time"
    case .counter, .text, .union, .max, .min: nil
    }
  }
}

extension AttributeType {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: true
    case .undefined, .string, .boolean, .date, .binaryData, .uuid, .uri, .transformable, .objectID,
      .composite:
      false
    }
  }

  fileprivate var isOfBytes: Bool { self == .binaryData || self == .transformable }
  fileprivate var mayBeList: Bool { self == .string || isOfBytes }
}
