import Foundation

/// Reads a compiled model, a `.mom`: a keyed archive of Core Data's descriptions.
///
/// An entity holds its own properties only; they are made here as a model file makes them. What a
/// compiled model does not have is what the editor alone needs.
struct CompiledModelReader {
  /// A compiled model is read whole.
  static let bytesMax = 16 << 20

  let archive: KeyedArchive
  /// The file, as messages name it.
  let path: String

  init(_ data: Data, path: String) throws(ModelError) {
    self.path = path
    guard data.count <= Self.bytesMax else {
      throw ModelError(
        .tooLarge, element: path,
        "it has \(data.count) bytes, and no more than \(Self.bytesMax) "
          + "are read", suggestion: "Give the .xcdatamodel that it was compiled from.")
    }
    do {
      archive = try KeyedArchive(data)
    } catch {
      throw Self.damaged(path, error)
    }
  }

  func read(into model: ManagedObjectModel) throws(ModelError) {
    do {
      try readModel(into: model)
    } catch let error as ModelError {
      throw error
    } catch let error as KeyedArchive.Damage {
      throw Self.damaged(path, error)
    } catch {
      throw ModelError(
        .malformed, element: path, "\(error)", suggestion: "Give the .xcdatamodel.")
    }
  }

  private func readModel(into model: ManagedObjectModel) throws {
    let root = try archive.root()
    guard root.className == "NSManagedObjectModel" else {
      throw ModelError(
        .unsupportedFormat, element: path,
        "it holds an object of the class \(root.className), and no model",
        suggestion: "Give a .mom or .momd that Core Data's compiler made.")
    }
    var entities: [EntityDescription] = []
    for (name, value) in try archive.entries(root, "NSEntities") {
      guard case .record(let record) = value else {
        throw malformed(name, "the archive has no description of the entity")
      }
      entities.append(try entity(record, name))
    }
    model.entities = entities
    XcodeSlips.mend(model)
    model.versionIdentifiers = Set(
      try archive.elements(root, "NSVersionIdentifiers").compactMap { try archive.text($0) }
        // The compiler writes an empty one where the editor has none.
        .filter { !$0.isEmpty })
    for (name, value) in try archive.entries(root, "NSFetchRequestTemplates") {
      guard case .record(let request) = value else { continue }
      model.fetchRequestTemplatesByName[name] = try template(request, name)
    }
    for (name, value) in try archive.entries(root, "NSConfigurations") {
      guard case .record(let members) = value else { continue }
      model.set(configuration: name, entityNames: try memberNames(members))
    }
  }

  private func memberNames(_ members: KeyedArchive.Record) throws -> [String] {
    var names: [String] = []
    for member in try archive.elements(of: members) {
      if case .record(let entity) = member, let name = try archive.text(entity, "NSEntityName") {
        names.append(name)
      } else if let name = try archive.text(member) {
        names.append(name)
      }
    }
    return names
  }

  private func entity(_ record: KeyedArchive.Record, _ key: String) throws -> EntityDescription {
    let name = try archive.text(record, "NSEntityName") ?? key
    let entity = EntityDescription(name)
    if let className = try archive.text(record, "NSClassNameForEntity"), !className.isEmpty {
      entity.managedObjectClassName = className
    }
    if let parent = try archive.record(record, "NSSuperentity") {
      entity.superentityName = try archive.text(parent, "NSEntityName")
    }
    entity.isAbstract = try archive.flag(record, "NSIsAbstract")
    entity.versionHashModifier = try archive.text(record, "NSVersionHashModifier")
    let renaming = try archive.text(record, "NSRenamingIdentifier")
    entity.renamingIdentifier = renaming == name ? nil : renaming
    entity.userInfo = try userInfo(record)
    entity.uniquenessConstraints = try archive.elements(record, "NSUniqueTuples").map {
      guard case .record(let names) = $0 else { return [] }
      return try archive.elements(of: names).compactMap(propertyName)
    }
    let properties = CompiledPropertyReader(archive: archive, owner: name)
    entity.properties = try archive.entries(record, "NSProperties").compactMap { name, value in
      guard case .record(let property) = value else {
        throw malformed("\(entity.name).\(name)", "the archive has no description of the property")
      }
      // What an entity of a model in use inherits: the parent has the property itself.
      if property.className == "_NSPropertyDescriptionProxy" { return nil }
      return try properties.property(property, name)
    }
    entity.indexes = try indexes(of: record, name)
    return entity
  }

