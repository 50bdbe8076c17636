import Driftless
import Foundation
import TestSupport
import Testing

/// A row that was deleted and is back is none that anybody read before.
@Suite("Rows that come back")
struct ReturnedRowTests {
  let library: Library
  let context: ManagedObjectContext
  /// Read the row when it was there first.
  let reader: ManagedObjectContext
  let mine: Tag
  let theirs: Tag

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.undoManager = UndoManager()
    reader = library.container.newContext()
    mine = try context.insert(Tag.self)
    mine.name = "first"
    try context.save()
    theirs = try #require(try reader.fetch(Tag.self).first)
    #expect(theirs.name == "first")
  }

  /// The reader's change meets that the row is another one, and each further save of who brought it back meets none.
  private func check(_ name: String) throws {
    theirs.name = "theirs"
    let error = #expect(throws: SaveConflictError.self) { try reader.save() }
    #expect(error?.conflicts.first?.persistedSnapshot?["name"] == .string(name))
    for name in ["again", "and again"] {
      mine.name = name
      try context.save()
    }
    try reader.refresh(theirs, mergeChanges: true)
    try reader.save()
    try context.refresh(mine, mergeChanges: false)
    #expect(mine.name == "theirs")
  }

  @Test("What a merge policy inserts again is a conflict to who read it before it was deleted")
  func policy() throws {
    try library.container.performAndWait { other in
      try other.fetch(Tag.self).forEach(other.delete)
      try other.save()
    }
    context.mergePolicy = .mergeByPropertyObjectTrump
    mine.name = "back"
    try context.save()
    try check("back")
  }

  @Test("Results show what is there, where a row came back with other values")
  func results() throws {
    let results = try FetchedResults(
      FetchRequest<Tag>(entityName: "Tag", sort: [FetchSort("name")]), context: reader)
    try results.performFetch()
    context.delete(mine)
    try context.save()
    context.undo()
    (mine.name, try context.insert(Tag.self).name) = ("z", "m")
    try context.save()
    try results.performFetch()
    #expect(results.fetchedObjects.map(\.name) == ["m", "z"])
  }
}
