extension ManagedObjectModel {
  /// Whether the model file marks the configuration, or the model for nil, for a cloud store
  /// (`usedWithCloudKit`).
  public func isUsedWithCloudKit(configuration: String? = nil) -> Bool {
    if let configuration { return cloudConfigurations.contains(configuration) }
    return ["YES", "true", "1"].contains(fileAttributes["usedWithCloudKit"] ?? "")
  }

  /// What keeps a configuration from a CloudKit-backed store of Core Data: nothing for a model that
  /// fits. Driftless syncs all of it; a team that shares its model with an Apple app checks here.
  ///
  /// - Parameter configuration: nil for all entities.
  public func cloudKitProblems(forConfigurationName configuration: String? = nil) -> [ModelError] {
    guard let entities = entities(forConfigurationName: configuration) else {
      return [
        ModelError(
          .unknownEntity, element: configuration ?? "", "the model has no such configuration",
          suggestion: "Use one of: \(configurations.joined(separator: ", ")).")
      ]
    }
    let members = Set(entities.map(\.name))
    return entities.flatMap { entity in
      var problems: [ModelError] = []
      if !entity.uniquenessConstraints.isEmpty {
        problems.append(
          Self.problem(
            entity.name, "CloudKit knows no uniqueness constraints",
            "Take the constraints out, and merge duplicates in the app."))
      }
      return problems
        + entity.ownProperties.compactMap { Self.cloudKitProblem(of: $0, members: members) }
    }
  }

  private static func cloudKitProblem(
    of property: PropertyDescription, members: Set<String>
  ) -> ModelError? {
    switch property {
    case is CompositeAttributeDescription: return nil
    case let attribute as AttributeDescription where !attribute.isTransient:
      if attribute.type == .undefined || attribute.type == .objectID {
        return problem(
          attribute.label, "CloudKit has no values of type \(attribute.type)", "Give it a type.")
      }
      return attribute.isOptional || !attribute.defaultValue.isNull
        ? nil
        : problem(
          attribute.label, "CloudKit needs each attribute optional, or with a default value",
          "Make it optional, or give it a default.")
    case let relationship as RelationshipDescription:
      let (message, suggestion): (String, String)
      if !relationship.isOptional {
        (message, suggestion) = ("CloudKit needs each relationship optional", "Make it optional.")
      } else if relationship.inverseRelationshipName == nil {
        (message, suggestion) = ("CloudKit needs an inverse for each relationship", "Add one.")
      } else if relationship.isOrdered {
        (message, suggestion) = (
          "CloudKit keeps no order in relationships", "Order by an attribute."
        )
      } else if relationship.deleteRule == .deny {
        (message, suggestion) = ("CloudKit knows no deny rule", "Use another delete rule.")
      } else if !members.contains(relationship.destinationEntityName ?? "") {
        (message, suggestion) = (
          "it leads out of the configuration, to another store", "Use a fetched property."
        )
      } else {
        return nil
      }
      return problem(relationship.label, message, suggestion)
    default: return nil
    }
  }

  private static func problem(
    _ element: String, _ message: String, _ suggestion: String
  ) -> ModelError {
    ModelError(.unsupportedByCloudKit, element: element, message, suggestion: suggestion)
  }
}