  /// A property by its name, or by its description.
  private func propertyName(_ value: KeyedArchive.Value) throws -> String? {
    if case .record(let property) = value,
      let name = try archive.text(property, "NSPropertyName")
    {
      return name
    }
    return try archive.text(value)
  }

  /// Fetch indexes; else the compound indexes of before Xcode 8, which newer files have beside
  /// them.
  private func indexes(
    of record: KeyedArchive.Record, _ entity: String
  ) throws -> [FetchIndexDescription] {
    let declared = try archive.elements(record, "NSFetchIndexDescriptions")
    guard declared.isEmpty else {
      return try declared.compactMap { value in
        guard case .record(let index) = value else { return nil }
        return try self.index(index, entity)
      }
    }
    return try archive.elements(record, "NSCompoundIndexes").enumerated().map { number, value in
      guard case .record(let names) = value else {
        throw malformed(entity, "an index has no elements")
      }
      return FetchIndexDescription(
        name: "\(ModelVocabulary.compoundIndex)\(number)",
        elements: try archive.elements(of: names).compactMap(propertyName)
          .map { FetchIndexElementDescription(propertyName: $0) })
    }
  }

  private func index(
    _ record: KeyedArchive.Record, _ entity: String
  ) throws -> FetchIndexDescription {
    let name = try archive.text(record, "NSIndexName") ?? ""
    let expressions = CompiledPredicateReader(archive: archive, element: "\(entity).\(name)")
    var elements: [FetchIndexElementDescription] = []
    for value in try archive.elements(record, "NSIndexElements") {
      guard case .record(let part) = value else { continue }
      let property =
        try archive.record(part, "NSIndexedProperty") ?? archive.record(part, "NSProperty")
      let expression =
        try archive.record(part, "NSExpression")
        ?? property.flatMap { try archive.record($0, "NSExpression") }
      let propertyName =
        try archive.text(part, "NSPropertyName")
        ?? property.flatMap { try archive.text($0, "NSPropertyName") }
      elements.append(
        FetchIndexElementDescription(
          propertyName: expression == nil ? propertyName ?? "" : "",
          expressionFormat: try expression.map { try expressions.expression($0).description },
          collationType: try archive.integer(part, "NSFetchIndexElementType") == 1
            ? .rTree : .binary,
          isAscending: try archive.flag(part, "NSAscending")))
    }
    let predicate = try archive.value(of: record, "NSPartialIndexPredicate")
    return FetchIndexDescription(
      name: name, elements: elements,
      partialIndexPredicateFormat: try expressions.format(of: predicate))
  }

  private func template(
    _ record: KeyedArchive.Record, _ name: String
  ) throws -> FetchRequestTemplate {
    try CompiledPropertyReader(archive: archive, owner: name).template(record, name)
  }

  private func userInfo(_ record: KeyedArchive.Record) throws -> [String: String] {
    try CompiledPropertyReader(archive: archive, owner: "").userInfo(record)
  }

  private func malformed(_ element: String, _ message: String) -> ModelError {
    ModelError(
      .malformed, element: element, message,
      suggestion: "Compile the model anew, or give the .xcdatamodel.")
  }

  private static func damaged(_ path: String, _ damage: KeyedArchive.Damage) -> ModelError {
    ModelError(
      .malformed, element: path, damage.reason,
      suggestion: "Give a .mom that Core Data's compiler made, or the .xcdatamodel.")
  }
}
