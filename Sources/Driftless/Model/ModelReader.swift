/// Reads the XML vocabulary of `.xcdatamodel/contents` into a model.
///
/// Attributes that mean nothing here are kept with the description, so that a model that is written
/// back is the file that was read. What is not of the vocabulary is passed over and noted: newer
/// editors add elements, and older ones wrote where they drew the boxes. What is near a word of it
/// is misspelt, and refused.
struct ModelReader {
  /// The file, as messages name it.
  let path: String

  func read(_ root: ModelElement, into model: ManagedObjectModel) throws(ModelError) {
    guard root.name == "model" else {
      throw ModelError(
        .malformed, element: path, "its root element is <\(root.name)>, not <model>",
        suggestion: "Give the contents of an .xcdatamodel.")
    }
    model.unknownWords = UnknownWords(root).words
    try refuseMisspelt(model.unknownWords)
    let composites = try CompositeTypes(root.children(named: "composite"))
    var entities: [EntityDescription] = []
    for element in root.children(named: "entity") {
      entities.append(try entity(element, composites))
    }
    model.entities = entities
    XcodeSlips.mend(model)
    if let identifier = root.attributes["userDefinedModelVersionIdentifier"], !identifier.isEmpty {
      model.versionIdentifiers = [identifier]
    }
    model.fileAttributes = root.attributes(except: ModelVocabulary.model)
    for configuration in root.children(named: "configuration") {
      let name = configuration.attributes["name"] ?? ""
      let members = configuration.children(named: "memberEntity").compactMap {
        $0.attributes["name"]
      }
      model.set(
        configuration: name, entityNames: model.entityNames(ofConfiguration: name) + members)
      if configuration.flag("usedWithCloudKit") { model.cloudConfigurations.insert(name) }
    }
    model.fetchRequestTemplatesByName = try templates(root)
  }

  private func refuseMisspelt(_ words: [UnknownWord]) throws(ModelError) {
    let misspelt = words.filter(\.isMisspelt)
    guard let first = misspelt.first else { return }
    let rest = misspelt.dropFirst().prefix(9).map { "; \($0.message)" }.joined()
    let more = misspelt.count > 10 ? "; and \(misspelt.count - 10) more" : ""
    throw ModelError(
      .misspelt, element: "line \(first.line)",
      "\(first.text); did you mean \(first.suggestion ?? "")?\(rest)\(more)",
      suggestion:
        "What a model file says under another name would be lost: write it as it is known."
    )
  }

  private func templates(
    _ root: ModelElement
  ) throws(ModelError) -> [String: FetchRequestTemplate] {
    var templates: [String: FetchRequestTemplate] = [:]
    for request in root.children(named: "fetchRequest") {
      let name = request.attributes["name"] ?? ""
      let template = FetchRequestTemplate(
        name: name, entityName: request.attributes["entity"] ?? "",
        predicate: try request.predicate(of: name),
        options: request.attributes(except: ModelVocabulary.fetchRequest))
      guard templates.updateValue(template, forKey: name) == nil else {
        throw ModelError(
          .duplicateName, element: name, "two fetch request templates have this name",
          suggestion: "Rename one of them.")
      }
    }
    return templates
  }

  private func entity(
    _ element: ModelElement, _ composites: CompositeTypes
  ) throws(ModelError) -> EntityDescription {
    let entity = EntityDescription(element.attributes["name"] ?? "")
    if let name = element.attributes["representedClassName"], !name.isEmpty {
      entity.managedObjectClassName = name
    }
    entity.superentityName = element.attributes["parentEntity"]
    entity.isAbstract = element.flag("isAbstract")
    entity.versionHashModifier = element.attributes["versionHashModifier"]
    entity.renamingIdentifier = element.renamingIdentifier
    entity.coreSpotlightDisplayNameFormat =
      element.attributes["coreSpotlightDisplayNameExpression"]
    entity.fileAttributes = element.attributes(except: ModelVocabulary.entity)
    let reader = ModelPropertyReader(owner: entity.name, composites: composites)
    var properties: [PropertyDescription] = []
    for child in element.children {
      switch child.name {
      case "attribute": properties.append(try reader.attribute(child))
      case "relationship": properties.append(try reader.relationship(child))
      case "fetchedProperty": properties.append(try reader.fetchedProperty(child))
      case "fetchIndex": entity.indexes.append(index(child))
      case "uniquenessConstraints":
        entity.uniquenessConstraints += child.children(named: "uniquenessConstraint").map {
          $0.children(named: "constraint").compactMap { $0.attributes["value"] }
        }
      case "userInfo": entity.userInfo = child.userInfo
      case "compoundIndexes": entity.indexes += compoundIndexes(child)
      default: break
      }
    }
    entity.properties = properties
    return entity
  }

  private func index(_ element: ModelElement) -> FetchIndexDescription {
    FetchIndexDescription(
      name: element.attributes["name"] ?? "",
      elements: element.children(named: "fetchIndexElement").map { child in
        let part = FetchIndexElementDescription(
          propertyName: child.attributes["property"] ?? "",
          expressionFormat: child.attributes["expression"],
          collationType: child.attributes["type"]?.lowercased() == "rtree" ? .rTree : .binary,
          isAscending: child.attributes["order"] != "descending")
        part.fileAttributes = child.attributes(except: ModelVocabulary.indexElement)
        return part
      },
      partialIndexPredicateFormat: element.attributes["partialIndexPredicate"])
  }

  /// The form of before Xcode 8, without names. By these names it is written back as it was.
  private func compoundIndexes(_ element: ModelElement) -> [FetchIndexDescription] {
    element.children(named: "compoundIndex").enumerated().map { number, compound in
      FetchIndexDescription(
        name: "\(ModelVocabulary.compoundIndex)\(number)",
        elements: compound.children(named: "index").compactMap { $0.attributes["value"] }
          .map { FetchIndexElementDescription(propertyName: $0) })
    }
  }
}
