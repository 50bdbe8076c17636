import CoreData
import TestSupport
import Testing

/// What a request takes where its values are of another form than the attribute's.
struct RequestFormTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
    coordinator = try Albums.coordinator(folder.file("albums.sqlite"))
    context = Albums.context(coordinator)
    try context.performAndWait { [context] in
      for number in 1...30 {
        let page = Page(Int32(number), context)
        page.setValue(Double(number) / 2, forKey: "weight")
        page.setValue("\(number)", forKey: "text")
      }
      let album = Album(context: context)
      album.title = "a"
      album.setValue(["latitude": 1.5, "longitude": -2.0], forKey: "place")
      Album(context: context).title = "b"
      try context.save()
    }
  }

  private func numbers(_ predicate: NSPredicate) throws -> [Int32] {
    try context.performAndWait {
      let request = NSFetchRequest<Page>(entityName: "Page")
      request.predicate = predicate
      request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
      return try context.fetch(request).map(\.number)
    }
  }

  @Test("A text of a number is that number where it is compared with an attribute that is one")
  func texts() throws {
    #expect(try numbers(NSPredicate(format: "number == %@", "20")) == [20])
    #expect(try numbers(NSPredicate(format: "'3' == number")) == [3])
    let both = NSPredicate(format: "number > %@ AND NOT number == %@", "28", "29")
    #expect(try numbers(both) == [30])
    #expect(try numbers(NSPredicate(format: "number IN %@", ["1", "2"])) == [1, 2])
    #expect(try numbers(NSPredicate(format: "number BETWEEN %@", ["4", "5"])) == [4, 5])
    #expect(try numbers(NSPredicate(format: "weight == %@", "1.5")) == [3])
    #expect(try numbers(NSPredicate(format: "text == %@", "7")) == [7])
    // Unsaved objects are asked in the same way.
    try context.performAndWait {
      _ = Page(31, context)
      let found = try numbers(NSPredicate(format: "number == %@", "31"))
      #expect(found == [31])
    }
    var failure: (any Error)?
    do { _ = try numbers(NSPredicate(format: "number == %@", "x")) } catch { failure = error }
    #expect((failure as? NSError)?.code == NSCoreDataError)
  }

  @Test("A composite attribute is a dictionary of a row, and its elements are columns")
  func composites() throws {
    try context.performAndWait {
      let request = NSFetchRequest<NSDictionary>(entityName: "Album")
      request.resultType = .dictionaryResultType
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let entity = try #require(coordinator.managedObjectModel.entitiesByName["Album"])
      let place = try #require(entity.attributesByName["place"] as? NSCompositeAttributeDescription)
      for property in ["place", place] as [Any] {
        request.propertiesToFetch = ["title", property]
        let rows = try context.fetch(request)
        let values = rows.first?["place"] as? [String: Any]
        #expect(values?["latitude"] as? Double == 1.5 && values?["longitude"] as? Double == -2)
        #expect(rows.last?["title"] as? String == "b" && rows.last?["place"] == nil)
        #expect(rows.first?.allKeys.count == 2)
      }
      for property in ["place.latitude", place.elements[0]] as [Any] {
        request.propertiesToFetch = [property]
        #expect(try context.fetch(request).first?["place.latitude"] as? Double == 1.5)
      }
    }
  }

  @Test("A request of the history asks by the predicate that its fetch request has by then")
  func history() throws {
    try context.performAndWait {
      let fetch = try #require(NSPersistentHistoryChange.fetchRequest)
      func ofType(_ type: NSPersistentHistoryChangeType) -> NSPredicate {
        NSPredicate(format: "changeType == %d", type.rawValue)
      }
      fetch.predicate = ofType(.insert)
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      request.resultType = .changesOnly
      func count() throws -> Int? {
        ((try context.execute(request) as? NSPersistentHistoryResult)?.result as? [Any])?.count
      }
      #expect(try count() == 32)
      fetch.predicate = ofType(.delete)
      #expect(try count() == 0)
      request.fetchRequest?.predicate = nil
      #expect(try count() == 32)
    }
  }
}
