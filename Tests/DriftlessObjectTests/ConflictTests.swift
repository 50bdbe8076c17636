import Driftless
import Foundation
import Testing

@Suite("Optimistic locking")
struct ConflictTests {
  let library: Library
  let context: ManagedObjectContext
  let other: ManagedObjectContext
  let mine: Book
  let theirs: Book

  init() throws {
    library = try Library()
    context = library.container.newContext()
    other = library.container.newContext()
    mine = try context.insert(Book.self)
    mine.title = "base"
    mine.pages = 1
    try context.save()
    theirs = try #require(try other.fetch(Book.self).first)
    theirs.title = "theirs"
    theirs.pages = 2
    try other.save()
    mine.pages = 3
    mine[Book.weight] = 0.5
  }

  struct Stored: Equatable {
    var title = ""
    var pages = 0
    var weight: Double?
  }

  func stored() throws -> [Stored] {
    try library.container.performAndWait { context in
      try context.fetch(Book.self).map {
        Stored(title: $0.title, pages: $0.pages, weight: $0[Book.weight])
      }
    }
  }

  @Test("Without a policy the save fails, names the properties, and can be repeated")
  func errorPolicy() throws {
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    let conflict = try #require(error?.conflicts.first)
    #expect(conflict.objectID == mine.objectID && error?.conflicts.count == 1)
    #expect(Set(conflict.changedProperties) == ["pages", "weight"])
    #expect(conflict.oldVersionNumber == 1 && conflict.newVersionNumber == 2)
    #expect(conflict.persistedSnapshot?["title"] == .string("theirs"))
    #expect(mine.isUpdated && mine.pages == 3)
    try context.refresh(mine, mergeChanges: true)
    try context.save()
    #expect(try stored() == [Stored(title: "theirs", pages: 3, weight: 0.5)])
  }

  @Test(
    "Each policy leaves in store and object what it says",
    arguments: [
      (MergePolicyType.mergeByPropertyStoreTrump, Stored(title: "theirs", pages: 2, weight: 0.5)),
      (.mergeByPropertyObjectTrump, Stored(title: "theirs", pages: 3, weight: 0.5)),
      (.overwrite, Stored(title: "base", pages: 3, weight: 0.5)),
      (.rollback, Stored(title: "theirs", pages: 2, weight: nil)),
    ])
  func policies(policy: MergePolicyType, expected: Stored) throws {
    context.mergePolicy = MergePolicy(merge: policy)
    try context.save()
    #expect(try stored() == [expected])
    #expect(Stored(title: mine.title, pages: mine.pages, weight: mine[Book.weight]) == expected)
    #expect(!context.hasChanges)
    mine.pages = 10
    try context.save()
    #expect(try stored().first?.pages == 10)
  }

  @Test(
    "A row deleted there comes back only by the policies that say so",
    arguments: [
      (MergePolicyType.mergeByPropertyStoreTrump, 0), (.mergeByPropertyObjectTrump, 1),
      (.overwrite, 1), (.rollback, 0),
    ])
  func deletedThere(policy: MergePolicyType, count: Int) throws {
    other.delete(theirs)
    try other.save()
    context.mergePolicy = MergePolicy(merge: policy)
    try context.save()
    #expect(try stored().count == count)
    #expect(mine.isDeleted == (count == 0))
    #expect(try context.fetch(Book.self).count == count)
  }

  @Test(
    "An object deleted here and changed there stays only by the policies that say so",
    arguments: [
      (MergePolicyType.mergeByPropertyStoreTrump, 1), (.mergeByPropertyObjectTrump, 0),
      (.overwrite, 0), (.rollback, 1),
    ])
  func deletedHere(policy: MergePolicyType, count: Int) throws {
    context.delete(mine)
    #expect(throws: SaveConflictError.self) { try context.save() }
    context.mergePolicy = MergePolicy(merge: policy)
    try context.save()
    #expect(try stored().count == count)
    #expect(try context.count(Book.self) == count)
    if count == 1 { #expect(mine.title == "theirs" && !mine.isDeleted) }
  }

  @Test("Another stack on the same file conflicts in the same way")
  func anotherStack() throws {
    let elsewhere = try library.another().newContext()
    let book = try #require(try elsewhere.fetch(Book.self).first)
    #expect(book.title == "theirs")
    theirs.title = "again"
    try other.save()
    book.title = "elsewhere"
    #expect(throws: SaveConflictError.self) { try elsewhere.save() }
    elsewhere.mergePolicy = .mergeByPropertyObjectTrump
    try elsewhere.save()
    #expect(try stored().first?.title == "elsewhere")
  }
}
