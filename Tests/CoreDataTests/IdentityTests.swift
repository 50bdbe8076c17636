import CoreData
import Testing

/// What Foundation's root class says of every object, said of objects and descriptions.
struct IdentityTests {
  private let context: NSManagedObjectContext

  init() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  @Test(
    "Objects, IDs and descriptions are equal to themselves, have a hash, and say of which class they are"
  )
  func equality() throws {
    let (item, other) = (Item(context: context), Item(context: context))
    #expect(item.isEqual(item) && !item.isEqual(other) && !item.isEqual(nil) && !item.isEqual("x"))
    #expect(item.isEqual(context.object(with: item.objectID)))
    #expect(item.hash == (item as NSManagedObject).hash)
    #expect(item.isKind(of: Item.self) && item.isKind(of: NSManagedObject.self))
    #expect(!item.isKind(of: Order.self) && !item.isKind(of: NSString.self))
    #expect(item.isMember(of: Item.self) && !item.isMember(of: NSManagedObject.self))
    #expect(item.objectID.isEqual(item.objectID) && !item.objectID.isEqual(other.objectID))
    #expect(item.objectID.hash == item.objectID.hash)
    let entity = item.entity
    let entities = try #require(context.persistentStoreCoordinator).managedObjectModel
      .entitiesByName
    #expect(entity.isEqual(entities["Item"]) && !entity.isEqual(entities["Order"]))
    #expect(entity.hash == other.entity.hash)
    let name = try #require(entity.attributesByName["name"])
    #expect(
      name.isEqual(entity.propertiesByName["name"]) && name.isKind(of: NSPropertyDescription.self))
  }

  @Test("A model is made of copies of another one's entities and properties")
  func copies() throws {
    let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy.entityVersionHashesByName == model.entityVersionHashesByName && copy !== model)
    let made = NSManagedObjectModel()
    made.entities = model.entities.compactMap { $0.copy() as? NSEntityDescription }
    #expect(made.entities.map(\.name) == model.entities.map(\.name))
    #expect(made.entityVersionHashesByName == model.entityVersionHashesByName)
    let item = try #require(made.entitiesByName["Item"])
    #expect(item.managedObjectModel === made && item !== model.entitiesByName["Item"])
    let price = try #require(item.attributesByName["price"]?.copy() as? NSAttributeDescription)
    #expect(price.name == "price" && price.attributeType == .integer32AttributeType)
    #expect(price.defaultValue as? Int == 0 && item.attributesByName["price"] !== price)
    let loose = Shop.attribute("loose", .stringAttributeType)
    #expect((loose.copy() as? NSAttributeDescription)?.name == "loose")
    let order = try #require(made.entitiesByName["Order"])
    price.name = "cost"
    order.properties.append(price)
    #expect(made.entitiesByName["Order"]?.attributesByName["cost"] === price)
    try NSPersistentStoreCoordinator(managedObjectModel: made)
      .addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    #expect(item.relationshipsByName["order"]?.destinationEntity === order)
  }

  @Test("A sort descriptor is made of a SortDescriptor, for fetches and in memory")
  func sortDescriptors() throws {
    for (index, name) in ["b", "a", "c"].enumerated() {
      let item = Item(context: context)
      item.name = name
      item.price = Int32(index)
    }
    try context.save()
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(SortDescriptor(\Item.price, order: .reverse))]
    #expect(try context.fetch(request).map(\.name) == ["c", "a", "b"])
    request.sortDescriptors = [NSSortDescriptor(SortDescriptor(\Item.name))]
    let sorted = try context.fetch(request)
    #expect(sorted.map(\.name) == ["a", "b", "c"])
    let memory = NSArray(array: sorted).sortedArray(using: [
      NSSortDescriptor(SortDescriptor(\Item.name, order: .reverse))
    ])
    #expect((memory as? [Item])?.map(\.name) == ["c", "b", "a"])
  }
}
