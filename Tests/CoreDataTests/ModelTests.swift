import CoreData
import TestSupport
import Testing

/// Models in code under Core Data's names, and what they say of themselves.
struct ModelTests {
  @Test("Descriptions take and give Core Data's types")
  func descriptions() throws {
    let model = Shop.model()
    let item = try #require(model.entitiesByName["Item"])
    #expect(item.name == "Item" && item.managedObjectModel === model)
    #expect(item.uniquenessConstraints as? [[String]] == [["code"]])
    item.userInfo = ["note": "x"]
    #expect(item.userInfo?["note"] as? String == "x")
    item.name = "Thing"
    #expect(item.name == "Thing")
    item.name = nil
    #expect(item.name == nil)

    let price = try #require(item.attributesByName["price"])
    #expect(price.attributeType == .integer32AttributeType && price.type == .integer32)
    #expect(price.defaultValue as? Int == 0 && price.entity === item)
    price.defaultValue = NSNumber(value: 4)
    #expect(price.defaultValue as? Int32 == 4)
    price.defaultValue = nil
    #expect(price.defaultValue == nil)
    price.userInfo = ["a": "b"]
    #expect(price.userInfo as? [String: String] == ["a": "b"])
    price.setValidationPredicates(
      [NSPredicate(format: "SELF > 3")], withValidationWarnings: ["too cheap"])
    #expect(price.validationPredicates.count == 1)
    #expect(price.validationWarnings as? [String] == ["too cheap"])
    switch price.attributeType {
    case .integer32AttributeType: break
    default: Issue.record("another type")
    }

    let items = try #require(model.entitiesByName["Order"]?.relationshipsByName["items"])
    #expect(items.deleteRule == .cascadeDeleteRule && items.isToMany)
    items.deleteRule = .denyDeleteRule
    #expect(items.deleteRule == .denyDeleteRule)
    #expect(items.inverseRelationship?.name == "order")
  }

  @Test("What is no text in userInfo is kept beside the texts, in copies too; a file has the texts")
  func userInfo() throws {
    let price = Shop.attribute("price", .integer32AttributeType)
    price.userInfo = ["a": "b", "n": 3, 7: true]
    #expect(price.userInfo?["n"] as? Int == 3 && price.userInfo?[7] as? Bool == true)
    let owner = NSEntityDescription()
    owner.name = "Owner"
    owner.userInfo = ["n": 4]
    owner.properties = [price]
    let model = NSManagedObjectModel()
    model.entities = [owner]
    let copy = try #require((model.copy() as? NSManagedObjectModel)?.entities.first)
    #expect(copy.userInfo?["n"] as? Int == 4)
    #expect(copy.attributesByName["price"]?.userInfo?["n"] as? Int == 3)
    price.userInfo = ["c": "d"]
    #expect(price.userInfo as? [String: String] == ["c": "d"])
  }

  @Test("A default that came before its type becomes one of the type")
  func defaults() {
    let attribute = NSAttributeDescription()
    attribute.defaultValue = 2
    attribute.attributeType = .doubleAttributeType
    #expect(attribute.defaultValue as? Double == 2)
    attribute.attributeType = .decimalAttributeType
    #expect(attribute.defaultValue as? Decimal == 2)
    let flag = NSAttributeDescription()
    flag.attributeType = .booleanAttributeType
    flag.defaultValue = true
    #expect(flag.defaultValue as? Bool == true)
  }

  @Test("Indexes, derived attributes, fetched properties and templates keep their predicates")
  func parts() throws {
    let model = Shop.model()
    let item = try #require(model.entitiesByName["Item"])
    let index = NSFetchIndexDescription(
      name: "byPrice",
      elements: [
        NSFetchIndexElementDescription(
          property: try #require(item.propertiesByName["price"]), collationType: .binary)
      ])
    index.partialIndexPredicate = NSPredicate(format: "price > 3")
    item.indexes = [index]
    #expect(item.indexes.first?.partialIndexPredicate != nil)

    let derived = NSDerivedAttributeDescription()
    derived.derivationExpression = NSExpression(format: "canonical:(name)")
    #expect(derived.derivationExpression?.description == "canonical:(name)")

    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
    request.predicate = NSPredicate(format: "price > $LIMIT")
    request.fetchLimit = 3
    model.setFetchRequestTemplate(request, forName: "dear")
    let made = model.fetchRequestFromTemplate(
      withName: "dear", substitutionVariables: ["LIMIT": 5])
    #expect(made?.entityName == "Item" && made?.fetchLimit == 3 && made?.predicate != nil)
    #expect(model.fetchRequestTemplate(forName: "none") == nil)
    #expect(model.fetchRequestTemplatesByName.keys.sorted() == ["dear"])

    // One that the model cannot keep leaves what is there.
    let unknowable = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
    unknowable.sortDescriptors = [NSSortDescriptor(keyPath: \Item.price, ascending: true)]
    model.setFetchRequestTemplate(unknowable, forName: "dear")
    #expect(model.fetchRequestTemplate(forName: "dear")?.fetchLimit == 3)

    let property = NSFetchedPropertyDescription()
    property.fetchRequest = request
    #expect(property.fetchRequest?.entityName == "Item")
  }

  @Test("A template has all of its request: groups, expressions, conditions on groups")
  func templates() throws {
    let model = Shop.model()
    let total = NSExpressionDescription()
    total.name = "total"
    total.expression = NSExpression(
      forFunction: "sum:", arguments: [NSExpression(forKeyPath: "price")])
    total.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["name", total]
    request.propertiesToGroupBy = ["name"]
    request.havingPredicate = NSPredicate(format: "total > $LEAST")
    request.shouldRefreshRefetchedObjects = true
    request.relationshipKeyPathsForPrefetching = ["order"]
    model.setFetchRequestTemplate(request, forName: "sums")
    let made = try #require(
      model.fetchRequestFromTemplate(withName: "sums", substitutionVariables: ["LEAST": 2]))
    #expect(made.propertiesToFetch?.count == 2 && made.propertiesToGroupBy as? [String] == ["name"])
    #expect(made.shouldRefreshRefetchedObjects)
    #expect(made.relationshipKeyPathsForPrefetching == ["order"])
    made.relationshipKeyPathsForPrefetching = nil
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = Albums.context(coordinator)
    try context.performAndWait {
      for (name, price) in [("a", 1), ("a", 3), ("b", 1)] {
        let item = Item(context: context)
        (item.name, item.price) = (name, Int32(price))
      }
      try context.save()
      let rows = try context.fetch(made).compactMap { $0 as? NSDictionary }
      #expect(rows.map { $0["name"] as? String } == ["a"] && rows.first?["total"] as? Int == 4)
    }
  }

  @Test("Models are merged, and one that is not there is nil")
  func files() throws {
    let folder = try TemporaryDirectory()
    #expect(NSManagedObjectModel(contentsOf: folder.file("none.momd")) == nil)
    let made: NSManagedObjectModel? = NSManagedObjectModel(byMerging: [Shop.model()])
    let merged = try #require(made)
    #expect(Set(merged.entitiesByName.keys) == ["Item", "Order"])
    merged.versionIdentifiers = ["2"]
    #expect(merged.versionIdentifiers == ["2"])
    #expect(merged.localizationDictionary == nil)
    merged.localizationDictionary = ["Entity/Item": "Thing"]
    #expect(merged.localizationDictionary == ["Entity/Item": "Thing"])
  }
}
