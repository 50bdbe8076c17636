import Foundation
import Testing

@testable import Driftless

/// What holds of a to-many relationship without inverse, however the store keeps it.
@Suite("To-many relationships without inverse, as pairs and in columns")
struct ToManyWithoutInverseTests {
  private static let layouts = ToManyLayout.allCases

  /// A folder that holds two papers and a letter in each of its ways, saved.
  private func filled(
    _ desk: Desk, _ entity: String = "Folder"
  ) throws -> (ManagedObjectContext, folder: ManagedObject, papers: [ManagedObject]) {
    let context = desk.context()
    let folder = try context.insert(entity, "a")
    let papers = try ["x", "y"].map { try context.insert("Paper", $0) }
    let letter = try context.insert("Letter", "z")
    folder[Desk.papers].insert(papers[0])
    folder[Desk.papers].insert(papers[1])
    folder[Desk.papers].insert(letter)
    folder[Desk.pile].insert(letter)
    folder[Desk.pile].insert(papers[1])
    folder[Desk.pile].insert(papers[0])
    folder[Desk.drafts].insert(letter)
    try context.save()
    return (context, folder, papers + [letter])
  }

  private func expectSound(_ desk: Desk) throws {
    #expect(try desk.store.check().findings == [])
  }

  @Test("A holder of a subentity holds objects of subentities, and itself", arguments: layouts)
  func hierarchies(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, binder, _) = try filled(desk, "Binder")
    let folder = try context.insert("Folder", "b")
    binder[Desk.parts].insert(folder)
    binder[Desk.parts].insert(binder)
    try context.save()
    let other = desk.context()
    let there = try other.here(binder)
    #expect(there.labels("papers") == ["x", "y", "z"])
    #expect(there.labels("parts") == ["a", "b"])
    #expect(there[Desk.papers].contains(try #require(there[Desk.drafts].array.first)))
    #expect(there["paperCount"] as? Int64 == 3 || there["paperCount"] as? Int == 3)
    try expectSound(desk)
    context.delete(binder)
    try context.save()
    #expect(try context.names("Paper", "TRUEPREDICATE") == ["x", "y"], "drafts go along")
    #expect(try context.names("Folder", "TRUEPREDICATE") == ["b"])
    try expectSound(desk)
  }

  @Test("An order is kept, changed in its middle, and by those who come and go", arguments: layouts)
  func order(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    #expect(folder.labels("pile") == ["z", "y", "x"])
    folder[Desk.pile].insert(papers[0], at: 0)
    folder[Desk.pile].insert(try context.insert("Paper", "w"), at: 1)
    folder[Desk.pile].remove(papers[1])
    try context.save()
    #expect(try desk.context().here(folder).labels("pile") == ["x", "w", "z"])
    folder[Desk.pile] = RelatedObjects([papers[2], papers[1], papers[0]])
    try context.save()
    #expect(try desk.context().here(folder).labels("pile") == ["z", "y", "x"])
    #expect(
      try context.names("Folder", "pile[FIRST].text == 'z' AND pile[LAST].text == 'x'") == ["a"])
    try expectSound(desk)
  }

  @Test("Predicates ask of them what they ask of others", arguments: layouts)
  func predicates(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, _, papers) = try filled(desk)
    _ = try context.insert("Binder", "b")
    papers[1]["pages"] = 12
    try context.save()
    for (format, found) in [
      ("papers.@count == 3", ["a"]), ("papers.@count == 0", ["b"]),
      ("ANY papers.text == 'x'", ["a"]), ("ANY papers.text == 'q'", []),
      ("ALL papers.text != 'q'", ["a", "b"]), ("NONE papers.text == 'x'", ["b"]),
      ("SUBQUERY(papers, $p, $p.pages > 10 AND $p.text == 'y').@count == 1", ["a"]),
      ("papers.@max.pages == 12", ["a"]), ("papers.@sum.pages == 12", ["a"]),
      ("pile.@count == 3 AND drafts.@count == 1", ["a"]),
    ] {
      #expect(try context.names("Folder", format) == found, "\(format)")
    }
    #expect(try context.names("Folder", "%@ IN papers", papers[0]) == ["a"])
    #expect(try context.names("Folder", "papers CONTAINS %@", papers[2]) == ["a"])
    #expect(try context.names("Folder", "ANY papers IN %@", [papers[0], papers[1]]) == ["a"])
    var rows = FetchRequest<FetchedRow>(entityName: "Folder", sort: [FetchSort("name")])
    rows.propertiesToFetch = [
      "name", .expression("count", try FetchExpression(format: "papers.@count")),
    ]
    let counts = try context.fetch(rows).map { $0["count", as: Int.self] }
    #expect(counts == [3, 0])
  }

  @Test("They are read along with a fetch, in one query for all", arguments: layouts)
  func prefetching(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (_, folder, _) = try filled(desk)
    let context = desk.context()
    var request = FetchRequest<ManagedObject>(entityName: "Folder")
    request.relationshipKeyPathsForPrefetching = ["papers", "pile"]
    let found = try #require(try context.fetch(request).first)
    #expect(!found.hasFault(forRelationshipNamed: "papers"))
    #expect(found[Desk.pile].array.allSatisfy { !$0.isFault })
    #expect(found.labels("pile") == ["z", "y", "x"] && found.objectID == folder.objectID)
  }

  @Test("Batches change members and delete holders", arguments: layouts)
  func batches(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (_, folder, _) = try filled(desk)
    let context = desk.context()
    try context.execute(
      BatchInsertRequest(entityName: "Paper", objects: [["text": "v"], ["text": "w"]]))
    var update = BatchUpdateRequest(entityName: "Paper")
    update.predicate = try FetchPredicate(format: "text == 'x'")
    update.propertiesToUpdate = ["text": "u"]
    try context.execute(update)
    #expect(try desk.context().here(folder).labels("papers") == ["u", "y", "z"])
    try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<ManagedObject>(
          entityName: "Paper", predicate: try FetchPredicate(format: "text == 'u'"))))
    let other = desk.context()
    let there = try other.here(folder)
    #expect(there.labels("papers") == ["y", "z"] && there.labels("pile") == ["z", "y"])
    #expect(try other.names("Folder", "papers.@count == 2") == ["a"])
    try expectSound(desk)
    try context.execute(
      BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Folder")))
    #expect(try desk.context().names("Paper", "TRUEPREDICATE") == ["v", "w", "y"])
    try expectSound(desk)
  }

  @Test("The history tells which relationship of which holder changed", arguments: layouts)
  func history(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    let token = try desk.store.currentHistoryToken()
    folder[Desk.papers].remove(papers[0])
    try context.save()
    folder[Desk.pile].insert(papers[0], at: 0)
    folder["name"] = "b"
    try context.save()
    let changes = try desk.store.fetchHistory(.fetchHistory(after: token)).flatMap {
      $0.changes ?? []
    }
    #expect(changes.map(\.changedObjectID) == [folder.objectID, folder.objectID])
    #expect(changes.map(\.updatedProperties) == [["papers"], ["pile", "name"]])
  }

  @Test(
    "A context takes over what another adds and takes out, under its own changes",
    arguments: layouts)
  func merges(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    let other = desk.context()
    other.automaticallyMergesChangesFromParent = true
    let there = try other.here(folder)
    #expect(there.labels("papers") == ["x", "y", "z"])
    there[Desk.papers].insert(try other.insert("Paper", "w"))
    folder[Desk.papers].remove(papers[0])
    try context.save()
    other.processPendingChanges()
    #expect(there.labels("papers") == ["w", "y", "z"])
    try other.save()
    #expect(try desk.context().here(folder).labels("papers") == ["w", "y", "z"])
  }

  @Test("Changes are taken back and done again, across saves", arguments: layouts)
  func undo(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    context.undoManager = UndoManager()
    folder[Desk.papers].remove(papers[0])
    folder[Desk.pile].insert(papers[0], at: 0)
    context.processPendingChanges()
    try context.save()
    context.undo()
    #expect(
      folder.labels("papers") == ["x", "y", "z"] && folder.labels("pile") == ["z", "y", "x"])
    try context.save()
    #expect(try desk.context().here(folder).labels("papers") == ["x", "y", "z"])
    context.redo()
    try context.save()
    let there = try desk.context().here(folder)
    #expect(there.labels("papers") == ["y", "z"] && there.labels("pile") == ["x", "z", "y"])
    try expectSound(desk)
  }

  @Test(
    "A member that is deleted, and comes back by an undo, is held as it was",
    arguments: layouts, [false, true])
  func revivedMember(_ layout: ToManyLayout, saves: Bool) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    context.undoManager = UndoManager()
    context.delete(papers[0])
    context.processPendingChanges()
    if saves { try context.save() }
    context.undo()
    #expect(folder.labels("papers") == ["x", "y", "z"])
    try context.save()
    let there = try desk.context().here(folder)
    #expect(there.labels("papers") == ["x", "y", "z"] && there.labels("pile") == ["z", "y", "x"])
    try expectSound(desk)
  }

  @Test(
    "A holder that is deleted, and comes back by an undo, holds what it held, drafts too",
    arguments: layouts, [false, true])
  func revivedHolder(_ layout: ToManyLayout, saves: Bool) throws {
    let desk = try Desk(layout)
    let (context, folder, _) = try filled(desk)
    context.undoManager = UndoManager()
    context.delete(folder)
    context.processPendingChanges()
    if saves { try context.save() }
    context.undo()
    try context.save()
    let there = try desk.context().here(folder)
    #expect(there.labels("papers") == ["x", "y", "z"] && there.labels("pile") == ["z", "y", "x"])
    #expect(there.labels("drafts") == ["z"])
    try expectSound(desk)
  }

  @Test(
    "A member that another deleted, and a merge brings back, is held as it was", arguments: layouts)
  func mergedMember(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    context.mergePolicy = .mergeByPropertyObjectTrump
    #expect(folder.labels("papers") == ["x", "y", "z"] && folder.labels("pile").count == 3)
    let other = desk.context()
    other.delete(try other.here(papers[0]))
    try other.save()
    papers[0]["text"] = "back"
    try context.save()
    let there = try desk.context().here(folder)
    #expect(there.labels("papers") == ["back", "y", "z"])
    #expect(Set(there.labels("pile")) == ["back", "y", "z"])
    try expectSound(desk)
  }

  @Test(
    "A holder that another deleted, and a merge brings back, holds what it held", arguments: layouts
  )
  func mergedHolder(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, _) = try filled(desk)
    context.mergePolicy = .mergeByPropertyObjectTrump
    #expect(folder.labels("papers") == ["x", "y", "z"] && folder.labels("pile").count == 3)
    let other = desk.context()
    other.delete(try other.here(folder))
    try other.save()
    folder["name"] = "back"
    try context.save()
    let there = try desk.context().here(folder)
    #expect(there.labels("papers") == ["x", "y"] && there.labels("pile") == ["y", "x"])
    try expectSound(desk)
  }

  @Test("A child's changes come to the store through its parent", arguments: layouts)
  func child(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    let child = ManagedObjectContext(parent: context)
    let there = try child.here(folder)
    there[Desk.papers].remove(try child.here(papers[0]))
    there[Desk.papers].insert(try child.insert("Paper", "w"))
    there[Desk.pile].insert(try child.here(papers[0]), at: 0)
    try child.save()
    #expect(
      folder.labels("papers") == ["w", "y", "z"] && folder.labels("pile") == ["x", "z", "y"])
    try context.save()
    #expect(try desk.context().here(folder).labels("pile") == ["x", "z", "y"])
    try expectSound(desk)
  }

  @Test("A pinned context sees what was there", arguments: layouts)
  func generations(_ layout: ToManyLayout) throws {
    let desk = try Desk(layout)
    let (context, folder, papers) = try filled(desk)
    let pinned = desk.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.names("Folder", "papers.@count == 3") == ["a"])
    folder[Desk.papers].remove(papers[0])
    try context.save()
    #expect(try pinned.here(folder).labels("papers") == ["x", "y", "z"])
    #expect(try pinned.names("Folder", "papers.@count == 3") == ["a"])
    #expect(try context.names("Folder", "papers.@count == 3") == [])
  }
}
