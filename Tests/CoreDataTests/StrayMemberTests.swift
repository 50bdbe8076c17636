import CoreData
import TestSupport
import Testing

/// What is no member is not dropped in silence, whichever way it comes into a relationship.
struct StrayMemberTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  init() throws {
    coordinator = try Albums.coordinator(nil)
    context = Albums.context(coordinator)
  }

  /// What the next save throws.
  private func error(_ body: (Album) throws -> Void) throws -> NSError? {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      try context.save()
      try body(album)
      defer { context.rollback() }
      do { try context.save() } catch { return error as NSError }
      return nil
    }
  }

  @Test("What is no object, or one of another entity or context, is the error of setting it")
  func strays() throws {
    let other = Albums.context(coordinator)
    let foreign = other.performAndWait { Page(1, other) }
    let strays: [(NSManagedObjectContext) -> Any] = [
      { _ in "page" }, { _ in 5 }, { Album(context: $0) }, { _ in foreign },
    ]
    for stray in strays {
      for key in ["notes", "pages"] {
        let set = try error {
          $0.setValue(
            key == "notes"
              ? NSSet(array: [stray(context)]) : NSOrderedSet(array: [stray(context)]), forKey: key)
        }
        let expected = try #require(set)
        #expect(expected.code == 134060, "\(expected)")
        var ways: [(Album) -> Void] = [
          { $0.mutableSetValue(forKey: key).add(stray(context)) },
          { $0.mutableSetValue(forKey: key).addObjects(from: [stray(context)]) },
          { $0.addManagedObjects(stray(context), forKey: key) },
          { $0.addManagedObjects(NSSet(array: [stray(context)]), forKey: key) },
        ]
        if key == "pages" {
          ways += [
            { $0.mutableOrderedSetValue(forKey: key).add(stray(context)) },
            { $0.mutableOrderedSetValue(forKey: key).addObjects(from: [stray(context)]) },
            { $0.mutableOrderedSetValue(forKey: key).insert(stray(context), at: 0) },
            { $0.mutableOrderedSetValue(forKey: key).union(NSOrderedSet(array: [stray(context)])) },
            {
              $0.insertManagedObjects([stray(context)], at: [0], forKey: key)
            },
            {
              let page = Page(1, context)
              page.album = $0
              $0.mutableOrderedSetValue(forKey: key).replaceObject(at: 0, with: stray(context))
            },
          ]
        }
        for (index, way) in ways.enumerated() {
          let met = try error(way)
          let isSame = met?.domain == expected.domain && met?.code == expected.code
          #expect(isSame, "\(key), way \(index): \(String(describing: met))")
        }
        context.performAndWait { context.rollback() }
      }
    }
  }

  @Test("To take out or to ask for what cannot be there is no error")
  func removed() throws {
    let met = try error { album in
      let notes = album.mutableSetValue(forKey: "notes")
      let pages = album.mutableOrderedSetValue(forKey: "pages")
      notes.remove("page")
      pages.remove("page")
      let isThere = notes.contains("page") || pages.contains("page")
      #expect(!isThere)
    }
    #expect(met == nil)
  }
}
