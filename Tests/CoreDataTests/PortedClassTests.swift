import CoreData
import TestSupport
import Testing

/// `Volume.swift`, which is as `syncctl code port` writes it, on a file.
struct PortedClassTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    let container = NSPersistentContainer(name: "Volumes", managedObjectModel: Self.model())
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("Volumes.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    context = container.newBackgroundContext()
  }

  private static func model() -> NSManagedObjectModel {
    let volume = NSEntityDescription()
    volume.name = "Volume"
    volume.managedObjectClassName = NSStringFromClass(Volume.self)
    let shelf = NSEntityDescription()
    shelf.name = "Shelf"
    shelf.managedObjectClassName = NSStringFromClass(Shelf.self)
    let facts = Shop.attribute("facts", .transformableAttributeType)
    facts.valueTransformerName = "NSSecureUnarchiveFromData"
    volume.properties = [
      Shop.attribute("title", .stringAttributeType), Shop.attribute("code", .stringAttributeType),
      Shop.attribute("small", .integer16AttributeType),
      Shop.attribute("middle", .integer32AttributeType),
      Shop.attribute("large", .integer64AttributeType),
      Shop.attribute("isSold", .booleanAttributeType),
      Shop.attribute("weight", .doubleAttributeType), Shop.attribute("rating", .floatAttributeType),
      Shop.attribute("made", .dateAttributeType), Shop.attribute("seen", .dateAttributeType),
      Shop.attribute("photo", .binaryDataAttributeType), Shop.attribute("id", .UUIDAttributeType),
      Shop.attribute("page", .URIAttributeType), Shop.attribute("count", .integer32AttributeType),
      Shop.attribute("cost", .decimalAttributeType), Shop.attribute("price", .decimalAttributeType),
      facts, Shop.attribute("binding", .integer16AttributeType),
      Shop.attribute("default", .stringAttributeType),
    ]
    for (name, inverse, isOrdered) in [
      ("volumes", "shelf", false), ("row", "rowShelf", true), ("readers", "readShelf", false),
    ] {
      let many = Shop.relationship(name, to: volume, max: 0)
      let one = Shop.relationship(inverse, to: shelf, max: 1)
      many.isOrdered = isOrdered
      many.inverseRelationship = one
      one.inverseRelationship = many
      shelf.properties.append(many)
      volume.properties.append(one)
    }
    let model = NSManagedObjectModel()
    model.entities = [volume, shelf]
    return model
  }

  @Test("A new object reads as Core Data's does: absent numbers are 0, an absent text is empty")
  func absent() {
    context.performAndWait {
      let volume = Volume(context: context)
      #expect(volume.title == nil && volume.code.isEmpty && volume.small == 0)
      #expect(volume.middle == 0 && volume.large == 0 && !volume.isSold && volume.weight == 0)
      #expect(volume.rating == 0 && volume.made == nil && volume.seen == 0)
      #expect(volume.photo == nil && volume.id == nil && volume.page == nil)
      #expect(volume.count == nil && volume.cost == nil && volume.facts.isEmpty)
      #expect(volume.binding == .paper && volume.default == nil && volume.shelf == nil)
      #expect(volume.quietTitle == nil && volume.quietSmall == 0)
      let shelf = Shelf(context: context)
      #expect(shelf.volumes?.count == 0 && shelf.row?.count == 0 && shelf.readers.isEmpty)
      #expect(throws: Never.self) { try context.save() }
    }
  }

  @Test("Values of every type come back, before and after a save")
  func types() throws {
    try context.performAndWait {
      let volume = Volume(context: context)
      let (date, id) = (Date(timeIntervalSinceReferenceDate: 7), UUID())
      volume.title = "Persuasion"
      volume.code = "P1"
      (volume.small, volume.middle, volume.large) = (.min, .max, .min)
      (volume.isSold, volume.weight, volume.rating) = (true, 1.5, 0.1)
      (volume.made, volume.seen) = (date, 9)
      (volume.photo, volume.id, volume.page) = (Data([1]), id, URL(string: "https://a.example"))
      (volume.count, volume.cost) = (3, NSDecimalNumber(string: "2.50"))
      (volume.price, volume.facts) = (Decimal(4), ["ink": "black"])
      volume.binding = .cloth
      volume.setValue("x", forKey: "default")
      for _ in 0...1 {
        #expect(volume.title == "Persuasion" && volume.code == "P1")
        #expect(volume.small == .min && volume.middle == .max && volume.large == .min)
        #expect(volume.isSold && volume.weight == 1.5 && volume.rating == 0.1)
        #expect(volume.made == date && volume.seen == 9)
        #expect(volume.value(forKey: "seen") as? Date == Date(timeIntervalSinceReferenceDate: 9))
        #expect(volume.photo == Data([1]) && volume.id == id)
        #expect(volume.page?.absoluteString == "https://a.example")
        #expect(volume.count == 3 && volume.cost == NSDecimalNumber(string: "2.5"))
        #expect(volume.price == 4 && volume.facts["ink"] as? String == "black")
        #expect(volume.binding == .cloth && volume.default == "x")
        try context.save()
        context.refresh(volume, mergeChanges: false)
      }
      volume.title = nil
      volume.count = nil
      try context.save()
      context.refresh(volume, mergeChanges: false)
      #expect(volume.title == nil && volume.count == nil)
    }
  }

  @Test("Primitive accessors read and write without noting a change")
  func primitives() throws {
    try context.performAndWait {
      let volume = Volume(context: context)
      (volume.title, volume.small) = ("Emma", 2)
      try context.save()
      volume.quietTitle = "Quiet"
      volume.quietSmall = 3
      #expect(volume.title == "Quiet" && volume.quietTitle == "Quiet")
      #expect(volume.small == 3 && volume.quietSmall == 3)
      #expect(!volume.hasChanges)
    }
  }

  @Test("Accessors of a set add and take out objects and sets of them")
  func sets() throws {
    try context.performAndWait {
      let shelf = Shelf(context: context)
      let all = (0..<4).map { _ in Volume(context: context) }
      shelf.addToVolumes(all[0])
      shelf.addToVolumes(NSSet(array: [all[0], all[1], all[2]]))
      #expect(shelf.volumes?.count == 3 && all[2].shelf === shelf)
      shelf.removeFromVolumes(all[0])
      shelf.removeFromVolumes(NSSet(array: [all[1], all[3]]))
      #expect(shelf.volumes == NSSet(object: all[2]) && all[0].shelf == nil)
      all[3].shelf = shelf
      try context.save()
      context.refresh(shelf, mergeChanges: false)
      #expect(shelf.volumes == NSSet(array: [all[2], all[3]]))
      shelf.volumes = nil
      #expect(all[3].shelf == nil)
      shelf.readers = [all[1]]
      shelf.readers.insert(all[2])
      #expect(shelf.readers == [all[1], all[2]])
    }
  }

  @Test("Accessors of an ordered set keep its order")
  func orderedSets() throws {
    try context.performAndWait {
      let shelf = Shelf(context: context)
      let all = (0..<6).map { _ in Volume(context: context) }
      func places() -> [Int] {
        (shelf.row?.array ?? []).map { volume in all.firstIndex { $0 === volume as AnyObject } ?? -1
        }
      }
      shelf.addToRow(all[0])
      shelf.addToRow(NSOrderedSet(array: [all[1], all[0], all[2]]))
      #expect(places() == [0, 1, 2])
      shelf.insertIntoRow(all[3], at: 0)
      #expect(places() == [3, 0, 1, 2])
      shelf.insertIntoRow([all[4], all[5]], at: NSIndexSet(indexesIn: NSRange(1...2)))
      #expect(places() == [3, 4, 5, 0, 1, 2])
      shelf.removeFromRow(at: 0)
      shelf.removeFromRow(at: NSIndexSet(indexesIn: NSRange(0...1)))
      #expect(places() == [0, 1, 2])
      shelf.replaceRow(at: 1, with: all[5])
      shelf.replaceRow(at: NSIndexSet(index: 0), with: [all[4]])
      #expect(places() == [4, 5, 2])
      try context.save()
      context.refresh(shelf, mergeChanges: false)
      #expect(places() == [4, 5, 2])
      shelf.removeFromRow(all[4])
      shelf.removeFromRow(NSOrderedSet(object: all[2]))
      #expect(places() == [5])
      shelf.row = NSOrderedSet(array: [all[1], all[0]])
      #expect(places() == [1, 0])
    }
  }
}
