import Foundation
import Testing

@testable import Driftless

/// Members and holders, of relationships without inverse, that others deleted or put something else in the place of.
@Suite("Members of to-many relationships without inverse, and others' deletes")
struct MemberConflictTests {
  private static let layouts = ToManyLayout.allCases

  @Test("A member that a merge brings back has no holder that is gone", arguments: layouts)
  func goneHolder(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let context = desk.context()
    let (folder, paper) = (try context.insert("Folder", "a"), try context.insert("Paper", "x"))
    folder[Desk.papers].insert(paper)
    try context.save()
    #expect(folder.labels("papers") == ["x"])
    let other = desk.context()
    other.delete(try other.here(folder))
    other.delete(try other.here(paper))
    try other.save()
    let token = try desk.store.currentHistoryToken()
    context.mergePolicy = .mergeByPropertyObjectTrump
    paper["text"] = "back"
    try context.save()
    #expect(try desk.store.check().findings == [])
    let changes = try desk.store.fetchHistory(.fetchHistory(after: token)).flatMap {
      $0.changes ?? []
    }
    #expect(changes.map(\.changedObjectID) == [paper.objectID])
  }

  @Test("A member that another holds by now is not told to have come back to its old holder")
  func takenHolder() throws {
    let desk = try Desk(.columns)
    let context = desk.context()
    let folders = try ["a", "b"].map { try context.insert("Folder", $0) }
    let paper = try context.insert("Paper", "x")
    folders[0][Desk.papers].insert(paper)
    try context.save()
    // Two holders were read at different times.
    #expect(folders[0].labels("papers") == ["x"])
    let other = desk.context()
    try other.here(folders[1])[Desk.papers].insert(other.here(paper))
    try other.save()
    try context.refresh(folders[1], mergeChanges: true)
    #expect(folders[1].labels("papers") == ["x"])
    other.delete(try other.here(paper))
    try other.save()
    let token = try desk.store.currentHistoryToken()
    context.mergePolicy = .mergeByPropertyObjectTrump
    paper["text"] = "back"
    try context.save()
    let changes = try desk.store.fetchHistory(.fetchHistory(after: token)).flatMap {
      $0.changes ?? []
    }
    let held = try folders.filter { try !desk.context().here($0).labels("papers").isEmpty }
    #expect(held.count == 1)
    #expect(changes.map(\.changedObjectID).filter { $0 != paper.objectID } == held.map(\.objectID))
  }

  @Test(
    "The delete of a fault takes nothing from another object that has its key by now",
    arguments: layouts, [false, true])
  func replaced(_ layout: ToManyLayout, isReplacedFirst: Bool) throws {
    let desk = try Desk(layout)
    let context = desk.context()
    let folder = try context.insert("Folder", "a")
    let identity = UUID()
    let paper = try context.insert(entityNamed: "Paper", identity: identity)
    try context.save()
    let key = paper.objectID.key.key
    let other = desk.context()
    let fault = try other.here(paper)
    if !isReplacedFirst { other.delete(fault) }
    context.delete(paper)
    try context.save()
    let letter = try context.insert(entityNamed: "Letter", identity: identity)
    letter["text"] = "z"
    folder[Desk.papers].insert(letter)
    try context.save()
    #expect(letter.objectID.key.key == key)
    if isReplacedFirst { other.delete(fault) }
    try other.save()
    #expect(try desk.context().here(folder).labels("papers") == ["z"])
    #expect(try desk.store.check().findings == [])
  }
}
