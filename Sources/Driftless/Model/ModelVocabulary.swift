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
