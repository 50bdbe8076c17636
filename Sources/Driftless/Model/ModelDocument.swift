public import Foundation

/// Writes a model as the XML of an `.xcdatamodel/contents` file. Equal models give equal bytes.
///
/// Entities and properties come sorted by name. A file has room for one version identifier: several
/// become one, joined by commas.
public enum ModelDocument {
  /// The XML of a model.
  ///
  /// - Throws: ``ModelError`` for what the format cannot hold: control characters, or a default
  ///   value of an attribute without a type.
  public static func xml(of model: ManagedObjectModel) throws(ModelError) -> Data {
    let root = ModelElement("model", model.fileAttributes)
    root.attributes["type"] = "com.apple.IDECoreDataModeler.DataModel"
    root.attributes["documentVersion"] = "1.0"
    root.attributes["userDefinedModelVersionIdentifier"] =
      model.versionIdentifiers.sorted().joined(separator: ",")
    var composites = CompositeElements()
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      root.children.append(try element(of: entity, &composites))
    }
    root.children += composites.elements
    for (_, template) in model.fetchRequestTemplatesByName.sorted(by: { $0.key < $1.key }) {
      var attributes = template.options
      attributes["name"] = template.name
      attributes["entity"] = template.entityName
      attributes["predicateString"] = template.predicate
      root.children.append(ModelElement("fetchRequest", attributes))
    }
    for name in model.configurations {
      let configuration = ModelElement("configuration", ["name": name])
      configuration.children = model.entityNames(ofConfiguration: name)
        .map { ModelElement("memberEntity", ["name": $0]) }
      root.children.append(configuration)
    }
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    try root.write(into: &text)
    return Data(text.utf8)
  }

  private static func element(
    of entity: EntityDescription, _ composites: inout CompositeElements
  ) throws(ModelError) -> ModelElement {
    let element = ModelElement("entity", entity.fileAttributes)
    if entity.fileAttributes.isEmpty { element.attributes["syncable"] = "YES" }
    element.attributes["name"] = entity.name
    element.attributes["representedClassName"] = entity.declaredClassName
    element.attributes["parentEntity"] = entity.superentityName
    if entity.isAbstract { element.attributes["isAbstract"] = "YES" }
    element.attributes["versionHashModifier"] = entity.versionHashModifier
    element.attributes["elementID"] = entity.declaredRenamingIdentifier
    element.attributes["coreSpotlightDisplayNameExpression"] =
      entity.coreSpotlightDisplayNameExpression
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      element.children.append(try self.element(of: property, &composites))
    }
    element.children += entity.indexes.map(self.element(of:))
    if !entity.uniquenessConstraints.isEmpty {
      let child = ModelElement("uniquenessConstraints")
      child.children = entity.uniquenessConstraints.map { names in
        let constraint = ModelElement("uniquenessConstraint")
        constraint.children = names.map { ModelElement("constraint", ["value": $0]) }
        return constraint
      }
      element.children.append(child)
    }
    appendUserInfo(entity.userInfo, to: element)
    return element
  }

  private static func element(of index: FetchIndexDescription) -> ModelElement {
    let element = ModelElement("fetchIndex", ["name": index.name])
    element.attributes["partialIndexPredicate"] = index.partialIndexPredicate
    element.children = index.elements.map { part in
      let child = ModelElement("fetchIndexElement", part.fileAttributes)
      child.attributes["type"] = part.collationType == .rTree ? "RTree" : "Binary"
      child.attributes["order"] = part.isAscending ? "ascending" : "descending"
      if let expression = part.expression {
        child.attributes["expression"] = expression
      } else {
        child.attributes["property"] = part.propertyName
      }
      return child
    }
    return element
  }

  static func appendUserInfo(_ info: [String: String], to element: ModelElement) {
    guard !info.isEmpty else { return }
    let child = ModelElement("userInfo")
    child.children = info.sorted { $0.key < $1.key }
      .map { ModelElement("entry", ["key": $0.key, "value": $0.value]) }
    element.children.append(child)
  }
}
