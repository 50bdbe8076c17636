import Driftless
import Foundation
import TestSupport
import Testing

/// Temporary IDs that a child gave out, brought to its parent and to others.
struct GivenOutKeyTests {
  let library: Library
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    library = try Library()
    parent = library.container.newContext()
    child = ManagedObjectContext(parent: parent)
  }

  private func check(
    _ id: ManagedObjectID, _ title: String, in contexts: ManagedObjectContext...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for context in contexts {
      let object = try #require(
        context.object(with: id) as? Book, sourceLocation: sourceLocation)
      #expect(object.title == title, sourceLocation: sourceLocation)
      #expect(try context.existingObject(with: id) === object, sourceLocation: sourceLocation)
    }
  }

  @Test("An ID of before the child's save leads to the parent's object, before and after its save")
  func askedBefore() throws {
    let book = try child.insert(Book.self)
    book.title = "new"
    let id = book.objectID
    #expect(id.isTemporaryID)
    try child.save()
    try check(id, "new", in: child, parent)
    try parent.save()
    try check(id, "new", in: child, parent)
    #expect(parent.object(with: id)?.objectID.isTemporaryID == false)
  }

  @Test("An ID of after the child's save leads to the parent's object, before and after its save")
  func askedAfter() throws {
    let book = try child.insert(Book.self)
    book.title = "new"
    try child.save()
    let id = book.objectID
    #expect(id.isTemporaryID)
    try check(id, "new", in: child, parent)
    try parent.save()
    try check(id, "new", in: child, parent)
    #expect(book.objectID == parent.object(with: id)?.objectID)
  }

  @Test("An ID that a child gave of its parent's new object leads to it after the parent's save")
  func parentsObject() throws {
    let above = try parent.insert(Book.self)
    above.title = "parent's"
    let author = try parent.insert(Author.self)
    author.name = "Eco"
    above.author = author
    let book = try #require(try child.fetch(Book.self).first)
    let id = book.objectID
    let authorID = try #require(try book.objectIDs(forRelationshipNamed: "author").first)
    try parent.save()
    try check(id, "parent's", in: child, parent)
    #expect(parent.object(with: authorID) === author)
  }

  @Test("An ID of a child that is gone leads to the parent's object")
  func childIsGone() throws {
    var ids: [ManagedObjectID] = []
    do {
      let child = ManagedObjectContext(parent: parent)
      for title in ["before", "after"] {
        let book = try child.insert(Book.self)
        book.title = title
        if title == "before" { ids.append(book.objectID) }
        try child.save()
        if title == "after" { ids.append(book.objectID) }
      }
    }
    try parent.save()
    try check(ids[0], "before", in: parent)
    try check(ids[1], "after", in: parent)
  }

  @Test("Across two levels an ID leads to the object, whenever it was asked for", arguments: 0..<4)
  func grandchild(_ step: Int) throws {
    let below = ManagedObjectContext(parent: child)
    let book = try below.insert(Book.self)
    book.title = "new"
    var id: ManagedObjectID?
    if step == 0 { id = book.objectID }
    try below.save()
    if step == 1 { id = book.objectID }
    if let id { try check(id, "new", in: below, child) }
    try child.save()
    if step == 2 { id = book.objectID }
    if let id { try check(id, "new", in: below, child, parent) }
    try parent.save()
    if step == 3 { id = book.objectID }
    try check(try #require(id), "new", in: below, child, parent)
    #expect(id?.isTemporaryID == (step < 3))
  }

  @Test("A child on another queue gives out IDs that its parent knows, before and after saves")
  func distant() async throws {
    let container = library.container
    let parent = container.newBackgroundContext()
    let child = BackgroundContext(parent: parent)
    let ids = try await child.perform { child in
      let (first, second) = (try child.insert(Book.self), try child.insert(Book.self))
      (first.title, second.title) = ("first", "second")
      let before = first.objectID
      try child.save()
      return [before, second.objectID]
    }
    for isSaved in [false, true] {
      try await parent.perform { parent in
        if isSaved { try parent.save() }
        #expect(
          ids.map { (parent.object(with: $0) as? Book)?.title } == ["first", "second"])
      }
    }
  }

  @Test("A sibling finds by an ID what was saved into the parent")
  func sibling() throws {
    let book = try child.insert(Book.self)
    book.title = "new"
    let before = book.objectID
    try child.save()
    let after = book.objectID
    let sibling = ManagedObjectContext(parent: parent)
    try check(before, "new", in: sibling)
    try check(after, "new", in: sibling)
    try parent.save()
    try check(before, "new", in: sibling)
    try check(after, "new", in: sibling)
  }
}
