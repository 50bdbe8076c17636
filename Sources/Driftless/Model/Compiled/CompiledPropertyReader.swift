import Foundation
import Logging

/// Reads the properties of one entity of a compiled model.
struct CompiledPropertyReader {
  typealias Record = KeyedArchive.Record

  /// The bit of `NSFlagsKey` for a value that outlives its object in the history.
  private static let preservedFlag = 16

  let archive: KeyedArchive
  /// The entity or composite attribute, as messages name it.
  let owner: String

  func property(_ record: Record, _ key: String) throws -> PropertyDescription {
    let name = try archive.text(record, "NSPropertyName") ?? key
    let label = "\(owner).\(name)"
    let property: PropertyDescription
    switch record.className {
    case "NSAttributeDescription", "NSDerivedAttributeDescription",
      "NSCompositeAttributeDescription":
      property = try attribute(record, label)
    case "NSRelationshipDescription": property = try relationship(record, label)
    case "NSFetchedPropertyDescription":
      let fetched = FetchedPropertyDescription()
      if let request = try archive.record(record, "NSFetchRequest") {
        let template = try template(request, label)
        fetched.fetchEntityName = template.entityName
        fetched.fetchPredicate = template.predicate
        fetched.requestAttributes = template.options
        fetched.fetchSort = template.sort
      }
      if fetched.fetchEntityName.isEmpty {
        fetched.fetchEntityName = try archive.text(record, "_NSFetchRequestEntityName") ?? ""
      }
      property = fetched
    default:
      throw ModelError(
        .unsupportedFormat, element: label,
        "the archive describes it by the unknown class \(record.className)",
        suggestion: "Give the .xcdatamodel.")
    }
    property.name = name
    property.isOptional = try archive.flag(record, "NSIsOptional")
    // The archive calls every fetched property transient; a model file none.
    if !(property is FetchedPropertyDescription) {
      property.isTransient = try archive.flag(record, "NSIsTransient")
    }
    property.versionHashModifier = try archive.text(record, "NSVersionHashModifier")
    let renaming = try archive.text(record, "NSRenamingIdentifier")
    property.renamingIdentifier = renaming == name ? nil : renaming
    property.userInfo = try userInfo(record)
    try addPredicates(of: record, to: property, label)
    return property
  }

  private func attribute(_ record: Record, _ label: String) throws -> AttributeDescription {
    let attribute: AttributeDescription
    switch record.className {
    case "NSDerivedAttributeDescription":
      let derived = DerivedAttributeDescription()
      if let expression = try archive.record(record, "NSDerivationExpression") {
        derived.derivationExpressionFormat =
          try CompiledPredicateReader(archive: archive, element: label)
          .expression(expression).description
      }
      attribute = derived
    case "NSCompositeAttributeDescription": attribute = try composite(record, label)
    default: attribute = AttributeDescription()
    }
    let number = try archive.integer(record, "NSAttributeType") ?? 0
    guard let type = AttributeType(rawValue: number) else {
      throw ModelError(
        .unknownType, element: label, "the attribute type \(number) is unknown",
        suggestion: "Give the .xcdatamodel.")
    }
    attribute.type = type
    let className = try archive.text(record, "NSAttributeValueClassName")
    attribute.attributeValueClassName = className == type.valueClassName ? nil : className
    attribute.valueTransformerName = try archive.text(record, "NSValueTransformerName")
    let flags = try archive.integer(record, "NSFlagsKey") ?? 0
    attribute.preservesValueInHistoryOnDeletion = flags & Self.preservedFlag != 0
    if flags & ~Self.preservedFlag != 0 {
      Logger(label: "driftless.model").notice(
        "\(label): the compiled model has switches (\(flags)) that only the .xcdatamodel tells")
    }
    let value = try archive.value(of: record, "NSDefaultValue")
    let values = CompiledValueReader(archive: archive)
    if type == .transformable {
      // It may be an object of a class that the application alone has: a new object goes without.
      attribute.defaultValue = (try? values.value(value, type, label)) ?? .null
    } else {
      attribute.defaultValue = try values.value(value, type, label)
    }
    return attribute
  }

