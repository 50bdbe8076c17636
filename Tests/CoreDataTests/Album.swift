import CoreData
import TestSupport

/// Albums with pages in an order, values of all kinds that are no plain columns, and classes as `syncctl code port` writes
/// them.
enum Albums {
  static func model() -> NSManagedObjectModel {
    let album = NSEntityDescription()
    album.name = "Album"
    album.managedObjectClassName = NSStringFromClass(Album.self)
    let page = NSEntityDescription()
    page.name = "Page"
    page.managedObjectClassName = NSStringFromClass(Page.self)

    let pages = Shop.relationship("pages", to: page, max: 0)
    pages.isOrdered = true
    let owner = Shop.relationship("album", to: album, max: 1)
    (pages.inverseRelationship, owner.inverseRelationship) = (owner, pages)
    let notes = Shop.relationship("notes", to: page, max: 0)
    let noted = Shop.relationship("noted", to: album, max: 1)
    (notes.inverseRelationship, noted.inverseRelationship) = (noted, notes)

    let tags = Shop.attribute("tags", .transformableAttributeType)
    tags.valueTransformerName = "NSSecureUnarchiveFromData"
    let cached = Shop.attribute("cached", .stringAttributeType)
    cached.isTransient = true
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.elements = [
      Shop.attribute("latitude", .doubleAttributeType),
      Shop.attribute("longitude", .doubleAttributeType),
    ]
    let kind = Shop.attribute("kind", .integer16AttributeType)
    kind.defaultValue = 1
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Page")
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
    let allPages = NSFetchedPropertyDescription()
    allPages.name = "allPages"
    allPages.fetchRequest = request
    album.properties = [
      Shop.attribute("title", .stringAttributeType), tags, place, cached, kind,
      Shop.attribute("info", .transformableAttributeType),
      Shop.attribute("made", .dateAttributeType), pages, notes, allPages,
    ]
    page.properties = [
      Shop.attribute("number", .integer32AttributeType),
      Shop.attribute("weight", .doubleAttributeType), Shop.attribute("text", .stringAttributeType),
      owner, noted,
    ]
    let model = NSManagedObjectModel()
    model.entities = [album, page]
    return model
  }

  static func coordinator(
    _ url: URL?, _ options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
    try coordinator.addPersistentStore(
      ofType: url == nil ? NSInMemoryStoreType : NSSQLiteStoreType, configurationName: nil,
      at: url, options: options)
    return coordinator
  }

  static func context(_ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}

final class Album: NSManagedObject {
  enum Kind: Int16 {
    case photos = 1
    case stamps = 2
  }

  var title: String {
    get { managedValue(forKey: "title") }
    set { setManagedValue(newValue, forKey: "title") }
  }
  var kind: Kind {
    get { managedValue(forKey: "kind") }
    set { setManagedValue(newValue, forKey: "kind") }
  }
  var made: Date {
    get { managedValue(forKey: "made") }
    set { setManagedValue(newValue, forKey: "made") }
  }
  /// As it is written by hand.
  var kindByHand: Kind { Kind(rawValue: value(forKey: "kind") as? Int16 ?? -1)! }
  var loudTitle: String { title.uppercased() }
}

final class Page: NSManagedObject {
  var number: Int32 {
    get { managedValue(forKey: "number") }
    set { setManagedValue(newValue, forKey: "number") }
  }
  var album: Album {
    get { managedValue(forKey: "album") }
    set { setManagedValue(newValue, forKey: "album") }
  }

  convenience init(_ number: Int32, _ context: NSManagedObjectContext) {
    self.init(context: context)
    self.number = number
  }
}
