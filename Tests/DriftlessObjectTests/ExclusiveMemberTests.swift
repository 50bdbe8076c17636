import DriftlessSQLite
import Foundation
import Testing

@testable import Driftless

/// Columns name one holder: what is added elsewhere moves.
@Suite("To-many relationships in columns: an object has one holder")
struct ExclusiveMemberTests {
  private let desk: Desk
  private let context: ManagedObjectContext
  private let first: ManagedObject
  private let second: ManagedObject
  private let letter: ManagedObject

  /// A folder that holds a letter, and another that holds nothing.
  init() throws {
    desk = try Desk(.columns)
    context = desk.context()
    first = try context.insert("Folder", "first")
    second = try context.insert("Binder", "second")
    letter = try context.insert("Letter", "x")
    for relationship in [Desk.papers, Desk.pile, Desk.drafts] { first[relationship].insert(letter) }
    try context.save()
  }

  private func expectMoved() throws {
    let other = desk.context()
    for name in ["papers", "pile", "drafts"] {
      #expect(try other.here(first).labels(name) == [], "\(name)")
      #expect(try other.here(second).labels(name) == ["x"], "\(name)")
    }
    #expect(try desk.store.check().findings == [])
  }

  private func move(_ context: ManagedObjectContext) throws {
    for relationship in [Desk.papers, Desk.pile, Desk.drafts] {
      try context.here(second)[relationship].insert(context.here(letter))
    }
  }

  @Test(
    "What is added to a second holder leaves the first at once, read or not",
    arguments: [false, true])
  func moves(isRead: Bool) throws {
    let other = desk.context()
    if isRead { #expect(try other.here(first).labels("papers") == ["x"]) }
    try move(other)
    #expect(try other.here(first).labels("papers") == [])
    #expect(try other.here(second).labels("pile") == ["x"])
    #expect(Set(other.updatedObjects.map(\.objectID)) == [first.objectID, second.objectID])
    try other.save()
    try expectMoved()
  }

  @Test("So does what nobody holds between two moves")
  func movesUnheld() throws {
    let third = try context.insert("Folder", "third")
    try context.save()
    let other = desk.context()
    let (there, last) = (try other.here(second), try other.here(third))
    // The last move stands, whichever holder changed first.
    last["name"] = "last"
    try there[Desk.papers].insert(other.here(letter))
    #expect(other.registeredObject(for: letter.objectID) == nil)
    try last[Desk.papers].insert(other.here(letter))
    #expect(there.labels("papers") == [] && last.labels("papers") == ["x"])
    try other.save()
    #expect(try desk.context().here(second).labels("papers") == [])
    #expect(try desk.context().here(third).labels("papers") == ["x"])
  }

  @Test("So does what got another key between two moves: a permanent one, or that of its parent")
  func movesRenamed() throws {
    let papers = try ["y", "z"].map { try context.insert("Paper", $0) }
    second[Desk.papers].insert(papers[0])
    try context.obtainPermanentIDs(for: [papers[0]])
    first[Desk.papers].insert(papers[0])
    #expect(second.labels("papers") == [] && first.labels("papers") == ["x", "y"])
    let child = ManagedObjectContext(parent: context)
    let (here, there) = (try child.here(first), try child.here(second))
    try there[Desk.papers].insert(child.here(papers[1]))
    try context.save()
    try here[Desk.papers].insert(child.here(papers[1]))
    #expect(there.labels("papers") == [] && here.labels("papers") == ["x", "y", "z"])
    try child.save()
    try context.save()
    #expect(try desk.context().here(first).labels("papers") == ["x", "y", "z"])
  }

  @Test("Who added an object is known by its key until that is saved or given up, and no longer")
  func claims() throws {
    let papers = try (0..<3).map { try context.insert("Paper", "\($0)") }
    func claimants() -> [[ManagedObject]] {
      papers.map { context.graph.ledger.claims.owners(of: $0.key) }
    }
    for paper in papers { second[Desk.papers].insert(paper) }
    #expect(claimants() == [[second], [second], [second]])
    try context.save()
    #expect(claimants() == [[], [], []])
    first[Desk.papers].insert(papers[0])
    #expect(claimants() == [[first], [], []])
    context.rollback()
    #expect(claimants() == [[], [], []] && second[Desk.papers].count == 3)
  }

  @Test("So does what came back with its holder")
  func movesRevived() throws {
    context.undoManager = UndoManager()
    let paper = try context.insert("Paper", "y")
    second[Desk.papers].insert(paper)
    try context.save()
    context.reset()
    let there = try context.here(second)
    #expect(there.labels("papers") == ["y"])
    context.delete(there)
    context.processPendingChanges()
    try context.save()
    context.undo()
    let here = try context.here(first)
    try here[Desk.papers].insert(context.here(paper))
    #expect(there.labels("papers") == [] && here.labels("papers") == ["x", "y"])
    try context.save()
    #expect(try desk.context().here(first).labels("papers") == ["x", "y"])
  }

  @Test("So does what is new, and what is assigned as a whole, before a save and after it")
  func newMembers() throws {
    let paper = try context.insert("Paper", "new")
    first[Desk.papers].insert(paper)
    second[Desk.papers] = RelatedObjects([paper, letter])
    #expect(first.labels("papers") == [] && second.labels("papers") == ["new", "x"])
    first[Desk.papers].insert(paper)
    #expect(first.labels("papers") == ["new"] && second.labels("papers") == ["x"])
    try context.save()
    let other = desk.context()
    #expect(try other.here(first).labels("papers") == ["new"])
    #expect(try other.here(second).labels("papers") == ["x"])
    #expect(try other.names("Folder", "ANY papers.text == 'new'") == ["first"])
  }

  @Test("Each relationship has a holder of its own")
  func apart() throws {
    second[Desk.papers].insert(letter)
    try context.save()
    let other = desk.context()
    #expect(
      try other.here(first).labels("pile") == ["x"] && other.here(first).labels("papers") == [])
    #expect(try other.here(second).labels("papers") == ["x"])
  }

