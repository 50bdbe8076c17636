import CoreData
import TestSupport
import Testing

/// A save without changes is told of, and writes nothing.
struct EmptySaveTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  private func told(_ body: () throws -> Void) rethrows -> [Notification] {
    nonisolated(unsafe) var told: [Notification] = []
    let names: [Notification.Name] = [
      .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave,
      .NSManagedObjectContextDidSaveObjectIDs,
    ]
    let tokens = names.map {
      NotificationCenter.default.addObserver(forName: $0, object: context, queue: nil) {
        told.append($0)
      }
    }
    defer { tokens.forEach(NotificationCenter.default.removeObserver) }
    try body()
    return told
  }

  private var transactionCount: Int {
    get throws {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(
        after: nil as NSPersistentHistoryToken?)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      return (result?.result as? [NSPersistentHistoryTransaction])?.count ?? -1
    }
  }

  @Test("Observers are told of a save of nothing, and the history has none")
  func nothing() throws {
    try context.performAndWait {
      let notes = try told { try context.save() }
      #expect(
        notes.map(\.name) == [
          .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave,
          .NSManagedObjectContextDidSaveObjectIDs,
        ])
      for key in [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey] {
        #expect(notes[1].userInfo?[key] == nil)
      }
      #expect(try transactionCount == 0)
    }
  }

  @Test("One that saves when it is told of a save is told of what it changed, and of nothing else")
  func savesAgain() throws {
    try context.performAndWait {
      nonisolated(unsafe) var told: [Int] = []
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextDidSave, object: context, queue: nil
      ) { [context] note in
        told.append((note.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0)
        if told.count == 2 { Item(context: context).name = "Chair" }
        if told.count < 10 { try? context.save() }
      }
      defer { NotificationCenter.default.removeObserver(token) }
      try context.save()
      #expect(told == [0])
      Item(context: context).name = "Lamp"
      try context.save()
      #expect(told == [0, 1, 1])
      #expect(try transactionCount == 2)
    }
  }

  @Test("What an observer inserts before it is saved")
  func inserted() throws {
    try context.performAndWait {
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextWillSave, object: context, queue: nil
      ) { [context] _ in Item(context: context).name = "Lamp" }
      defer { NotificationCenter.default.removeObserver(token) }
      let notes = try told { try context.save() }
      let inserted = notes[1].userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>
      #expect(inserted?.count == 1 && !context.hasChanges)
      #expect(try transactionCount == 1)
    }
  }

  @Test("A child of a context without changes is told the same, and the parent stays as it is")
  func child() throws {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    nonisolated(unsafe) var count = 0
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: child, queue: nil
    ) { _ in count += 1 }
    defer { NotificationCenter.default.removeObserver(token) }
    try child.performAndWait { try child.save() }
    #expect(count == 1)
    context.performAndWait { #expect(!context.hasChanges) }
  }

  @Test("One that reads one state of its stores says which")
  func generation() throws {
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      try context.setQueryGenerationFrom(.current)
      Item(context: context).name = "Chair"
      let notes = try told { try context.save() }
      let generation = notes[1].userInfo?[NSManagedObjectContextQueryGenerationKey]
      #expect(generation as? NSQueryGenerationToken == context.queryGenerationToken)
      #expect(generation != nil)
    }
  }
}
