/// What is read first of an archived model.
struct ArchivedFormat: Codable {
  var format: Int
}

/// A model as ``ModelArchive`` keeps it.
struct ArchivedModel: Codable {
  var format: Int
  var entities: [ArchivedEntity] = []
  var configurations: [String: [String]]?
  var templates: [String: ArchivedTemplate]?
  var versionIdentifiers: [String]?
  var localization: [String: String]?
  var fileAttributes: [String: String]?

  init(format: Int) { self.format = format }

  /// Nil for what is empty, which is then left out.
  static func present<C: Collection>(_ values: C) -> C? { values.isEmpty ? nil : values }

  /// Nil for false, which is then left out.
  static func present(_ flag: Bool) -> Bool? { flag ? true : nil }
}

/// A fetch request template as ``ModelArchive`` keeps it.
struct ArchivedTemplate: Codable {
  var name: String
  var entity: String
  var predicate: String?
  var options: [String: String]?

  init(_ template: FetchRequestTemplate) {
    name = template.name
    entity = template.entityName
    predicate = template.predicate
    options = ArchivedModel.present(template.options)
  }

  var template: FetchRequestTemplate {
    FetchRequestTemplate(
      name: name, entityName: entity, predicate: predicate, options: options ?? [:])
  }
}

/// An index as ``ModelArchive`` keeps it.
struct ArchivedIndex: Codable {
  struct Element: Codable {
    var property: String
    var expression: String?
    var collation: Int?
    var descending: Bool?
    var fileAttributes: [String: String]?
  }

  var name: String
  var elements: [Element]
  var predicate: String?

  init(_ index: FetchIndexDescription) {
    name = index.name
    predicate = index.partialIndexPredicate
    elements = index.elements.map { element in
      Element(
        property: element.propertyName, expression: element.expression,
        collation: element.collationType == .binary ? nil : element.collationType.rawValue,
        descending: ArchivedModel.present(!element.isAscending),
        fileAttributes: ArchivedModel.present(element.fileAttributes))
    }
  }

  var description: FetchIndexDescription {
    FetchIndexDescription(
      name: name,
      elements: elements.map { element in
        var description = FetchIndexElementDescription(
          propertyName: element.property, expression: element.expression,
          collationType: element.collation.flatMap(
            FetchIndexElementDescription.CollationType.init(rawValue:)) ?? .binary,
          isAscending: !(element.descending ?? false))
        description.fileAttributes = element.fileAttributes ?? [:]
        return description
      },
      partialIndexPredicate: predicate)
  }
}
