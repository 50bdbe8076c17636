import CoreData
import TestSupport
import Testing

/// Sort descriptors order fetches and objects in memory alike, and know what Swift key paths read without a value.
struct SortDescriptorTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  @Test("A key orders objects and dictionaries in memory, in the order of a fetch")
  func memory() throws {
    try context.performAndWait {
      for (number, text) in [(2, "b"), (1, "B"), (3, nil), (4, "a")] {
        Page(Int32(number), context).setValue(text, forKey: "text")
      }
      let request = NSFetchRequest<Page>(entityName: "Page")
      let fetched = try context.fetch(request)
      let byText = NSSortDescriptor(
        key: "text", ascending: true, selector: .caseInsensitiveCompare)
      let byNumber = NSSortDescriptor(key: "number", ascending: false)
      for descriptors in [[byNumber], [byText, byNumber]] {
        request.sortDescriptors = descriptors
        let expected = try context.fetch(request).map(\.number)
        let sorted = NSArray(array: fetched).sortedArray(using: descriptors)
        #expect(sorted.map { ($0 as? Page)?.number } == expected)
        let ofSet = NSSet(set: Set(fetched)).sortedArray(using: descriptors)
        #expect(ofSet.map { ($0 as? Page)?.number } == expected)
        let ordered = NSOrderedSet(array: fetched).sortedArray(using: descriptors)
        #expect(ordered.map { ($0 as? Page)?.number } == expected)
      }
      #expect(byText.key == "text" && byNumber.compare(fetched[0], to: fetched[0]) == .orderedSame)
      let back = try #require(byNumber.reversedSortDescriptor as? NSSortDescriptor)
      #expect(back.ascending && back.key == "number")
      let rows = NSArray(array: [["n": 2], ["n": 1]])
      let sorted = rows.sortedArray(using: [NSSortDescriptor(key: "n", ascending: true)])
      #expect(sorted.map { ($0 as? [String: Int])?["n"] } == [1, 2])
      let texts = NSArray(array: ["b", "a"])
      let byItself = NSSortDescriptor(key: "self", ascending: true)
      #expect(texts.sortedArray(using: [byItself]) as? [String] == ["a", "b"])
    }
  }

  @Test("A key path orders a fetch by properties that are not optional, enumerations, and chains")
  func keyPaths() throws {
    try context.performAndWait {
      for (title, kind, seconds) in [("a", Album.Kind.stamps, 1.0), ("b", .photos, 2)] {
        let album = Album(context: context)
        (album.title, album.kind) = (title, kind)
        album.made = Date(timeIntervalSinceReferenceDate: seconds)
        Page(Int32(seconds), context).album = album
      }
      try context.save()
      func titles(_ descriptor: NSSortDescriptor) throws -> [String] {
        let request = NSFetchRequest<Album>(entityName: "Album")
        request.sortDescriptors = [descriptor]
        return try context.fetch(request).map(\.title)
      }
      #expect(try titles(NSSortDescriptor(keyPath: \Album.made, ascending: false)) == ["b", "a"])
      #expect(try titles(NSSortDescriptor(keyPath: \Album.kind, ascending: true)) == ["b", "a"])
      let byHand = NSSortDescriptor(keyPath: \Album.kindByHand, ascending: true)
      #expect(try titles(byHand) == ["b", "a"])
      #expect(try titles(NSSortDescriptor(keyPath: \Album.title, ascending: false)) == ["b", "a"])
      #expect(throws: CocoaError.self) {
        try titles(NSSortDescriptor(keyPath: \Album.loudTitle, ascending: true))
      }
      let pages = NSFetchRequest<Page>(entityName: "Page")
      pages.sortDescriptors = [NSSortDescriptor(keyPath: \Page.album.made, ascending: false)]
      #expect(try context.fetch(pages).map(\.number) == [2, 1])
      pages.sortDescriptors = [NSSortDescriptor(keyPath: \Page.album.kind, ascending: true)]
      #expect(try context.fetch(pages).map(\.number) == [2, 1])
      #expect(!context.hasChanges)
    }
  }
}