  @Test("A move is taken back, and done again, across saves")
  func undo() throws {
    context.undoManager = UndoManager()
    try move(context)
    context.processPendingChanges()
    try context.save()
    try expectMoved()
    context.undo()
    #expect(first.labels("papers") == ["x"] && second.labels("papers") == [])
    try context.save()
    let other = desk.context()
    #expect(
      try other.here(first).labels("pile") == ["x"] && other.here(second).labels("pile") == [])
    context.redo()
    try context.save()
    try expectMoved()
    try move(context)
    context.rollback()
    try expectMoved()
  }

  @Test(
    "Another context of the process that merges shows the move; its holder is told to have changed")
  func mergingContext() throws {
    let other = desk.context()
    other.automaticallyMergesChangesFromParent = true
    let there = try other.here(first)
    #expect(there.labels("papers") == ["x"])
    try move(context)
    try context.save()
    other.processPendingChanges()
    #expect(there.labels("papers") == [] && there.labels("pile") == [])
    #expect(try other.here(second).labels("papers") == ["x"])
    other.delete(there)
    try other.save()
    try expectLetter()
  }

  private func expectLetter() throws {
    #expect(try desk.context().names("Letter", "TRUEPREDICATE") == ["x"])
    #expect(try desk.context().here(second).labels("drafts") == ["x"])
  }

  @Test(
    "The delete of a former holder leaves what moved, in a context that knows nothing of the move")
  func staleDelete() throws {
    let other = desk.context()
    let there = try other.here(first)
    #expect(there.labels("drafts") == ["x"])
    try move(context)
    try context.save()
    other.delete(there)
    try other.save()
    try expectLetter()
  }

  @Test("So does that of a child of such a context")
  func staleDeleteOfChild() throws {
    let other = desk.context()
    #expect(try other.here(first).labels("drafts") == ["x"])
    let child = ManagedObjectContext(parent: other)
    let there = try child.here(first)
    #expect(there.labels("drafts") == ["x"])
    try move(context)
    try context.save()
    child.delete(there)
    try child.save()
    try other.save()
    try expectLetter()
  }

  @Test("What moves between the delete of its holder and the save is a conflict, and stays")
  func lateMove() throws {
    let other = desk.context()
    other.delete(try other.here(first))
    try move(context)
    try context.save()
    let error = #expect(throws: SaveConflictError.self) { try other.save() }
    #expect(error?.conflicts.map(\.objectID) == [letter.objectID])
    other.mergePolicy = .mergeByPropertyStoreTrump
    try other.save()
    try expectLetter()
    #expect(try desk.context().names("Folder", "TRUEPREDICATE") == ["second"])
  }

  @Test("One that is taken over unseen is told: in the history, and to contexts")
  func takenOver() throws {
    let third = try context.insert("Folder", "third")
    try context.save()
    let other = desk.context()
    let merging = desk.context()
    merging.automaticallyMergesChangesFromParent = true
    let (here, there) = (try other.here(third), try merging.here(second))
    // Read here when the first holds it; the second has it when this is saved.
    try here[Desk.papers].insert(other.here(letter))
    second[Desk.papers].insert(letter)
    try context.save()
    let watched = try other.here(second)
    #expect(watched.labels("papers") == ["x"])
    merging.processPendingChanges()
    #expect(there.labels("papers") == ["x"])
    let token = try desk.store.currentHistoryToken()
    try other.save()
    #expect(watched.labels("papers") == [], "the context that took it shows it no more")
    merging.processPendingChanges()
    #expect(there.labels("papers") == [])
    let changes = try desk.store.fetchHistory(.fetchHistory(after: token)).flatMap {
      $0.changes ?? []
    }
    let holders = changes.filter { $0.updatedProperties == ["papers"] }.map(\.changedObjectID)
    #expect(Set(holders).isSuperset(of: [second.objectID, third.objectID]))
    #expect(holders.count == Set(holders).count, "each once")
    #expect(try desk.store.check().findings == [])
  }

  @Test("Another process hears by the history who lost and who got it")
  func otherProcess() throws {
    // Two stores of one file know of each other what two processes do.
    let same = try PersistentStore.open(url: desk.url, model: Desk.model())
    let far = ManagedObjectContext(PersistentStoreCoordinator(store: same))
    let there = try #require(
      try far.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Folder", predicate: try FetchPredicate(format: "name == 'first'"))
      ).first)
    #expect(there.labels("papers") == ["x"])
    let token = try same.currentHistoryToken()
    try move(context)
    try context.save()
    try far.mergeChanges(fromHistory: try same.fetchHistory(.fetchHistory(after: token)))
    #expect(there.labels("papers") == [] && there.labels("pile") == [])
    far.delete(there)
    try far.save()
    try expectLetter()
  }

  @Test("A child's move is one in its parent, and comes to the store")
  func childMove() throws {
    let child = ManagedObjectContext(parent: context)
    try move(child)
    #expect(try child.here(first).labels("papers") == [])
    try child.save()
    #expect(first.labels("papers") == [] && second.labels("papers") == ["x"])
    try context.save()
    try expectMoved()
  }

  @Test("A holder whose member is deleted has changed, and counts without it before the save")
  func deletedMember() throws {
    let new = try context.insert("Paper", "new")
    first[Desk.papers].insert(new)
    context.delete(new)
    context.delete(letter)
    #expect(first[Desk.papers].count == 0 && first.isUpdated)
    try context.save()
    #expect(try desk.context().names("Folder", "papers.@count == 0") == ["first", "second"])
    #expect(try desk.store.check().findings == [])
  }
}
