import CoreData
import Testing

/// Sets that stand for a to-many relationship: each change of one is a change of the object, and reads show it.
struct RelationshipSetTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  private func numbers(_ album: Album) -> [Int32] {
    (album.value(forKey: "pages") as? NSOrderedSet)?.compactMap { ($0 as? Page)?.number } ?? []
  }

  @Test("Every change of an ordered set changes the relationship, and is saved")
  func ordered() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let pages = (0..<5).map { Page(Int32($0), context) }
      let set = album.mutableOrderedSetValue(forKey: "pages")
      set.add(pages[0])
      set.addObjects(from: [pages[1], pages[2], pages[0]])
      #expect(numbers(album) == [0, 1, 2] && pages[1].album === album)
      set.insert(pages[3], at: 0)
      set.exchangeObject(at: 0, withObjectAt: 1)
      #expect(numbers(album) == [0, 3, 1, 2])
      set.remove(pages[0])
      set.removeObjects(in: [pages[1]])
      set.setObject(pages[4], at: 2)
      set[0] = pages[0]
      #expect(numbers(album) == [0, 2, 4])
      set.moveObjects(at: IndexSet(integer: 2), to: 0)
      #expect(numbers(album) == [4, 0, 2])
      set.sort(using: [NSSortDescriptor(key: "number", ascending: true)])
      #expect(numbers(album) == [0, 2, 4])
      set.sort { ($1 as? Page)!.number < ($0 as? Page)!.number ? .orderedAscending : .orderedSame }
      #expect(numbers(album) == [4, 2, 0])
      set.union(NSOrderedSet(array: [pages[1], pages[0]]))
      set.minusSet([pages[4]])
      #expect(numbers(album) == [2, 0, 1])
      set.intersect(NSOrderedSet(array: [pages[0], pages[2]]))
      set.unionSet([pages[3]])
      set.minus(NSOrderedSet(object: pages[0]))
      set.intersectSet([pages[3], pages[2]])
      try context.save()
      context.refresh(album, mergeChanges: false)
      #expect(numbers(album) == [2, 3])
      set.removeAllObjects()
      #expect(numbers(album) == [] && set.count == 0)
    }
  }

  @Test("Every read of an ordered set shows the relationship, and a change made beside it")
  func reading() {
    context.performAndWait {
      let album = Album(context: context)
      let pages = (0..<3).map { Page(Int32($0), context) }
      let set = album.mutableOrderedSetValue(forKey: "pages")
      set.addObjects(from: pages)
      #expect(set.contains(pages[1]) && set.index(of: pages[2]) == 2)
      #expect(set.map { ($0 as? Page)?.number } == [0, 1, 2])
      #expect(set.firstObject as? Page === pages[0] && set.lastObject as? Page === pages[2])
      #expect(set.array.count == 3 && set.set.count == 3)
      #expect("\(set)".contains("Page"))
      pages[1].setValue(nil, forKey: "album")
      #expect(set.count == 2 && !set.contains(pages[1]))
      #expect(set.map { ($0 as? Page)?.number } == [0, 2])
      var seen: [Int32?] = []
      set.enumerateObjects { object, _, _ in seen.append((object as? Page)?.number) }
      #expect(seen == [0, 2])
      #expect((set.copy() as? NSOrderedSet)?.count == 2)
      let other = Album(context: context)
      other.setValue(set, forKey: "pages")
      #expect(numbers(other) == [0, 2] && numbers(album) == [])
      other.setValue(other.mutableOrderedSetValue(forKey: "pages"), forKey: "pages")
      album.addManagedObjects(other.mutableOrderedSetValue(forKey: "pages"), forKey: "pages")
      #expect(numbers(album) == [0, 2])
    }
  }

  @Test("A set prints what the relationship holds")
  func printing() {
    context.performAndWait {
      let album = Album(context: context)
      let set = album.mutableSetValue(forKey: "notes")
      #expect("\(set)" == "{(\n)}")
      set.addObjects(from: [Page(1, context), Page(2, context)])
      #expect("\(set)".components(separatedBy: "Page").count == 3)
      #expect(set.description(withLocale: nil) == set.description)
      #expect(set.isEqual(album.value(forKey: "notes") as? NSSet))
    }
  }

  @Test("Objects are added, counted and read one by one in time", .timeLimit(.minutes(1)))
  func oneByOne() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let ordered = album.mutableOrderedSetValue(forKey: "pages")
      let unordered = album.mutableSetValue(forKey: "notes")
      let count = 3_000
      for number in 0..<count {
        let page = Page(Int32(number), context)
        ordered.add(page)
        ordered.add(page)
        unordered.add(page)
        #expect(ordered.count == number + 1 && unordered.count == number + 1)
        #expect(ordered.contains(page) && unordered.contains(page))
      }
      for number in stride(from: 0, to: count, by: 3) {
        #expect((ordered.object(at: number) as? Page)?.number == Int32(number))
      }
      #expect(ordered.compactMap { ($0 as? Page)?.number } == (0..<count).map { Int32($0) })
      try context.save()
      #expect(numbers(album) == (0..<count).map { Int32($0) })
    }
  }

  @Test("What Foundation reads from its own store shows changes of the set and beside it")
  func shown() {
    context.performAndWait {
      let album = Album(context: context)
      let pages = (0..<4).map { Page(Int32($0), context) }
      let set = album.mutableOrderedSetValue(forKey: "pages")
      set.add(pages[0])
      #expect(set.firstObject as? Page === pages[0])
      set.add(pages[1])
      set.insert(pages[2], at: 0)
      #expect(set.lastObject as? Page === pages[1] && set.firstObject as? Page === pages[2])
      #expect(set.reversed().map { ($0 as? Page)?.number } == [1, 0, 2])
      #expect((set.objects(at: IndexSet([0, 2])) as? [Page])?.map(\.number) == [2, 1])
      #expect(set.isEqual(to: NSOrderedSet(array: [pages[2], pages[0], pages[1]])))
      #expect(set.isSubset(of: Set(pages)) && set.intersects(NSOrderedSet(object: pages[0])))
      set.add(pages[3])
      #expect(set.map { ($0 as? Page)?.number } == [2, 0, 1, 3])
      pages[0].setValue(nil, forKey: "album")
      #expect(set.count == 3 && set.array.count == 3)
    }
  }
}

