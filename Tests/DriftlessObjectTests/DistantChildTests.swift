import Driftless
import Foundation
import Testing

/// Contexts on contexts that are used on other queues.
@Suite("Contexts on a context with another queue")
struct DistantChildTests {
  let library: Library

  init() throws { library = try Library() }

  private final class Held: @unchecked Sendable {  // used on the child's queue alone
    var book: Book?
    var other: Book?
    var author: Author?
  }

  private func titles() throws -> [String] {
    try library.container.newContext().fetch(Book.self, order: Book.title.ascending).map(\.title)
  }

  @Test("A child on its own queue reads its parent's unsaved changes, and saves there alone")
  func saving() async throws {
    let parent = library.container.newBackgroundContext()
    let child = BackgroundContext(parent: parent, name: "child")
    let id = try await parent.perform { context in
      let author = try context.insert(Author.self)
      author.name = "Eco"
      let book = try context.insert(Book.self)
      book.title = "unsaved"
      book.author = author
      return book.objectID
    }
    let new = try await child.perform { context in
      let book = try #require(try context.existingObject(with: id) as? Book)
      #expect(book.title == "unsaved" && book.author?.name == "Eco")
      #expect(try context.count(Book.self) == 1)
      book.title = "edited"
      let other = try context.insert(Book.self)
      other.title = "new"
      other.author = book.author
      try context.save()
      #expect(!context.hasChanges && book.author?.books.count == 2)
      return other.objectID
    }
    #expect(try titles() == [])
    let saved = try await parent.perform { context in
      #expect((try context.existingObject(with: id) as? Book)?.title == "edited")
      #expect((try context.existingObject(with: new) as? Book)?.author?.name == "Eco")
      try context.save()
      return try context.existingObject(with: new).objectID
    }
    #expect(try titles() == ["edited", "new"])
    // The child learns the keys when it looks.
    try await child.perform { context in
      let book = try #require(try context.existingObject(with: saved) as? Book)
      #expect(context.registeredObject(for: new) === book)
      #expect(book.title == "new" && !book.objectID.isTemporaryID)
      book.title = "newer"
      try context.save()
    }
    try await parent.perform { try $0.save() }
    #expect(try titles() == ["edited", "newer"])
  }

  @Test("An object that a child holds is one when its parent saves between two pieces of work")
  func renamedBetween() async throws {
    let parent = library.container.newBackgroundContext()
    let child = BackgroundContext(parent: parent)
    let held = Held()
    try await child.perform { context in
      let book = try context.insert(Book.self)
      book.title = "held"
      let tag = try context.insert(Tag.self)
      tag.name = "tag"
      book.tags.insert(tag)
      try context.save()
      held.book = book
    }
    let saved = try await parent.perform { context in
      try context.save()
      return try #require(try context.fetch(Book.self).first).objectID
    }
    try await child.perform { context in
      let book = try #require(held.book)
      held.book = nil
      #expect(try context.existingObject(with: saved) === book)
      #expect(try context.fetch(Book.self) == [book])
      #expect(book.objectID == saved)
      #expect(book.tags.map(\.name) == ["tag"])
      try context.refresh(book, mergeChanges: false)
      #expect(book.tags.map(\.name) == ["tag"] && book.title == "held")
    }
  }

  @Test("A child of the main actor's context works elsewhere and shows there when it is saved")
  @MainActor func viewContext() async throws {
    let view = library.container.viewContext
    let book = try view.insert(Book.self)
    book.title = "view"
    let id = book.objectID
    let child = BackgroundContext(parent: view)
    try await child.perform { context in
      (try context.existingObject(with: id) as? Book)?.title = "child"
      try context.insert(Book.self).title = "other"
      try context.save()
    }
    #expect(book.title == "child" && book.hasChanges)
    #expect(try view.fetch(Book.self).count == 2)
    // The main actor waits for a child that asks it.
    let count = try child.performAndWait { context in
      try context.fetch(Book.self, where: Book.title == "child").count
    }
    #expect(count == 1)
    try view.save()
    #expect(try titles() == ["child", "other"])
  }

  @Test("A piece of work of the parent may wait for a child that asks the parent")
  func nested() async throws {
    let parent = library.container.newBackgroundContext()
    let child = BackgroundContext(parent: parent)
    let grandchild = BackgroundContext(parent: child)
    try await parent.perform { context in
      try context.insert(Book.self).title = "outer"
      let titles = try child.performAndWait { context in
        try context.insert(Book.self).title = "middle"
        return try grandchild.performAndWait { context in
          try context.insert(Book.self).title = "inner"
          let titles = try context.fetch(Book.self, order: Book.title.ascending).map(\.title)
          try context.save()
          return titles
        }
      }
      #expect(titles == ["inner", "middle", "outer"])
      try child.performAndWait { try $0.save() }
      try context.save()
    }
    #expect(try titles() == ["inner", "middle", "outer"])
  }

