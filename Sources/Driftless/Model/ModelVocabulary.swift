/// The words of a model file that have a meaning here, by element.
enum ModelVocabulary {
  static let model: Set<String> = ["type", "documentVersion", "userDefinedModelVersionIdentifier"]

  static let entity: Set<String> = [
    "name", "representedClassName", "parentEntity", "isAbstract", "versionHashModifier",
    "elementID", "renamingIdentifier", "coreSpotlightDisplayNameExpression",
  ]

  static let property: Set<String> = [
    "name", "optional", "transient", "indexed", "versionHashModifier", "elementID",
    "renamingIdentifier",
  ]

  static let attribute: Set<String> = property.union([
    "attributeType", "derived", "derivationExpression", "composite", "valueTransformerName",
    "allowsExternalBinaryDataStorage", "preserveAfterDeletion", "allowsCloudEncryption",
    "regularExpressionString",
  ])

  static let relationship: Set<String> = property.union([
    "destinationEntity", "inverseName", "inverseEntity", "toMany", "maxCount", "minCount",
    "ordered", "deletionRule",
  ])

  static let fetchRequest: Set<String> = ["name", "entity", "predicateString"]

  /// What an index of before Xcode 8 is called, with its number behind.
  static let compoundIndex = "compound"

  static let indexElement: Set<String> = ["property", "expression", "type", "order"]

  /// What may stand in an element: what has a meaning here, and what Xcode writes besides.
  struct Element {
    /// Elements within it.
    let children: Set<String>
    /// The attributes that mean something here.
    let readAttributes: Set<String>
    /// Those and what editors keep there.
    let attributes: Set<String>

    init(_ children: Set<String>, _ attributes: Set<String>, editors: Set<String> = []) {
      self.children = children
      readAttributes = attributes
      self.attributes = attributes.union(editors)
    }

    /// Names of other vocabularies.
    func ignores(_ name: String) -> Bool { name.contains(":") || name == "xmlns" }
  }

  private static let values: Set<String> = [
    "defaultValueString", "defaultDateTimeInterval", "minValueString", "minDateTimeInterval",
    "maxValueString", "maxDateTimeInterval",
  ]
  private static let ofProperties: Set<String> = [
    "syncable", "spotlightIndexingEnabled", "storedInTruthFile", "customClassName",
    "usesScalarValueType",
  ]
  private static let ofRequests: Set<String> = [
    "fetchLimit", "fetchBatchSize", "fetchOffset", "resultType", "includeSubentities",
    "includesSubentities", "includePropertyValues", "includesPropertyValues",
    "includePendingChanges", "includesPendingChanges", "includesSubEntities",
    "returnObjectsAsFaults", "returnsObjectsAsFaults", "returnDistinctResults",
    "returnsDistinctResults",
  ]

  /// What is known of each element. Where Xcode draws the boxes nothing has a meaning here.
  static let elements: [String: Element] = [
    "model": Element(
      ["entity", "composite", "fetchRequest", "configuration", "elements"], model,
      editors: [
        "name", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage",
        "usedWithCloudKit", "usedWithSwiftData", "macOSVersion", "iOSVersion", "tvOSVersion",
        "watchOSVersion", "visionOSVersion",
      ]),
    "entity": Element(
      [
        "attribute", "relationship", "fetchedProperty", "fetchIndex", "uniquenessConstraints",
        "compoundIndexes", "userInfo",
      ], entity, editors: ["syncable", "codeGenerationType"]),
    "attribute": Element(["userInfo"], attribute.union(values), editors: ofProperties),
    "relationship": Element(["userInfo"], relationship, editors: ofProperties),
    "fetchedProperty": Element(["fetchRequest", "userInfo"], property, editors: ofProperties),
    "fetchRequest": Element([], fetchRequest, editors: ofRequests),
    "fetchIndex": Element(["fetchIndexElement"], ["name", "partialIndexPredicate"]),
    "fetchIndexElement": Element([], indexElement, editors: ["expressionType"]),
    "uniquenessConstraints": Element(["uniquenessConstraint"], []),
    "uniquenessConstraint": Element(["constraint"], []),
    "constraint": Element([], ["value"]),
    "compoundIndexes": Element(["compoundIndex"], []),
    "compoundIndex": Element(["index"], []),
    "index": Element([], ["value"]),
    "composite": Element(["attribute"], ["name"], editors: ["elementID", "versionHashModifier"]),
    "configuration": Element(["memberEntity"], ["name", "usedWithCloudKit"]),
    "memberEntity": Element([], ["name"]),
    "userInfo": Element(["entry"], []),
    "entry": Element([], ["key", "value"]),
  ]

  /// Attributes that say YES or NO and mean something here.
  static let flags: Set<String> = [
    "optional", "transient", "indexed", "isAbstract", "derived", "toMany", "ordered",
    "allowsExternalBinaryDataStorage", "preserveAfterDeletion", "allowsCloudEncryption",
  ]

  static let attributeTypes: [String: AttributeType] = [
    "Integer 16": .integer16, "Integer 32": .integer32, "Integer 64": .integer64,
    "Decimal": .decimal, "Double": .double, "Float": .float, "String": .string,
    "Boolean": .boolean, "Date": .date, "Binary": .binaryData, "UUID": .uuid, "URI": .uri,
    "Transformable": .transformable, "Composite": .composite, "Undefined": .undefined,
    "ObjectID": .objectID,
  ]

  static let deleteRules: [String: DeleteRule] = [
    "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny, "No Action": .noAction,
  ]
}
