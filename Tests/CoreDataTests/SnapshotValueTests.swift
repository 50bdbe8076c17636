import CoreData
import TestSupport
import Testing

/// What an object says of its saved and its changed values: which properties are in the dictionaries, and what stands for nothing.
struct SnapshotValueTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  private func album(_ title: String) throws -> (Album, Page) {
    let album = Album(context: context)
    album.title = title
    let page = Page(1, context)
    page.album = album
    try context.save()
    return (album, page)
  }

  @Test(
    "committedValues(forKeys:) gives what was last saved, NSNull for nothing, of the keys alone that are asked for"
  )
  func committed() throws {
    try context.performAndWait {
      let (album, page) = try album("a")
      album.title = "b"
      album.setValue(nil, forKey: "pages")
      let some = album.committedValues(forKeys: ["title", "made", "pages"])
      #expect(Set(some.keys) == ["title", "made", "pages"])
      #expect(some["title"] as? String == "a" && some["made"] is NSNull)
      #expect((some["pages"] as? NSOrderedSet)?.array as? [Page] == [page])
      let all = album.committedValues(forKeys: nil)
      #expect(all["title"] as? String == "a" && all["kind"] as? Int == 1)
      #expect(page.committedValues(forKeys: nil)["album"] as? Album === album)
      try context.save()
      #expect(album.committedValues(forKeys: ["title"])["title"] as? String == "b")
      #expect((album.committedValues(forKeys: ["pages"])["pages"] as? NSOrderedSet)?.count == 0)
    }
  }

  @Test("changedValues() has persistent properties alone, with their present values")
  func changed() throws {
    try context.performAndWait {
      let (album, page) = try album("a")
      #expect(album.changedValues().isEmpty)
      album.setValue("transient", forKey: "cached")
      #expect(album.changedValues().isEmpty && album.changedValuesForCurrentEvent().isEmpty)
      #expect(album.hasChanges && !album.hasPersistentChangedValues)
      album.title = "b"
      album.setValue(nil, forKey: "kind")
      #expect(album.changedValues()["title"] as? String == "b")
      #expect(album.changedValues()["kind"] is NSNull)
      #expect(album.changedValuesForCurrentEvent()["title"] as? String == "a")
      page.setValue(nil, forKey: "album")
      #expect((album.changedValues()["pages"] as? NSOrderedSet)?.count == 0)
      #expect(page.changedValues()["album"] is NSNull)
      // A value that is what it was is no change any more.
      album.title = "a"
      #expect(album.changedValues()["title"] == nil)
    }
  }

  @Test("Nothing of this reads the row of a fault")
  func faults() throws {
    try context.performAndWait {
      let (album, _) = try album("a")
      context.refresh(album, mergeChanges: false)
      #expect(album.isFault && album.changedValues().isEmpty)
      #expect(album.changedValuesForCurrentEvent().isEmpty && album.isFault)
    }
  }
}
