import CoreData
import TestSupport
import Testing

final class EntityWithoutStoreCart: NSManagedObject {}

/// Objects of an entity that no store's configuration has.
struct EntityWithoutStoreTests {
  private let folder: TemporaryDirectory
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    let model = Shop.model()
    let cart = NSEntityDescription()
    cart.name = "Cart"
    cart.managedObjectClassName = NSStringFromClass(EntityWithoutStoreCart.self)
    cart.properties = [Shop.attribute("label", .stringAttributeType)]
    model.entities += [cart]
    model.setEntities([cart], forConfigurationName: "Carts")
    model.setEntities(
      model.entities.filter { $0.name != "Cart" }, forConfigurationName: "Goods")
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .sqlite, configuration: "Goods", at: folder.file("Goods.sqlite"), options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  @Test("They are made in every way, and a save names the entity and the stores", arguments: 0..<4)
  func made(way: Int) throws {
    let entity = try #require(coordinator.managedObjectModel.entitiesByName["Cart"])
    let cart: NSManagedObject
    switch way {
    case 0: cart = NSEntityDescription.insertNewObject(forEntityName: "Cart", into: context)
    case 1: cart = NSManagedObject(entity: entity, insertInto: context)
    case 2: cart = EntityWithoutStoreCart(context: context)
    default:
      cart = NSManagedObject(entity: entity, insertInto: nil)
      context.insert(cart)
    }
    #expect(cart.isInserted && context.insertedObjects == [cart])
    let item = Item(context: context)
    item.name = "Lamp"
    var failure: NSError?
    do { try context.save() } catch { failure = error as NSError }
    #expect(failure?.domain == NSCocoaErrorDomain)
    #expect(failure?.code == NSPersistentStoreIncompatibleSchemaError)
    let text = failure?.localizedDescription ?? ""
    #expect(text.contains("Cart") && text.contains("Goods.sqlite"), "\(text)")
    #expect(context.insertedObjects == [cart, item])
    try coordinator.addPersistentStore(
      type: .sqlite, configuration: "Carts", at: folder.file("Carts.sqlite"), options: nil)
    try context.save()
    #expect(
      cart.objectID.persistentStore?.url?.lastPathComponent == "Carts.sqlite"
        && item.objectID.persistentStore?.url?.lastPathComponent == "Goods.sqlite")
  }

  @Test("One that is deleted again leaves nothing to save")
  func deleted() throws {
    let cart = NSEntityDescription.insertNewObject(forEntityName: "Cart", into: context)
    context.delete(cart)
    try context.save()
    #expect(!context.hasChanges)
  }
}
