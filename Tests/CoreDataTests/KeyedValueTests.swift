import CoreData
import Testing

/// Values by key and key path: what a property is decides what comes, not what a value looks like.
struct KeyedValueTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  @Test("A transformable attribute gives what was set: empty lists, sets, numbers in dictionaries")
  func transformable() throws {
    try context.performAndWait {
      let album = Album(context: context)
      for round in 0...1 {
        album.setValue([String](), forKey: "tags")
        if round == 1 {
          try context.save()
          context.refresh(album, mergeChanges: false)
        }
        #expect(album.value(forKey: "tags") as? [String] == [], "round \(round)")
        let tags: [String] = album.managedValue(forKey: "tags")
        #expect(tags == [])
      }
      // Another value than the saved one: the archives of equal ones may be equal, and then nothing has changed.
      album.setValue(NSArray(array: ["z"]), forKey: "tags")
      #expect(album.changedValues()["tags"] as? [String] == ["z"])
      album.setValue(NSSet(array: ["a", "b"]), forKey: "tags")
      #expect(album.value(forKey: "tags") as? Set<String> == ["a", "b"])
      album.setValue(["n": 1], forKey: "tags")
      #expect(album.value(forKey: "tags") as? [String: Int] == ["n": 1])
      album.setValue(nil, forKey: "tags")
      #expect(album.value(forKey: "tags") == nil)
    }
  }

  @Test("A transformable attribute without a transformer archives property lists' values")
  func archived() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let values: [Any] = [["a": 1], ["x", "y"], "text", Data([1, 2]), NSNumber(value: 3)]
      for value in values {
        album.setValue(value, forKey: "info")
        try context.save()
        context.refresh(album, mergeChanges: false)
        let back = try #require(album.value(forKey: "info"))
        let isSame = ((back as AnyObject) as? NSObject)?.isEqual((value as AnyObject) as? NSObject)
        #expect(isSame == true, "\(value) came back as \(back)")
      }
      let attribute = Shop.attribute("list", .transformableAttributeType)
      attribute.defaultValue = ["a"]
      #expect(attribute.defaultValue as? [String] == ["a"])
    }
  }

  @Test("A default that the type cannot have keeps a store from being loaded")
  func wrongDefault() {
    let model = Albums.model()
    model.entitiesByName["Page"]?.attributesByName["text"]?.defaultValue = NSObject()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    }
  }

  @Test("A fetched property gives a list in the order of its request")
  func fetchedProperty() {
    context.performAndWait {
      let album = Album(context: context)
      #expect(album.value(forKey: "allPages") as? [Page] == [])
      let pages = [2, 3, 1].map { Page($0, context) }
      #expect(album.value(forKey: "allPages") as? [Page] == [pages[1], pages[0], pages[2]])
      let all: [Page] = album.managedValue(forKey: "allPages")
      #expect(all.count == 3)
      #expect(album.value(forKeyPath: "allPages.number") as? [Int] == [3, 2, 1])
    }
  }

  @Test("Key paths: operators, sets behind relationships, composite attributes in both directions")
  func keyPaths() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let pages = [1, 2, 2].map { Page($0, context) }
      album.setValue(NSOrderedSet(array: pages), forKey: "pages")
      album.setValue(Set(pages), forKey: "notes")
      for (page, weight) in zip(pages, [0.5, 1, nil]) { page.setValue(weight, forKey: "weight") }
      func value(_ path: String) -> Any? { album.value(forKeyPath: path) }
      #expect(value("notes.number") as? Set<Int> == [1, 2])
      #expect((value("pages.number") as? NSOrderedSet)?.array as? [Int] == [1, 2])
      #expect(value("notes.album") as? Set<Album> == [album])
      #expect(value("notes.@count") as? Int == 3)
      #expect(value("notes.@sum.number") as? Int == 5)
      #expect(value("notes.@avg.weight") as? Double == 0.5)
      #expect(value("notes.@sum.weight") as? Double == 1.5)
      #expect(
        value("pages.@max.number") as? Int == 2 && value("pages.@min.weight") as? Double == 0.5)
      #expect(value("pages.@unionOfObjects.number") as? [Int] == [1, 2, 2])
      #expect((value("notes.@distinctUnionOfObjects.number") as? [Int])?.sorted() == [1, 2])
      #expect((value("notes.@max.text")) == nil)
      album.setValue(1.5, forKeyPath: "place.latitude")
      #expect(album.value(forKey: "place.latitude") as? Double == 1.5)
      #expect(pages[0].value(forKeyPath: "album.place.latitude") as? Double == 1.5)
      pages[0].setValue(2.5, forKeyPath: "album.place.longitude")
      #expect(value("place.longitude") as? Double == 2.5)
      album.setValue(7, forKeyPath: "notes.number")
      #expect(pages.map(\.number) == [7, 7, 7])
      album.setValue(["a": ["b": 4]], forKey: "tags")
      #expect(value("tags.a.b") as? Int == 4)
      try context.save()
      #expect(value("notes.@median.number") == nil)
      #expect(throws: CocoaError.self) { try context.save() }
      album.setValue(1, forKeyPath: "title.length")
      #expect(throws: Never.self) { try context.save() }
      album.setValue("a", forKey: "title")
      album.setValue(1, forKeyPath: "title.length")
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test(
    "Sums and averages over infinity, over no number and beside decimals are what the numbers give")
  func oddSums() throws {
    context.performAndWait {
      let album = Album(context: context)
      let pages = [1, 2, 3].map { Page($0, context) }
      album.setValue(Set(pages), forKey: "notes")
      func value(_ path: String, _ weights: [Double]) -> Double? {
        for (page, weight) in zip(pages, weights) { page.setValue(weight, forKey: "weight") }
        return album.value(forKeyPath: path) as? Double
      }
      #expect(value("notes.@sum.weight", [.infinity, 1, 2]) == .infinity)
      #expect(value("notes.@avg.weight", [-.infinity, 1, 2]) == -.infinity)
      #expect(value("notes.@sum.weight", [1e300, 1e-300, 2]) == 1e300)
      #expect(value("notes.@sum.weight", [.nan, 1, 2])?.isNaN == true)
      #expect(value("notes.@sum.weight", [0.1, 0.2, 0]) == 0.1 + 0.2)
    }
  }

  @Test(
    "A default value that is infinite is one of a double, and of a decimal a misfit that is told")
  func infiniteDefault() throws {
    let attribute = Shop.attribute("cost", .decimalAttributeType)
    attribute.defaultValue = Double.infinity
    let entity = NSEntityDescription()
    entity.name = "Thing"
    entity.properties = [attribute]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    #expect(throws: (any Error).self) {
      try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    }
    attribute.defaultValue = 0.1
    #expect(attribute.defaultValue as? NSDecimalNumber == NSDecimalNumber(string: "0.1"))
  }
}
