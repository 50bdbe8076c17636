public import Driftless

extension EntityDescription {
  /// A letter, and then letters, digits and underscores; unique in the model.
  public var name: String? {
    get { knownName.isEmpty ? nil : knownName }
    set { knownName = newValue ?? "" }
  }

  /// The model that the entity belongs to. One that belongs to none is a precondition failure.
  public var managedObjectModel: NSManagedObjectModel {
    guard let model = knownModel else {
      preconditionFailure("The entity \(knownName) is in no model")
    }
    return model
  }

  /// Groups of properties whose values together are unique: names, or descriptions of attributes.
  public var uniquenessConstraints: [[Any]] {
    get { knownConstraints }
    set {
      knownConstraints = newValue.map { group in
        group.compactMap { ($0 as? String) ?? ($0 as? PropertyDescription)?.name }
      }
    }
  }

  /// Indexes over several properties, each of names or descriptions: those of `indexes` that were set here or have such a name in
  /// a model file. `indexes` says more.
  public var compoundIndexes: [[Any]] {
    get {
      indexes.filter { $0.name.hasPrefix("compound") }
        .map { $0.elements.compactMap(\.propertyName) }
    }
    set {
      let others = indexes.filter { !$0.name.hasPrefix("compound") }
      indexes =
        others
        + newValue.enumerated().map { number, group in
          let names = group.compactMap { ($0 as? String) ?? ($0 as? PropertyDescription)?.name }
          return NSFetchIndexDescription(
            name: "compound\(number)",
            elements: names.map {
              NSFetchIndexElementDescription(propertyName: $0, collationType: .binary)
            })
        }
    }
  }

  /// What an application notes about the entity. A model's file, and the model within a store, have the texts of it alone.
  public var userInfo: [AnyHashable: Any]? {
    get { givenUserInfo ?? (knownUserInfo as [AnyHashable: Any]) }
    set {
      knownUserInfo = texts(of: newValue)
      if knownUserInfo.count < newValue?.count ?? 0 { givenUserInfo = newValue }
    }
  }

  /// What a search index shows of an object; kept, and read by nothing here. `SELF` when none was set.
  public var coreSpotlightDisplayNameExpression: NSExpression {
    get {
      knownDisplayNameExpression.map(NSExpression.init(known:)) ?? .expressionForEvaluatedObject()
    }
    set {
      knownDisplayNameExpression = try? newValue.outcome.get()
    }
  }

  /// The entity of a context's model by name; nil when the model has none of that name.
  public class func entity(
    forEntityName entityName: String, in context: NSManagedObjectContext
  ) -> NSEntityDescription? {
    context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[entityName]
  }

  /// A new object of an entity, of the entity's class. An unknown name, an abstract entity and a context without the
  /// entity's store are precondition failures.
  public class func insertNewObject(
    forEntityName entityName: String, into context: NSManagedObjectContext
  ) -> NSManagedObject {
    do { return try context.base.insert(entityNamed: entityName) } catch {
      preconditionFailure("\(error)")
    }
  }
}

/// Texts by name, of whatever an application gave.
func texts(of info: [AnyHashable: Any]?) -> [String: String] {
  var texts: [String: String] = [:]
  for (key, value) in info ?? [:] {
    if let key = key.base as? String, let value = value as? String { texts[key] = value }
  }
  return texts
}
