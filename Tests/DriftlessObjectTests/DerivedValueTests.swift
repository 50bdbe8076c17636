import Foundation
import Testing

@testable import Driftless

/// Derived attributes as contexts show them.
struct DerivedValueTests {
  private func container() throws -> PersistentContainer {
    func derived(_ name: String, _ type: AttributeType, _ format: String) -> AttributeDescription {
      let attribute = DerivedAttributeDescription()
      (attribute.name, attribute.type, attribute.derivationExpressionFormat) = (name, type, format)
      return attribute
    }
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("notes", to: "Note", inverse: "folder", toMany: true),
      derived("count", .integer64, "notes.@count"),
    ]
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription("folder", to: "Folder", inverse: "notes"),
      derived("search", .string, "canonical:(text)"),
    ]
    let container = PersistentContainer(
      name: "Notes", model: ManagedObjectModel(entities: [folder, note]), storeURL: nil)
    try container.loadPersistentStores()
    return container
  }

  @Test("Derived values show right after the save: of new objects, and of those at the other end")
  func afterSave() throws {
    let context = try container().newContext()
    let folder = try context.insert(entityNamed: "Folder")
    try context.save()
    #expect(folder["count"] as? Int64 == 0)
    let note = try context.insert(entityNamed: "Note")
    note["text"] = "Crème"
    note["folder"] = folder
    #expect(folder["count"] as? Int64 == 0, "until the save, the old value")
    try context.save()
    #expect(folder["count"] as? Int64 == 1)
    #expect(note["search"] as? String == "creme")
    #expect(!context.hasChanges)
    note["text"] = "BRÛLÉE"
    try context.save()
    #expect(note["search"] as? String == "brulee")
    context.delete(note)
    try context.save()
    #expect(folder["count"] as? Int64 == 0)
  }

  @Test("A context that merges another's save sees derived values that changed with it")
  func merged() throws {
    let container = try container()
    let (context, other) = (container.newContext(), container.newContext())
    let folder = try context.insert(entityNamed: "Folder")
    try context.save()
    let same = try other.existingObject(with: folder.objectID)
    #expect(same["count"] as? Int64 == 0)
    other.automaticallyMergesChangesFromParent = true
    let note = try context.insert(entityNamed: "Note")
    note["folder"] = folder
    try context.save()
    other.processPendingChanges()
    #expect(same["count"] as? Int64 == 1)
    // Both may be saved on: the version of a row that only a trigger wrote is the same.
    same["name"] = "later"
    try other.save()
  }

  @Test("A batch update of a derived attribute is refused, and changes nothing")
  func batchUpdate() throws {
    let context = try container().newContext()
    let note = try context.insert(entityNamed: "Note")
    note["text"] = "Crème"
    try context.save()
    var request = BatchUpdateRequest(entityName: "Note")
    request.propertiesToUpdate = ["search": "wrong", "text": "new"]
    #expect {
      try context.execute(request)
    } throws: {
      let error = $0 as? FetchError
      return error?.code == .invalidRequest && error?.message.contains("Note.search") == true
    }
    try context.refreshAllObjects()
    #expect(note["text"] as? String == "Crème" && note["search"] as? String == "creme")
    request.propertiesToUpdate = ["text": "Brûlée"]
    try context.execute(request)
    try context.refreshAllObjects()
    #expect(note["search"] as? String == "brulee")
    var insert = BatchInsertRequest(
      entityName: "Note", objects: [["text": "Été", "search": "wrong"]])
    insert.resultType = .count
    try context.execute(insert)
    let found = try context.fetch(
      FetchRequest<ManagedObject>(
        entityName: "Note", predicate: try FetchPredicate(format: "text == %@", "Été")))
    #expect(found.first?["search"] as? String == "ete", "the store derives it itself")
  }

  @Test("A merge of what a batch did shows derived values")
  func mergedBatch() throws {
    let container = try container()
    let (context, other) = (container.newContext(), container.newContext())
    let folder = try context.insert(entityNamed: "Folder")
    let note = try context.insert(entityNamed: "Note")
    note["folder"] = folder
    try context.save()
    #expect(folder["count"] as? Int64 == 1)
    context.automaticallyMergesChangesFromParent = true
    try other.execute(BatchDeleteRequest(objectIDs: [note.objectID]))
    context.processPendingChanges()
    #expect(folder["count"] as? Int64 == 0)
  }

  @Test("A merge of the history shows derived values, and hides no conflict")
  func mergedHistory() throws {
    let container = try container()
    let (context, other) = (container.newContext(), container.newContext())
    let folder = try context.insert(entityNamed: "Folder")
    folder["name"] = "a"
    try context.save()
    folder["name"] = "mine"
    let same = try other.existingObject(with: folder.objectID)
    same["name"] = "theirs"
    try other.save()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let count = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).count
    try other.insert(entityNamed: "Note")["folder"] = same
    try other.save()
    let all = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    try context.mergeChanges(fromHistory: Array(all.dropFirst(count)))
    #expect(folder["count"] as? Int64 == 1 && folder["name"] as? String == "mine")
    #expect(throws: SaveConflictError.self) { try context.save() }
  }
}
