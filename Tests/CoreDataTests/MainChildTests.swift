import CoreData
import Dispatch
import TestSupport
import Testing

/// Children of other contexts: what is called in the parent, and what a child of the main queue has of its parent's saves.
struct MainChildTests {
  private static func model() -> NSManagedObjectModel {
    let note = NSEntityDescription()
    note.name = "ChildNote"
    note.managedObjectClassName = NSStringFromClass(ChildNote.self)
    note.properties = [
      Shop.attribute("calls", .stringAttributeType), Shop.attribute("text", .stringAttributeType),
    ]
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
  }

  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer

  init() throws {
    folder = try TemporaryDirectory()
    container = NSPersistentContainer(name: "Notes", managedObjectModel: Self.model())
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("notes.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
  }

  @Test(
    "awakeFromInsert() is called once in an object's life: not in the parent when a child saves")
  func awakening() throws {
    let parent = container.newBackgroundContext()
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    let id = try child.performAndWait {
      let note = ChildNote(context: child)
      #expect(note.calls == ["insert"])
      try child.obtainPermanentIDs(for: [note])
      try child.save()
      return note.objectID
    }
    try parent.performAndWait {
      let note = try #require(parent.object(with: id) as? ChildNote)
      #expect(note.isInserted && note.calls == ["insert"])
      try parent.save()
      #expect(note.calls == ["insert"])
    }
  }

  /// Lets the main queue do what it was given before.
  @MainActor private func turn() async {
    await withCheckedContinuation { waiting in DispatchQueue.main.async { waiting.resume() } }
  }

  /// Waits until the main queue was given what the parent's queue gave it, however often.
  @MainActor private func settle(_ parent: NSManagedObjectContext) async {
    for _ in 0..<5 {
      await turn()
      await parent.perform {}
    }
    await turn()
  }

  @MainActor private func child(
    of parent: NSManagedObjectContext
  ) throws -> (NSManagedObjectContext, ChildNote) {
    let id = try parent.performAndWait {
      let note = ChildNote(context: parent)
      note.setValue("first", forKey: "text")
      try parent.save()
      return note.objectID
    }
    let child = NSManagedObjectContext(.mainQueue)
    child.parent = parent
    child.automaticallyMergesChangesFromParent = true
    let note = try #require(child.object(with: id) as? ChildNote)
    #expect(note.value(forKey: "text") as? String == "first")
    return (child, note)
  }

  @Test(
    "A child of the main queue that merges by itself has what its parent saved, without being asked"
  )
  @MainActor func parentSaves() async throws {
    let parent = container.newBackgroundContext()
    let (child, note) = try child(of: parent)
    let id = note.objectID
    try await parent.perform {
      parent.object(with: id).setValue("second", forKey: "text")
      try parent.save()
    }
    await settle(parent)
    #expect(note.value(forKey: "text") as? String == "second")
    withExtendedLifetime(child) {}
  }

  @Test("It has what its parent merged of another context's save")
  @MainActor func parentMerges() async throws {
    let parent = container.newBackgroundContext()
    let (child, note) = try child(of: parent)
    let other = container.newBackgroundContext()
    let id = note.objectID
    nonisolated(unsafe) var saved: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: other, queue: nil
    ) { saved = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try await other.perform {
      other.object(with: id).setValue("elsewhere", forKey: "text")
      try other.save()
    }
    await settle(parent)
    let notification = try #require(saved)
    parent.mergeChanges(fromContextDidSave: notification)
    await settle(parent)
    #expect(note.value(forKey: "text") as? String == "elsewhere")
    withExtendedLifetime(child) {}
  }

  @Test(
    "A parent whose work waits for its child of the main queue and that child do not wait for each other"
  )
  @MainActor func noDeadlock() async throws {
    let parent = container.newBackgroundContext()
    let (child, note) = try child(of: parent)
    let id = note.objectID
    for round in 0..<3 {
      let seen = try await parent.perform {
        parent.object(with: id).setValue("\(round)", forKey: "text")
        try parent.save()
        return child.performAndWait { child.object(with: id).value(forKey: "text") as? String }
      }
      #expect(seen == "\(round)")
    }
    await settle(parent)
    #expect(note.value(forKey: "text") as? String == "2")
  }

  @Test(
    "An observer of a child of the main queue may wait for who waits for the parent",
    .timeLimit(.minutes(1)))
  @MainActor func observerWaits() async throws {
    let parent = container.newBackgroundContext()
    let (child, note) = try child(of: parent)
    let sibling = container.newBackgroundContext()
    nonisolated(unsafe) var told: [String?] = []
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: child, queue: nil
    ) { _ in
      // The sibling's thread waits for the parent's queue, and this one for the sibling.
      sibling.perform { parent.performAndWait {} }
      sibling.performAndWait {}
      told.append("told")
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let id = note.objectID
    try await parent.perform {
      parent.object(with: id).setValue("second", forKey: "text")
      try parent.save()
    }
    await settle(parent)
    #expect(note.value(forKey: "text") as? String == "second" && told == ["told"])
    withExtendedLifetime(child) {}
  }
}

final class ChildNote: NSManagedObject {
  var calls: [String] {
    get { (value(forKey: "calls") as? String ?? "").split(separator: " ").map(String.init) }
    set { setPrimitiveValue(newValue.joined(separator: " "), forKey: "calls") }
  }
  override func awakeFromInsert() {
    super.awakeFromInsert()
    calls += ["insert"]
  }
}
