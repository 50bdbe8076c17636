import CoreData
import TestSupport
import Testing

/// Members of contexts and undo managers that applications override, watch and ask for.
struct OpenContextTests {
  private final class Watched: NSManagedObjectContext, @unchecked Sendable {  // used on its queue
    var calls: [String] = []

    override func delete(_ object: NSManagedObject) {
      calls.append("delete")
      super.delete(object)
    }
    override func insert(_ object: NSManagedObject) {
      calls.append("insert")
      super.insert(object)
    }
    override func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
      calls.append("fetch")
      return try super.fetch(request)
    }
    override func execute(
      _ request: NSPersistentStoreRequest
    ) throws -> NSPersistentStoreResult {
      calls.append("execute")
      return try super.execute(request)
    }
    override func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
      calls.append("refresh")
      super.refresh(object, mergeChanges: flag)
    }
    override func object(with objectID: NSManagedObjectID) -> NSManagedObject {
      calls.append("object")
      return super.object(with: objectID)
    }
    override func perform(_ block: @escaping @Sendable () -> Void) {
      calls.append("perform")
      super.perform(block)
    }
  }

  /// A class with an initialiser of its own, and one with none.
  private class Named: NSManagedObjectContext, @unchecked Sendable {  // used on its queue
    let label: String

    init(_ label: String) {
      self.label = label
      super.init(concurrencyType: .privateQueueConcurrencyType)
    }

    override init(concurrencyType type: NSManagedObjectContextConcurrencyType) {
      label = "none"
      super.init(concurrencyType: type)
    }
  }

  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("A context's own class has the initialisers of contexts, and its own")
  func initialisers() throws {
    #expect(Named("own").label == "own" && Named(.mainQueue).label == "none")
    #expect(Named().concurrencyType == .confinementConcurrencyType)
    let context = Watched(.privateQueue)
    #expect(context.concurrencyType == .privateQueueConcurrencyType)
    let container = try Shop.container(folder)
    let named = Named("own")
    named.persistentStoreCoordinator = container.persistentStoreCoordinator
    try named.performAndWait {
      let item = Item(context: named)
      item.name = "Lamp"
      try named.save()
      #expect(item.managedObjectContext === named)
    }
  }

  @Test("A context's own class overrides what reads and changes objects")
  func overrides() throws {
    let container = try Shop.container(folder)
    let context = Watched(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      _ = context.object(with: item.objectID)
      context.refresh(item, mergeChanges: true)
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
      #expect(try context.fetch(request).count == 1)
      _ = try context.execute(NSBatchDeleteRequest(fetchRequest: request))
      context.delete(item)
      context.perform {}
      #expect(context.calls == ["object", "refresh", "fetch", "execute", "delete", "perform"])
    }
  }

  @Test("What an event fetched is registered until it ends, though nobody holds it")
  func fetched() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      context.reset()
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      _ = try context.fetch(request)
      #expect(context.registeredObjects.count == 1)
      context.processPendingChanges()
      #expect(context.registeredObjects.isEmpty)
    }
  }

  @Test("An undo manager posts what it does, and has titles for a menu")
  func undoManager() throws {
    let undo = UndoManager()
    nonisolated(unsafe) var told: [Notification.Name] = []
    let names: [Notification.Name] = [
      .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup,
      .NSUndoManagerDidCloseUndoGroup, .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange,
      .NSUndoManagerWillRedoChange, .NSUndoManagerDidRedoChange,
    ]
    let observers = names.map { name in
      NotificationCenter.default.addObserver(forName: name, object: undo, queue: nil) {
        told.append($0.name)
      }
    }
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    final class Counter { var value = 0 }
    let counter = Counter()
    func set(_ counter: Counter, _ value: Int) {
      let old = counter.value
      undo.registerUndo(withTarget: counter) { set($0, old) }
      counter.value = value
    }
    undo.beginUndoGrouping()
    set(counter, 1)
    undo.setActionName("Count")
    undo.endUndoGrouping()
    undo.endEvent()
    #expect(undo.undoMenuItemTitle == "Undo Count" && undo.redoMenuItemTitle == "Redo")
    told = []
    undo.undo()
    #expect(counter.value == 0 && undo.redoMenuItemTitle == "Redo Count")
    #expect(told.first == .NSUndoManagerWillUndoChange && told.last == .NSUndoManagerDidUndoChange)
    undo.redo()
    #expect(counter.value == 1 && told.last == .NSUndoManagerDidRedoChange)
    undo.removeAllActions(withTarget: counter)
    #expect(!undo.canUndo && !undo.canRedo)
  }

  @Test("A nested group is taken back by itself, and what is outside of it stays to be taken back")
  func nested() {
    let undo = UndoManager()
    undo.groupsByEvent = false
    final class Log { var entries: [String] = [] }
    let log = Log()
    undo.beginUndoGrouping()
    undo.registerUndo(withTarget: log) { $0.entries.append("outer") }
    undo.beginUndoGrouping()
    undo.registerUndo(withTarget: log) { $0.entries.append("inner") }
    undo.endUndoGrouping()
    undo.undoNestedGroup()
    #expect(log.entries == ["inner"] && undo.groupingLevel == 1)
    undo.undoNestedGroup()
    #expect(log.entries == ["inner"], "what follows is no group")
    undo.endUndoGrouping()
    undo.undo()
    #expect(log.entries == ["inner", "outer"])
  }

  @Test("Who hears that a group was opened may end the event")
  func endedByObserver() {
    let undo = UndoManager()
    final class Log { var entries: [String] = [] }
    let log = Log()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSUndoManagerDidOpenUndoGroup, object: undo, queue: nil
    ) { ($0.object as? UndoManager)?.endEvent() }
    defer { NotificationCenter.default.removeObserver(observer) }
    undo.registerUndo(withTarget: log) { $0.entries.append("back") }
    #expect(undo.groupingLevel == 0 && undo.canUndo)
    undo.undo()
    #expect(log.entries == ["back"])
  }

  @Test("A handler that ends an event, of a nested group, leaves the event open that it stands in")
  func eventOfNested() {
    let undo = UndoManager()
    final class Log { var entries: [String] = [] }
    let log = Log()
    undo.beginUndoGrouping()
    undo.registerUndo(withTarget: log) { _ in undo.endEvent() }
    undo.endUndoGrouping()
    undo.undoNestedGroup()
    undo.registerUndo(withTarget: log) { $0.entries.append("first") }
    undo.endEvent()
    undo.registerUndo(withTarget: log) { $0.entries.append("second") }
    undo.endEvent()
    undo.undo()
    #expect(log.entries == ["second"])
  }
}
