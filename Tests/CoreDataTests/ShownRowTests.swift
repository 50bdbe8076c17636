import CoreData
import TestSupport
import Testing

/// What rows of dictionaries hold, and fetched results that are no objects, or have titles of their own.
struct ShownRowTests {
  private let context: NSManagedObjectContext

  init() throws {
    context = Albums.context(try Albums.coordinator(nil))
    try context.performAndWait { [context] in
      for (title, tag) in [("ape", "x"), ("ant", "y"), ("bee", "z")] {
        let album = Album(context: context)
        album.title = title
        album.setValue([tag], forKey: "tags")
        album.setValue(["n": tag], forKey: "info")
        Page(1, context).album = album
      }
      try context.save()
    }
  }

  private func rows<Result>(_ type: Result.Type) -> NSFetchRequest<Result> {
    let request = NSFetchRequest<Result>(entityName: "Album")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.resultType = .dictionaryResultType
    return request
  }

  @Test("Transformable attributes are in rows as the values that they stand for")
  func transformables() throws {
    try context.performAndWait {
      let some = rows(NSDictionary.self)
      some.propertiesToFetch = ["title", "tags", "info"]
      let first = try #require(try context.fetch(some).first)
      #expect(first["title"] as? String == "ant" && first["tags"] as? [String] == ["y"])
      #expect(first["info"] as? [String: String] == ["n": "y"])
      let all = try #require(try context.fetch(rows(NSDictionary.self)).first)
      #expect(all["tags"] as? [String] == ["y"])
      let expression = NSExpressionDescription()
      expression.name = "marks"
      expression.expression = CoreData.NSExpression(forKeyPath: "tags")
      expression.expressionResultType = .transformableAttributeType
      some.propertiesToFetch = [expression]
      #expect(try context.fetch(some).first?["marks"] as? [String] == ["y"])
      let pages = NSFetchRequest<NSDictionary>(entityName: "Page")
      pages.resultType = .dictionaryResultType
      pages.propertiesToFetch = ["album.tags"]
      pages.sortDescriptors = [NSSortDescriptor(key: "album.title", ascending: true)]
      #expect(try context.fetch(pages).first?["album.tags"] as? [String] == ["y"])
    }
  }

  @Test("Fetched results that are dictionaries have sections, places and letters")
  func dictionaries() throws {
    try context.performAndWait {
      let request = rows(NSDictionary.self)
      request.propertiesToFetch = ["title", "kind"]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "kind",
        cacheName: nil)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.map { $0["title"] as? String } == ["ant", "ape", "bee"])
      #expect(controller.sections?.map(\.name) == ["1"])
      #expect(controller.sections?.first?.numberOfObjects == 3)
      #expect((controller.sections?.first?.objects?.first as? NSDictionary)?["kind"] as? Int == 1)
      let place = IndexPath(indexes: [0, 1])
      let ape = controller.object(at: place)
      #expect(ape["title"] as? String == "ape" && controller.indexPath(forObject: ape) == place)
      // They are as they were fetched.
      Album(context: context).title = "cat"
      try context.save()
      #expect(controller.fetchedObjects?.count == 3)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 4)
    }
  }

  @Test("Fetched results that are IDs have sections by the objects' values")
  func identifiers() throws {
    try context.performAndWait {
      let request = rows(NSManagedObjectID.self)
      request.resultType = .managedObjectIDResultType
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "title",
        cacheName: nil)
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == ["ant", "ape", "bee"])
      #expect(controller.sectionIndexTitles == ["A", "A", "B"])
      let last = controller.object(at: IndexPath(indexes: [2, 0]))
      #expect(context.object(with: last).value(forKey: "title") as? String == "bee")
    }
  }

  private final class Silent: NSFetchedResultsControllerDelegate {}

  final class LoudController: NSFetchedResultsController<Album> {
    override func sectionIndexTitle(forSectionName sectionName: String) -> String? {
      "<\(sectionName.prefix(2))>"
    }
  }

  @Test("Sections have the titles that an override of sectionIndexTitle(forSectionName:) gives")
  func titles() throws {
    try context.performAndWait {
      let request = NSFetchRequest<Album>(entityName: "Album")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let controller = LoudController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "title",
        cacheName: nil)
      let silent = Silent()
      controller.delegate = silent
      try controller.performFetch()
      #expect(controller.sectionIndexTitles == ["<an>", "<ap>", "<be>"])
      #expect(controller.sections?.last?.indexTitle == "<be>")
      #expect(controller.section(forSectionIndexTitle: "<be>", at: 0) == 2)
      Album(context: context).title = "cow"
      context.processPendingChanges()
      #expect(controller.sectionIndexTitles.last == "<co>")
      withExtendedLifetime(silent) {}
    }
  }
}
