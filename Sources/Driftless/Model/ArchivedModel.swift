import Foundation

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
  /// The configurations for a cloud store.
  var cloud: [String]?
  /// For each entity its own hash, and the one that Core Data's compiler gave it.
  var hashes: [String: [Data]]?

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
  var sort: [ArchivedSort]?

  init(_ template: FetchRequestTemplate) {
    name = template.name
    entity = template.entityName
    predicate = template.predicate
    options = ArchivedModel.present(template.options)
    sort = ArchivedModel.present(template.sort.map(ArchivedSort.init))
  }

  var template: FetchRequestTemplate {
    FetchRequestTemplate(
      name: name, entityName: entity, predicate: predicate, options: options ?? [:],
      sort: sort?.map(\.sort) ?? [])
  }
}

/// A sort key of a fetch request template as ``ModelArchive`` keeps it.
struct ArchivedSort: Codable {
  var keyPath: String
  var descending: Bool?
  var options: Int?

  init(_ sort: FetchSort) {
    keyPath = sort.keyPath.joined(separator: ".")
    descending = ArchivedModel.present(!sort.ascending)
    options = sort.options.isEmpty ? nil : sort.options.rawValue
  }

  var sort: FetchSort {
    FetchSort(
      keyPath, ascending: !(descending ?? false),
      options: FetchComparison.Options(rawValue: options ?? 0))
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

  /// Without what only a model file means.
  var withoutFileAttributes: ArchivedIndex {
    var index = self
    for number in elements.indices { index.elements[number].fileAttributes = nil }
    return index
  }

  init(_ index: FetchIndexDescription) {
    name = index.name
    predicate = index.partialIndexPredicateFormat
    elements = index.elements.map { element in
      Element(
        property: element.propertyName, expression: element.expressionFormat,
        collation: element.collationType == .binary ? nil : element.collationType.rawValue,
        descending: ArchivedModel.present(!element.isAscending),
        fileAttributes: ArchivedModel.present(element.fileAttributes))
    }
  }

  var description: FetchIndexDescription {
    FetchIndexDescription(
      name: name,
      elements: elements.map { element in
        let description = FetchIndexElementDescription(
          propertyName: element.property, expressionFormat: element.expression,
          collationType: element.collation.flatMap(
            FetchIndexElementDescription.CollationType.init(rawValue:)) ?? .binary,
          isAscending: !(element.descending ?? false))
        description.fileAttributes = element.fileAttributes ?? [:]
        return description
      },
      partialIndexPredicateFormat: predicate)
  }
}
