import CoreData
import TestSupport
import Testing

/// Key-value coding on collections of objects, and key paths that end in collections.
struct CollectionValueTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  private func pages() -> [Page] {
    (1...3).map { number in
      let page = Page(Int32(number), context)
      page.setValue(number == 2 ? nil : "text \(number)", forKey: "text")
      return page
    }
  }

  @Test("Lists, sets and ordered sets give the values of their objects")
  func values() throws {
    try context.performAndWait {
      let pages = pages()
      let list = NSArray(array: pages)
      #expect(list.value(forKey: "number") as? [Int] == [1, 2, 3])
      #expect((list.value(forKey: "text") as? [Any])?[1] is NSNull)
      #expect(pages.value(forKey: "number") as? [Int] == [1, 2, 3])
      #expect(NSSet(array: pages).value(forKey: "text") as? Set<String> == ["text 1", "text 3"])
      #expect(Set(pages).value(forKey: "number") as? Set<Int> == [1, 2, 3])
      let ordered = NSOrderedSet(array: pages).value(forKey: "number") as? NSOrderedSet
      #expect(ordered?.array as? [Int] == [1, 2, 3])
      #expect(list.value(forKeyPath: "@sum.number") as? Int == 6)
      #expect(pages.value(forKeyPath: "@max.number") as? Int == 3)
      #expect(list.value(forKey: "@count") as? Int == 3)
      #expect(NSArray(array: [["a": 1], ["a": 2]]).value(forKey: "a") as? [Int] == [1, 2])
      #expect([Page]().value(forKeyPath: "@count") as? Int == 0)
      #expect(!context.insertedObjects.isEmpty)
      try context.save()
    }
  }

  @Test("A value is set of all objects, and a key that there is not fails the save")
  func setting() throws {
    try context.performAndWait {
      let pages = pages()
      NSArray(array: pages).setValue("same", forKey: "text")
      #expect(pages.value(forKey: "text") as? [String] == ["same", "same", "same"])
      let album = Album(context: context)
      Set(pages).setValue(album, forKey: "album")
      NSOrderedSet(array: pages).setValue("x", forKeyPath: "album.title")
      #expect(album.title == "x" && pages[2].album === album)
      try context.save()
      #expect(pages.value(forKeyPath: "@nothing.number") == nil)
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test("The sets at the end of a path change their object")
  func mutable() throws {
    try context.performAndWait {
      let pages = pages()
      let album = Album(context: context)
      pages[0].album = album
      pages[0].mutableOrderedSetValue(forKeyPath: "album.pages").add(pages[1])
      #expect(
        album.mutableOrderedSetValue(forKey: "pages").array as? [Page] == [pages[0], pages[1]])
      pages[0].mutableSetValue(forKeyPath: "album.notes").add(pages[2])
      #expect(album.value(forKey: "notes") as? Set<Page> == [pages[2]])
      try context.save()
      pages[2].mutableSetValue(forKeyPath: "album.notes").add(pages[0])
      #expect(throws: (any Error).self) { try context.save() }
    }
  }

  @Test("A list that is changed sets the attribute, or the ordered relationship")
  func list() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let tags = album.mutableArrayValue(forKey: "tags")
      tags.add("a")
      tags.insert("b", at: 0)
      tags.addObjects(from: ["c", "d"])
      tags.removeObject(at: 1)
      tags.replaceObject(at: 0, with: "e")
      #expect(album.value(forKey: "tags") as? [String] == ["e", "c", "d"])
      #expect(tags.map { $0 as? String } == ["e", "c", "d"] && tags.count == 3)
      album.setValue(["x", "y", "z"], forKey: "tags")
      #expect(tags.object(at: 0) as? String == "x", "it is looked at as it is")
      tags.insert(["1", "2"], at: IndexSet([0, 2]))
      #expect(album.value(forKey: "tags") as? [String] == ["1", "x", "2", "y", "z"])
      tags.removeObjects(at: IndexSet([1, 3]))
      #expect(album.value(forKey: "tags") as? [String] == ["1", "2", "z"])
      tags.removeObjects(in: NSRange(location: 0, length: 2))
      tags.addObjects(from: ["a", "b"])
      #expect(album.value(forKey: "tags") as? [String] == ["z", "a", "b"])
      let pages = pages()
      let listed = album.mutableArrayValue(forKey: "pages")
      for page in pages { listed.add(page) }
      listed.exchangeObject(at: 0, withObjectAt: 2)
      #expect(
        (album.value(forKey: "pages") as? NSOrderedSet)?.array as? [Page] == [
          pages[2], pages[1], pages[0],
        ])
      #expect(pages[0].mutableArrayValue(forKeyPath: "album.tags").count == 3)
      try context.save()
    }
  }

  @Test("A value is checked for the property at the end of a path")
  func validation() throws {
    let folder = try TemporaryDirectory()
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      let (order, item) = (Order(context: context), Item(context: context))
      item.order = order
      var name: AnyObject? = NSString("Lamp")
      try item.validateValue(&name, forKeyPath: "name")
      name = nil
      #expect(throws: (any Error).self) { try item.validateValue(&name, forKeyPath: "name") }
      var number: AnyObject? = NSNumber(value: 3)
      try item.validateValue(&number, forKeyPath: "order.number")
    }
  }

  @Test("Committed values are those of a store: nothing transient")
  func committed() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.setValue("y", forKey: "cached")
      album.title = "x"
      try context.save()
      let committed = album.committedValues(forKeys: nil)
      #expect(committed["title"] as? String == "x" && committed["cached"] == nil)
      #expect(album.committedValues(forKeys: ["cached", "title"]).keys.sorted() == ["title"])
    }
  }
}
