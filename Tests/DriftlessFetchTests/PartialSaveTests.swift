import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A save of two stores of which one cannot commit.
struct PartialSaveTests {
  @Test("What one store has committed is saved, and the rest stays to be saved")
  func partial() throws {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("name", .string)]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [item]))
    let directory = try TemporaryDirectory()
    let file = try coordinator.addPersistentStore(at: directory.file("file.sqlite"))
    let memory = try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    let items = try [file, memory].map { store in
      let item = try context.insert(entityNamed: "Item", identity: UUID())
      try context.assign(item, to: store)
      try item.setValue(store === file ? "file" : "memory", forKey: "name")
      return item
    }
    // A reference that is only looked at when the transaction commits, and is wrong then.
    try file.connections.withWriter { connection in
      try connection.execute(
        """
        PRAGMA foreign_keys = ON;
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER orphan AFTER INSERT ON ZITEM BEGIN INSERT INTO child VALUES (1); END
        """)
    }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(items.map(\.isInserted) == [true, false])
    #expect(!items[1].hasChanges && !items[1].objectID.isTemporaryID)
    #expect(context.insertedObjects == [items[0]])
    try file.connections.withWriter { try $0.execute("DROP TRIGGER orphan") }
    try context.save()
    #expect(!context.hasChanges)
    let fresh = ManagedObjectContext(coordinator)
    let request = FetchRequest<ManagedObject>(entityName: "Item", sort: [FetchSort("name")])
    #expect(try fresh.fetch(request).map(\.objectID) == items.map(\.objectID))
  }
}