/// Reading a relationship again does not make its set again.
struct SameSetTests {
  private let context: NSManagedObjectContext

  init() throws { context = Albums.context(try Albums.coordinator(nil)) }

  @Test(
    "An ordered relationship is one set until it holds others: changes, merges and refreshes are seen"
  )
  func ordered() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "a"
      let pages = (0..<4).map { Page(Int32($0), context) }
      album.setValue(NSOrderedSet(array: Array(pages.prefix(3))), forKey: "pages")
      func set() -> NSOrderedSet? { album.value(forKey: "pages") as? NSOrderedSet }
      func numbers() -> [Int32] { (set()?.array as? [Page] ?? []).map(\.number) }
      try context.save()
      let first = set()
      #expect(first === set() && numbers() == [0, 1, 2])
      pages[3].album = album
      #expect(set() !== first && numbers() == [0, 1, 2, 3])
      album.setValue(NSOrderedSet(array: pages.reversed()), forKey: "pages")
      #expect(numbers() == [3, 2, 1, 0])
      context.delete(pages[1])
      #expect(numbers() == [3, 2, 0])
      context.rollback()
      #expect(numbers() == [0, 1, 2])
      context.refreshAllObjects()
      #expect(numbers() == [0, 1, 2])
      let other = Albums.context(try #require(context.persistentStoreCoordinator))
      try other.performAndWait {
        let page = try #require(other.object(with: pages[0].objectID) as? Page)
        other.delete(page)
        try other.save()
      }
      context.refreshAllObjects()
      #expect(numbers() == [1, 2])
      context.reset()
      #expect(first?.count == 3)
    }
  }

  @Test("A set of Swift's, of whatever class, has what the relationship holds")
  func plain() throws {
    try context.performAndWait {
      let album = Album(context: context)
      let pages = (0..<3).map { Page(Int32($0), context) }
      album.setValue(Set(pages), forKey: "notes")
      func typed() -> Set<Page> { album.managedValue(forKey: "notes") }
      for _ in 0..<2 {
        #expect(album.value(forKey: "notes") as? Set<Page> == Set(pages) && typed() == Set(pages))
      }
      pages[0].setValue(nil, forKey: "noted")
      #expect(typed() == [pages[1], pages[2]])
      #expect((album.value(forKey: "notes") as? NSSet)?.count == 2)
      var copy = typed()
      copy.removeAll()
      #expect(typed().count == 2)
      try context.save()
      context.delete(pages[1])
      try context.save()
      #expect(typed() == [pages[2]])
    }
  }
}
