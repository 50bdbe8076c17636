import CoreData
import Dispatch
import TestSupport
import Testing

/// What other contexts read while one saves to an incremental store, whose server takes its time.
struct ReadingBesideSaveTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let store: ServerStore
  private let context: NSManagedObjectContext
  private let other: NSManagedObjectContext
  /// The server has the save, and waits for somebody who reads.
  private let isTold = DispatchSemaphore(value: 0)
  private let isAsked = DispatchSemaphore(value: 0)
  private let isSaved = DispatchSemaphore(value: 0)
  /// What fails waits no longer.
  private static let patience = DispatchTimeInterval.seconds(20)

  init() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    store = try ServerStore.add(
      to: coordinator,
      [
        "Item": [
          "lamp": ["name": "Lamp", "price": 5, "order": "first"],
          "chair": ["name": "Chair", "price": 3, "order": "first"],
        ],
        "Order": ["first": ["number": 1], "second": ["number": 2]],
      ])
    context = Albums.context(coordinator)
    other = Albums.context(coordinator)
  }

  /// Runs `body` in the other context while a save waits for `question` to be asked.
  private func beside(
    _ question: String, _ change: @escaping @Sendable (NSManagedObjectContext) -> Void,
    _ body: (NSManagedObjectContext) throws -> Void
  ) throws {
    let (isTold, isAsked, isSaved) = (isTold, isAsked, isSaved)
    store.saving = { _, _ in
      isTold.signal()
      #expect(isAsked.wait(timeout: .now() + Self.patience) == .success)
    }
    context.performAndWait { change(context) }
    store.reading = { if $0 == question { isAsked.signal() } }
    let saving = context
    context.perform {
      do { try saving.save() } catch { Issue.record(error) }
      isSaved.signal()
    }
    #expect(isTold.wait(timeout: .now() + Self.patience) == .success)
    try other.performAndWait { try body(other) }
    #expect(isSaved.wait(timeout: .now() + Self.patience) == .success)
    store.saving = nil
  }

  @Test("A fault is filled by the server, and no deleted object")
  func fault() throws {
    let (lamp, chair) = (store.id("Item", "lamp"), store.id("Item", "chair"))
    try beside("chair") {
      ($0.object(with: lamp) as? Item)?.price = 6
    } _: { other in
      let object = try #require(other.object(with: chair) as? Item)
      #expect(object.name == "Chair" && !object.isDeleted && !other.hasChanges)
    }
  }

  @Test("A relationship to many is, too")
  func toMany() throws {
    let (first, lamp) = (store.id("Order", "first"), store.id("Item", "lamp"))
    try beside("first.items") {
      ($0.object(with: lamp) as? Item)?.price = 6
    } _: { other in
      let order = try #require(other.object(with: first) as? Order)
      #expect(Set(order.items.map(\.name)) == ["Lamp", "Chair"])
    }
  }

  @Test("What the server had before it took the save is not written over what was saved")
  func sameRow() throws {
    let lamp = store.id("Item", "lamp")
    try beside("lamp") {
      ($0.object(with: lamp) as? Item)?.price = 6
    } _: { other in
      #expect((other.object(with: lamp) as? Item)?.price == 6)
    }
    try context.performAndWait {
      let object = try #require(context.object(with: lamp) as? Item)
      object.price = 7
      // Its row has the version that the save gave it.
      try context.save()
    }
    #expect(store.rows["Item"]?["lamp"]?["price"] as? Int == 7)
  }

  @Test("A member that a save moves is not moved back")
  func movedMember() throws {
    let (first, second) = (store.id("Order", "first"), store.id("Order", "second"))
    let lamp = store.id("Item", "lamp")
    try beside("first.items") { context in
      (context.object(with: lamp) as? Item)?.order = context.object(with: second) as? Order
    } _: { other in
      let order = try #require(other.object(with: first) as? Order)
      #expect(order.items.map(\.name) == ["Chair"])
    }
    try context.performAndWait {
      let object = try #require(context.object(with: lamp) as? Item)
      object.price = 7
      try context.save()
      #expect(object.order?.objectID == second)
    }
  }
}
