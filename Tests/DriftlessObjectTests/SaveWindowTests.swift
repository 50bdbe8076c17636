import Driftless
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

/// What happens while a save goes on, or meets what others saved.
@Suite struct SaveWindowTests {
  private let library: Library
  private let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func book(_ title: String) throws -> Book {
    let book = try context.insert(Book.self)
    book.title = title
    return book
  }

  /// Calls `body` when the store tells of a commit, once.
  private func atNextCommit(_ body: @escaping () -> Void) -> any NSObjectProtocol {
    nonisolated(unsafe) var isDone = false
    nonisolated(unsafe) let body = body
    let store = library.container.persistentStoreCoordinator.persistentStores.first?.identifier
    return NotificationCenter.default.addObserver(
      forName: .persistentStoreRemoteChange, object: nil, queue: nil
    ) { note in
      guard !isDone, note.userInfo?["storeIdentifier"] as? String == store else { return }
      isDone = true
      body()
    }
  }

  @Test("What an observer of the store changes when it is told of a save is unsaved")
  func observerChanges() throws {
    let stats = try book("stats")
    try context.save()
    let written = try book("x")
    var inserted: Tag?
    var found: [Book] = []
    let observer = atNextCommit { [context] in
      stats.pages += 1
      written.title = "later"
      inserted = try? context.insert(Tag.self)
      found = (try? context.fetch(Book.self)) ?? []
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.save()
    #expect(Set(found) == [stats, written])
    #expect(context.updatedObjects == [stats, written] && context.insertedObjects.count == 1)
    inserted?.name = "new"
    try context.save()
    let other = library.container.newContext()
    let books = try other.fetch(Book.self, order: Book.title.ascending)
    #expect(books.map(\.title) == ["later", "stats"] && books.map(\.pages) == [1, 2])
    #expect(try other.fetch(Tag.self).map(\.name) == ["new"])
  }

  /// Decides for its context, and does something else besides.
  private final class MeddlingPolicy: MergePolicy {
    var meddle: () -> Void = {}

    override func resolve(
      optimisticLockingConflicts conflicts: inout [MergeConflict],
      in context: ManagedObjectContext
    ) throws {
      meddle()
      try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }
  }

  @Test("What a merge policy changes of objects that are in no conflict is not lost")
  func policyChanges() throws {
    let (mine, bystander, written) = (try book("mine"), try book("bystander"), try book("w"))
    try context.save()
    let other = library.container.newContext()
    for book in try other.fetch(Book.self, where: Book.title == "mine") { book.pages = 9 }
    try other.save()
    let policy = MeddlingPolicy(merge: .mergeByPropertyObjectTrump)
    context.mergePolicy = policy
    mine.title = "still mine"
    written.title = "written"
    policy.meddle = { written.pages = 4 }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    written.title = "w"
    written.pages = 1
    policy.meddle = { bystander.pages = 7 }
    try context.save()
    #expect(context.updatedObjects.contains(bystander) && !context.updatedObjects.contains(mine))
    try context.save()
    let pages = try library.container.newContext().fetch(Book.self, order: Book.title.ascending)
    #expect(pages.map(\.pages) == [7, 9, 1])
  }

  @Test("Nobody is told of one store's commit while another's write goes on")
  func severalStores() throws {
    let memory = try library.container.persistentStoreCoordinator.addPersistentStore(at: nil)
    let first = try context.insert(Author.self)
    let second = try context.insert(Author.self)
    first.name = "file"
    second.name = "memory"
    try context.assign(second, to: memory)
    // Another process's write would have to wait for as long as the lock is held.
    nonisolated(unsafe) var seen: [Int] = []
    let other = try library.another()
    let observer = NotificationCenter.default.addObserver(
      forName: .persistentStoreRemoteChange, object: nil, queue: nil
    ) { note in
      guard note.userInfo?["storeIdentifier"] as? String == memory.identifier else { return }
      let count = try? other.performAndWait { context in
        try context.insert(Tag.self).name = "told"
        try context.save()
        return try context.count(Author.self)
      }
      seen.append(count ?? -1)
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.save()
    #expect(seen == [1])
  }

  @Test("Many-to-many changes of an object that was changed elsewhere too are in the history")
  func pairsOfConflicts() throws {
    let tag = try context.insert(Tag.self)
    let mine = try book("mine")
    try context.save()
    let store = try #require(context.persistentStoreCoordinator.persistentStores.first)
    for policy in [
      MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite,
    ] {
      let other = library.container.newContext()
      for book in try other.fetch(Book.self) { book.pages += 1 }
      try other.save()
      context.mergePolicy = policy
      mine.title += "!"
      if mine.tags.isEmpty { mine.tags.insert(tag) } else { mine.tags.remove(tag) }
      try context.save()
      let result = try context.execute(
        PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?))
      let changes = try #require(result.transactions?.last?.changes)
      let names = changes.flatMap { $0.updatedProperties ?? [] }
      #expect(names.contains("tags") || names.contains("books"), "\(policy.mergeType): \(names)")
      #expect(try store.check().isSound)
    }
  }

  @Test("A member of a many-to-many relationship that another save deleted is a conflict")
  func memberIsGone() throws {
    let tag = try context.insert(Tag.self)
    let gone = try book("gone")
    try context.save()
    let other = library.container.newContext()
    other.delete(try other.existingObject(with: gone.objectID))
    try other.save()
    tag[Tag.books].insert(gone)
    #expect(throws: SaveConflictError.self) { try context.save() }
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    let store = try #require(context.persistentStoreCoordinator.persistentStores.first)
    #expect(try store.check().isSound)
  }

  @Test("An object that was merged is deleted without a conflict")
  func mergedDelete() throws {
    let tag = try context.insert(Tag.self)
    try context.save()
    let other = library.container.newContext()
    (try other.existingObject(with: tag.objectID) as? Tag)?.name = "y"
    try other.save()
    try context.mergeChanges(updated: [tag.objectID])
    context.delete(tag)
    try context.save()
    #expect(try other.count(Tag.self) == 0)
  }

  @Test(
    "A refreshed object stands at the end that the store says, and is not deleted with another's")
  func refreshedEnds() throws {
    let (first, second) = (try book("first"), try book("second"))
    let chapter = try context.insert(Chapter.self)
    chapter[Chapter.book] = first
    try context.save()
    #expect(first[Book.chapters].count == 1)
    chapter[Chapter.book] = second
    try context.refresh(chapter, mergeChanges: false)
    #expect(second[Book.chapters].isEmpty && first[Book.chapters].contains(chapter))
    context.delete(second)
    try context.save()
    #expect(try context.count(Chapter.self) == 1)
  }

  @Test("A cascade leaves an object alone that names another owner by now")
  func cascadeOfOthers() throws {
    let books = [try book("1"), try book("2"), try book("3")]
    let chapter = try context.insert(Chapter.self)
    chapter[Chapter.book] = books[0]
    try context.save()
    let other = library.container.newContext()
    let theirs = try #require(try other.existingObject(with: chapter.objectID) as? Chapter)
    theirs[Chapter.book] = try other.existingObject(with: books[1].objectID) as? Book
    chapter[Chapter.book] = books[2]
    try other.save()
    try context.mergeChanges(updated: [chapter.objectID, books[0].objectID, books[1].objectID])
    context.delete(books[1])
    #expect(!chapter.isDeleted)
    try context.save()
    #expect(try context.count(Chapter.self) == 1 && chapter[Chapter.book] === books[2])
  }

  @Test("A write inside of a write fails, and takes nothing of the outer one away")
  func nestedWrite() throws {
    nonisolated(unsafe) var failure: (any Error)?
    nonisolated(unsafe) var count = 0
    let other = library.container.newContext()
    let result = try context.execute(
      BatchInsertRequest(
        entityName: "Tag",
        managedObjectHandler: { object in
          count += 1
          (object as? Tag)?.name = "\(count)"
          if count == 700 {
            do {
              try other.insert(Tag.self).name = "inside"
              try other.save()
            } catch { failure = error }
          }
          return count > 800
        }))
    _ = result
    #expect((failure as? StoreError)?.code == .busy)
    try other.save()
    #expect(try context.count(Tag.self) == 801)
  }
}
