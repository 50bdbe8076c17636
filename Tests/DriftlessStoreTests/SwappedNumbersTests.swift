import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files of one identifier that number their entities otherwise.
struct SwappedNumbersTests {
  private let directory: TemporaryDirectory
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext

  init() throws {
    directory = try TemporaryDirectory()
    let thing = EntityDescription("Thing")
    thing.properties = [AttributeDescription("name", .string)]
    let small = EntityDescription("Small")
    small.superentityName = "Thing"
    let large = EntityDescription("Large")
    large.superentityName = "Thing"
    large.properties = (0..<30).map { AttributeDescription("a\($0)", .string) }
    coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [thing, small, large]))
    context = ManagedObjectContext(coordinator)
  }

  @Test("A file in which two entities changed their numbers is refused, and the store goes on")
  func swapped() throws {
    let url = directory.file("things.sqlite")
    let store = try coordinator.addPersistentStore(at: url)
    for number in 0..<6 {
      let object = try context.insert(entityNamed: number % 2 == 0 ? "Small" : "Large")
      object["name"] = "thing \(number)"
      if number % 2 == 1 { object["a29"] = String(repeating: "long ", count: 20) }
    }
    try context.save()
    let objects = try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Thing", sort: [FetchSort("name")]))
    let copy = directory.file("copy.sqlite")
    try store.backup(to: copy)
    let file = try SQLiteConnection(path: copy.path, mode: .readWrite)
    try file.execute(
      """
      UPDATE Z_PRIMARYKEY SET Z_NAME = CASE Z_NAME WHEN 'Small' THEN 'Large' ELSE 'Small' END
      WHERE Z_NAME IN ('Small', 'Large')
      """)
    file.close()
    let error = #expect(throws: StoreError.self) { try coordinator.setURL(copy, for: store) }
    #expect(error?.code == .invalidArgument)
    try context.refreshAllObjects()
    #expect(objects.map { $0["name"] as? String } == (0..<6).map { "thing \($0)" })
    #expect(coordinator.persistentStores.first?.url == url)
    objects[0]["name"] = "changed"
    try context.save()
    #expect(try coordinator.persistentStores[0].check().findings == [])
  }
}
