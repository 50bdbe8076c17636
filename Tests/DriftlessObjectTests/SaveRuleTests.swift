import Driftless
import Foundation
import TestSupport
import Testing

/// A note whose methods do what they should not.
final class Memo: ManagedObject {
  static let text = Attribute<Memo, String>("text")
  static let next = ToOne<Memo, Memo>("next")
  /// What its methods got for it.
  var error: (any Error)?
  var preparations = 0

  override func willSave() {
    guard self[Memo.text] == "saves" else { return }
    do { try managedObjectContext?.save() } catch { self.error = error }
  }

  override func prepareForDeletion() {
    preparations += 1
    if self[Memo.text] == "deletes" { managedObjectContext?.delete(self) }
    if let next = self[Memo.next] { managedObjectContext?.delete(next) }
  }
}

@Suite("Rules of a save")
struct SaveRuleTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private static func notes() throws -> ManagedObjectContext {
    ManagedObject.register(Memo.self)
    let note = EntityDescription("Memo")
    note.managedObjectClassName = "Memo"
    note.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription("next", to: "Memo", inverse: "previous"),
      RelationshipDescription("previous", to: "Memo", inverse: "next"),
    ]
    let container = PersistentContainer(
      name: "Memos", model: ManagedObjectModel(entities: [note]), storeURL: nil)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("A save inside of a save is an error, and the save goes on")
  func nested() throws {
    let context = try Self.notes()
    let note = try context.insert(Memo.self)
    note[Memo.text] = "saves"
    try context.save()
    #expect((note.error as? ObjectError)?.code == .nestedSave)
    #expect(!context.hasChanges)
    // A context tells that it is about to save.
    nonisolated(unsafe) var announced = 0  // posted on this thread
    let announcement = NotificationCenter.default.addObserver(
      forName: .managedObjectContextWillSave, object: context, queue: nil
    ) { _ in announced += 1 }
    defer { NotificationCenter.default.removeObserver(announcement) }
    // Who is told of a save may save again.
    nonisolated(unsafe) let observed = (context: context, note: note)  // posted on this thread
    nonisolated(unsafe) var count = 0
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { _ in
      count += 1
      guard count == 1 else { return }
      observed.note[Memo.text] = "after"
      #expect(throws: Never.self) { try observed.context.save() }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    note[Memo.text] = "before"
    try context.save()
    #expect(count == 2 && !context.hasChanges && note[Memo.text] == "after")
    #expect(announced == 2)
  }

  @Test("An object that deletes itself, or those that delete it, when it is deleted goes once")
  func preparing() throws {
    let context = try Self.notes()
    let notes = try (0..<3).map { _ in try context.insert(Memo.self) }
    for note in notes { note[Memo.text] = "deletes" }
    for (note, next) in zip(notes, notes[1...] + notes[..<1]) { note[Memo.next] = next }
    try context.save()
    context.delete(notes[0])
    #expect(notes.allSatisfy { $0.isDeleted && $0.preparations == 1 })
    try context.save()
    #expect(try context.count(Memo.self) == 0)
  }

  @Test("A reference that is set to an object which the same save deletes is refused")
  func dangling() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    try context.save()
    context.delete(author)
    let book = try context.insert(Book.self)
    book.author = author
    let failure = #expect(throws: ValidationFailure.self) { try context.save() }
    let error = failure?.items.first?.error as? ValidationError
    #expect(error?.code == 1550 && error?.propertyName == "author")
    book.author = nil
    try context.save()
    let other = library.container.newContext()
    #expect(try other.fetch(Book.self).first?.author == nil)
  }

  @Test("Objects without changes are let go by a save that has nothing to write")
  func letGo() throws {
    weak var draft: Book?
    weak var saved: Book?
    func work() throws {
      let book = try context.insert(Book.self)
      draft = book
      context.delete(book)
      try library.container.performAndWait { other in
        _ = try other.insert(Book.self)
        try other.save()
      }
      let other = try #require(try context.fetch(Book.self).first)
      other.title = "changed"
      try context.refresh(other, mergeChanges: false)
      saved = other
    }
    try work()
    try context.save()
    #expect(draft == nil && saved == nil)
    #expect(context.registeredObjects.isEmpty)
  }
}
