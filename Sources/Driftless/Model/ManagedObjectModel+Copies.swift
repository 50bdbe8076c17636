import Foundation

extension ManagedObjectModel {
  /// A deep copy that can be changed, of a frozen model too: the way to change a model in use.
  ///
  /// - Throws: ``ModelError`` when a default value is a reference, which no model can hold.
  @_disfavoredOverload
  public func copy() throws(ModelError) -> ManagedObjectModel {
    let copy = try ModelArchive.model(from: ModelArchive.encode(self))
    for entity in entities { copy.entitiesByName[entity.name]?.takeGivenUserInfo(of: entity) }
    return copy
  }

  /// One model with the entities, configurations and fetch request templates of several, which stay
  /// as they are.
  ///
  /// An entity that two models describe alike comes once. Relationships find their destinations by
  /// name.
  /// - Parameter models: none give a model without entities.
  /// - Throws: ``ModelError`` when two models describe an entity, or a fetch request template,
  ///   differently.
  @_disfavoredOverload
  public convenience init(byMerging models: [ManagedObjectModel]) throws(ModelError) {
    self.init()
    var meanings: [String: Data] = [:]
    var members: [String: [String]] = [:]
    var merged: [EntityDescription] = []
    for original in models {
      let model = try original.copy()
      for entity in model.entities {
        let meaning = try ModelArchive.meaning(of: entity)
        guard let known = meanings.updateValue(meaning, forKey: entity.name) else {
          merged.append(entity)
          continue
        }
        guard known == meaning else { throw Self.different("entities", entity.name) }
      }
      for (name, template) in model.fetchRequestTemplatesByName {
        if let known = fetchRequestTemplatesByName[name], known != template {
          throw Self.different("fetch request templates", name)
        }
        fetchRequestTemplatesByName[name] = template
      }
      for name in model.configurations {
        members[name, default: []] += model.entityNames(ofConfiguration: name)
      }
      cloudConfigurations.formUnion(model.cloudConfigurations)
      versionIdentifiers.formUnion(model.versionIdentifiers)
      localizationDictionary.merge(model.localizationDictionary) { _, last in last }
      recordedHashes.merge(model.recordedHashes) { first, _ in first }
      model.entities = []
    }
    entities = merged
    for (name, names) in members {
      var seen: Set<String> = []
      set(configuration: name, entityNames: names.filter { seen.insert($0).inserted })
    }
    linkNames()
  }

  private static func different(_ kind: String, _ name: String) -> ModelError {
    ModelError(
      .duplicateName, element: name, "the models describe two different \(kind) of this name",
      suggestion: "Rename one of them, or merge models of one version only.")
  }
}

extension EntityDescription {
  /// Takes over, of itself and its own properties, what an archive does not hold.
  fileprivate func takeGivenUserInfo(of original: EntityDescription) {
    if let given = original.givenUserInfo { givenUserInfo = given }
    for property in original.ownProperties {
      guard let given = property.givenUserInfo else { continue }
      ownProperties.first { $0.name == property.name }?.givenUserInfo = given
    }
  }
}