  private func composite(_ record: Record, _ label: String) throws -> AttributeDescription {
    let composite = CompositeAttributeDescription()
    let reader = CompiledPropertyReader(archive: archive, owner: label)
    guard label.utf8.lazy.filter({ $0 == UInt8(ascii: ".") }).count < 64 else {
      throw ModelError(
        .tooLarge, element: owner, "its composite attributes nest too deep",
        suggestion: "Give the .xcdatamodel.")
    }
    var elements: [AttributeDescription] = []
    for value in try archive.elements(record, "NSElements") {
      guard case .record(let part) = value,
        let attribute = try reader.property(part, "") as? AttributeDescription
      else { continue }
      elements.append(attribute)
    }
    guard !elements.isEmpty else {
      throw ModelError(
        .unsupportedFormat, element: label, "the elements of the composite are not in the archive",
        suggestion: "Give the .xcdatamodel.")
    }
    composite.elements = elements
    return composite
  }

  private func relationship(
    _ record: Record, _ label: String
  ) throws -> RelationshipDescription {
    let relationship = RelationshipDescription()
    relationship.destinationEntityName =
      try archive.text(record, "_NSDestinationEntityName")
      ?? archive.record(record, "NSDestinationEntity").flatMap {
        try archive.text($0, "NSEntityName")
      }
    relationship.inverseRelationshipName =
      try archive.text(record, "_NSInverseRelationshipName")
      ?? archive.record(record, "NSInverseRelationship").flatMap {
        try archive.text($0, "NSPropertyName")
      }
    relationship.minCount = try archive.integer(record, "NSMinCount") ?? 0
    // Models in use say -1 for any number, too.
    relationship.maxCount = max(0, try archive.integer(record, "NSMaxCount") ?? 0)
    relationship.isOrdered = try archive.flag(record, "NSIsOrdered")
    let rule = try archive.integer(record, "NSDeleteRule") ?? DeleteRule.nullify.rawValue
    guard let deleteRule = DeleteRule(rawValue: rule) else {
      throw ModelError(
        .invalidValue, element: label, "the delete rule \(rule) is unknown",
        suggestion: "Give the .xcdatamodel.")
    }
    relationship.deleteRule = deleteRule
    return relationship
  }

  func template(_ record: Record, _ name: String) throws -> FetchRequestTemplate {
    var template = FetchRequestTemplate(name: name, entityName: "")
    template.entityName =
      try archive.text(record, "NSEntityName")
      ?? archive.record(record, "NSEntity").flatMap { try archive.text($0, "NSEntityName") } ?? ""
    template.predicate = try CompiledPredicateReader(archive: archive, element: name)
      .format(of: archive.value(of: record, "NSPredicate"))
    for (key, option) in [("NSFetchLimit", "fetchLimit"), ("NSBatchSize", "fetchBatchSize")] {
      if let count = try archive.integer(record, key), count > 0 {
        template.options[option] = "\(count)"
      }
    }
    for value in try archive.elements(record, "NSSortDescriptors") {
      guard case .record(let sort) = value, let key = try archive.text(sort, "NSKey") else {
        continue
      }
      let comparison = try archive.text(sort, "NSSelector") ?? ""
      template.sort.append(
        FetchSort(
          key, ascending: try archive.flag(sort, "NSAscending"),
          options: comparison.lowercased().contains("caseinsensitive") ? .caseInsensitive : []))
    }
    if let type = try archive.integer(record, "NSResultType"), type > 0 {
      template.options["resultType"] = "\(type)"
    }
    return template
  }

  func userInfo(_ record: Record) throws -> [String: String] {
    var info: [String: String] = [:]
    for (key, value) in try archive.entries(record, "NSUserInfo") {
      info[key] = try archive.text(value)
    }
    return info
  }

  private func addPredicates(
    of record: Record, to property: PropertyDescription, _ label: String
  ) throws {
    let reader = CompiledPredicateReader(archive: archive, element: label)
    var predicates: [FetchPredicate] = []
    for value in try archive.elements(record, "NSValidationPredicates") {
      predicates.append(try reader.predicate(value))
    }
    guard !predicates.isEmpty else { return }
    let archived = try archive.elements(record, "NSValidationWarnings")
    let type = (property as? AttributeDescription)?.type
    let warnings = try predicates.enumerated().map { index, predicate in
      let text = index < archived.count ? try archive.text(archived[index]) ?? "" : ""
      guard text.isEmpty else { return ValidationWarning.message(text) }
      // A bound has its own code, whatever the compiler noted.
      if let type, let bound = AttributeBound(predicate, of: type) { return .code(bound.code) }
      if index < archived.count, case .plain(.integer(let code)) = archived[index] {
        return .code(Int(clamping: code))
      }
      return .code(ValidationError.managedObjectValidation)
    }
    property.setValidationPredicates(predicates, withValidationWarnings: warnings)
  }
}