  @Test("Several children work and save at once into a parent that works and saves too")
  func atOnce() async throws {
    let root = library.container.newBackgroundContext()
    let parent = BackgroundContext(parent: root)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let child = BackgroundContext(parent: parent, name: "\(worker)")
          for round in 0..<25 {
            try await child.perform { context in
              let book = try context.insert(Book.self)
              book.title = "\(worker) \(round)"
              for other in try context.fetch(Book.self, limit: 5) { _ = other.author?.name }
              let author = try context.insert(Author.self)
              author.name = "\(worker)"
              book.author = author
              try context.save()
              book.title += "!"
              try context.save()
            }
          }
        }
      }
      group.addTask {
        for _ in 0..<50 {
          try await parent.perform { context in
            for book in try context.fetch(Book.self) { _ = book.author?.books.count }
            try context.save()
          }
          try await root.perform { try $0.save() }
        }
      }
      try await group.waitForAll()
    }
    try await parent.perform { try $0.save() }
    try await root.perform { try $0.save() }
    let titles = try titles()
    #expect(titles.count == 100 && Set(titles).count == 100)
    #expect(titles.allSatisfy { $0.hasSuffix("!") })
    let context = library.container.newContext()
    #expect(try context.fetch(Author.self).allSatisfy { $0.books.count == 1 })
  }

  @Test("A child that ends while its parent works lets go of nothing that the parent uses")
  func ending() async throws {
    let parent = library.container.newBackgroundContext()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          let child = BackgroundContext(parent: parent)
          try await child.perform { context in
            try context.insert(Book.self).title = "\(number)"
            try context.save()
          }
        }
        group.addTask { try await parent.perform { try $0.save() } }
      }
      try await group.waitForAll()
    }
    try await parent.perform { try $0.save() }
    #expect(try titles().count == 20)
  }

  @Test("A child that merges by itself and its parent do not wait for each other")
  @MainActor func mergesByItself() async throws {
    let view = library.container.viewContext
    let book = try view.insert(Book.self)
    book.title = "first"
    try view.save()
    let id = book.objectID
    let child = BackgroundContext(parent: view)
    let held = Held()
    try await child.perform { context in
      context.automaticallyMergesChangesFromParent = true
      held.book = try context.existingObject(with: id) as? Book
      held.book?.pages = 7
    }
    for round in 0..<20 {
      book.title = "\(round)"
      try view.save()
      let seen = child.performAndWait { context -> String? in
        context.processPendingChanges()
        return held.book?.title
      }
      #expect(seen == "\(round)")
    }
    child.performAndWait { _ in held.book = nil }
  }

  @Test("Over three levels an object is one when the uppermost one saves")
  func threeLevels() async throws {
    let root = library.container.newBackgroundContext()
    let parent = BackgroundContext(parent: root)
    let child = BackgroundContext(parent: parent)
    let ids = try await root.perform { context in
      let author = try context.insert(Author.self)
      author.name = "Eco"
      return try (0..<2).map { number in
        let book = try context.insert(Book.self)
        book.title = "\(number)"
        book.author = author
        return book.objectID
      }
    }
    // The parent has its own temporary IDs of none: all are the root's.
    let held = Held()
    try await child.perform { context in
      held.book = try context.existingObject(with: ids[0]) as? Book
      held.other = context.object(with: ids[1]) as? Book
      held.author = held.book?.author
    }
    try await root.perform { try $0.save() }
    try await child.perform { context in
      #expect(held.other?.author === held.author && held.book?.author === held.author)
      let count = try context.fetch(Author.self).count
      #expect(count == 1)
      #expect(held.author?.books.count == 2)
      (held.book, held.other, held.author) = (nil, nil, nil)
    }
  }

  @Test("A child in the same isolation as a child of another queue learns of keys with it")
  func nearOfDistant() async throws {
    let parent = library.container.newBackgroundContext()
    let child = BackgroundContext(parent: parent)
    let id = try await parent.perform { context in
      let book = try context.insert(Book.self)
      book.title = "new"
      return book.objectID
    }
    final class Near: @unchecked Sendable {  // used on the child's queue alone
      var context: ManagedObjectContext?
      var book: ManagedObject?
    }
    let near = Near()
    try await child.perform { context in
      let below = ManagedObjectContext(parent: context)
      near.context = below
      near.book = try below.existingObject(with: id)
    }
    let saved = try await parent.perform { context in
      try context.save()
      return try context.existingObject(with: id).objectID
    }
    try await child.perform { _ in
      let below = try #require(near.context)
      #expect(try below.existingObject(with: saved) === near.book)
      near.book = nil
      near.context = nil
    }
  }
}
