import Dispatch
import Driftless
import Foundation
import Synchronization
import Testing

/// What observers and objects are told of changes.
@Suite("Events")
struct EventTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  /// The sets of each notification that `body` brought about, as names of books.
  private func events(_ body: () throws -> Void) rethrows -> [[String: Set<String>]] {
    let seen = Mutex<[[String: Set<String>]]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
    ) { note in
      var sets: [String: Set<String>] = [:]
      for key in ["inserted", "updated", "deleted"] {
        guard let objects = note.userInfo?[key] as? [ManagedObject] else { continue }
        sets[key] = Set(objects.compactMap { ($0 as? Book)?.title })
      }
      seen.withLock { $0.append(sets) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try body()
    return seen.withLock { $0 }
  }

  @Test("An event of the view context ends when the main actor is free, and once")
  @MainActor func viewContext() async throws {
    let context = library.container.viewContext
    nonisolated(unsafe) var told = 0  // posted on the main actor
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
    ) { _ in told += 1 }
    defer { NotificationCenter.default.removeObserver(observer) }
    for title in ["a", "b", "c"] { try context.insert(Book.self).title = title }
    #expect(told == 0)
    // The main queue does what it was given before.
    await withCheckedContinuation { waiting in DispatchQueue.main.async { waiting.resume() } }
    #expect(told == 1)
  }

  @Test("A save tells its objects, each list under Core Data's key")
  func didSave() throws {
    nonisolated(unsafe) var seen: [[String: [ManagedObject]]] = []  // posted on this thread
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { note in
      let lists = (note.userInfo ?? [:]).compactMapValues { $0 as? [ManagedObject] }
      seen.append(
        Dictionary(
          uniqueKeysWithValues: lists.compactMap { key, list in
            (key as? String).map { ($0, list) }
          }))
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let first = try context.insert(Book.self)
    let second = try context.insert(Book.self)
    try context.save()
    first.pages = 2
    context.delete(second)
    let third = try context.insert(Book.self)
    try context.save()
    #expect(
      seen == [
        ["inserted": [first, second]],
        ["inserted": [third], "updated": [first], "deleted": [second]],
      ])
  }

  @Test(
    "An event tells what it inserted, updated and deleted; lists with nothing in them are absent")
  func sets() throws {
    let first = try context.insert(Book.self)
    first.title = "first"
    let second = try context.insert(Book.self)
    second.title = "second"
    try context.save()
    let told = try events {
      try context.insert(Book.self).title = "third"
      first.title = "first, changed"
      context.delete(second)
      context.processPendingChanges()
      context.processPendingChanges()
      let gone = try context.insert(Book.self)
      context.delete(gone)
      context.processPendingChanges()
      first.title = "again"
      try context.save()
    }
    #expect(
      told == [
        ["inserted": ["third"], "updated": ["first, changed"], "deleted": ["second"]],
        ["updated": ["again"]],
      ])
  }

  @Test("An object tells what changed in the event, since the save, and what was saved")
  func dictionaries() throws {
    let book = try context.insert(Book.self)
    book.title = "saved"
    #expect(book.committedValues(forKeys: nil).isEmpty && book.committedValues.isEmpty)
    try context.save()
    book.title = "changed"
    context.processPendingChanges()
    book[Book.pages] = 7
    #expect(book.changedValuesForCurrentEvent().keys.sorted() == ["pages"])
    #expect(book.changedValuesForCurrentEvent()["pages"] as? Int64 == 7)
    #expect(book.changedValues().keys.sorted() == ["pages", "title"])
    #expect(book.committedValues(forKeys: ["title"])["title"] as? String == "saved")
    #expect(book.committedValues(forKeys: nil).keys.contains("pages"))
    try context.save()
    #expect(book.changedValuesForCurrentEvent().isEmpty && book.changedValues().isEmpty)
  }

  @Test("Primitive values go past change tracking, and an insert writes them")
  func primitives() throws {
    let book = try Book(context: context)
    try book.setPrimitiveValue("set below", forKey: "title")
    #expect(try book.primitiveValue(forKey: "title") as? String == "set below")
    try context.save()
    try book.setPrimitiveValue("unseen", forKey: "title")
    #expect(!book.hasChanges)
    book.willChangeValue(forKey: "title")
    try book.setPrimitiveValue("seen", forKey: "title")
    book.didChangeValue(forKey: "title")
    #expect(book.changedValues()["title"] as? String == "seen")
    #expect(throws: ObjectError.self) { try book.setPrimitiveValue(1, forKey: "title") }
    #expect(throws: ObjectError.self) { try book.primitiveValue(forKey: "nothing") }
    try context.save()
    let other = library.container.newContext()
    let again = try #require(other.object(with: book.objectID))
    #expect(again.faultingState == 1)
    again.willAccessValue(forKey: "title")
    #expect(again.faultingState == 0)
    #expect(try again.primitiveValue(forKey: "title") as? String == "seen")
  }

  @Test("A value is checked by the model's rules without being set")
  func validateValue() throws {
    let book = try context.insert(Book.self)
    try book.validateValue(3, forKey: "pages")
    #expect(throws: ValidationError.self) { try book.validateValue(-1, forKey: "pages") }
    #expect(throws: ValidationError.self) { try book.validateValue(nil, forKey: "title") }
    #expect(throws: ObjectError.self) { try book.validateValue("many", forKey: "pages") }
    #expect(book[Book.pages] == 1)
  }
}
