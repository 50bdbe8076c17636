import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Lists whose reminders go with them, boxes that locks hold shut, orders that lines require.
func taskModel() -> ManagedObjectModel {
  let list = EntityDescription("List")
  list.deletePolicy = .editWins
  list.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription(
      "reminders", to: "Reminder", inverse: "list", toMany: true, deleteRule: .cascade),
  ]
  let reminder = EntityDescription("Reminder")
  reminder.properties = [
    AttributeDescription("title", .string), AttributeDescription("done", .boolean),
    RelationshipDescription("list", to: "List", inverse: "reminders"),
    RelationshipDescription("place", to: "Place", inverse: "reminders"),
    RelationshipDescription("tags", to: "Tag", inverse: "reminders", toMany: true),
  ]
  let place = EntityDescription("Place")
  place.deletePolicy = .editWins
  place.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("reminders", to: "Reminder", inverse: "place", toMany: true),
  ]
  let tag = EntityDescription("Tag")
  tag.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("reminders", to: "Reminder", inverse: "tags", toMany: true),
  ]
  let box = EntityDescription("Box")
  box.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("locks", to: "Lock", inverse: "box", toMany: true, deleteRule: .deny),
  ]
  let lock = EntityDescription("Lock")
  lock.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("box", to: "Box", inverse: "locks"),
  ]
  let order = EntityDescription("Order")
  order.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("lines", to: "Line", inverse: "order", toMany: true),
  ]
  let line = EntityDescription("Line")
  line.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("order", to: "Order", inverse: "lines", isOptional: false),
  ]
  let folder = EntityDescription("Folder")
  let parent = RelationshipDescription("parent", to: "Folder", inverse: "children")
  parent.userInfo = [RelationshipDescription.treeKey: "1"]
  folder.properties = [
    AttributeDescription("name", .string), parent,
    RelationshipDescription("children", to: "Folder", inverse: "parent", toMany: true),
  ]
  return ManagedObjectModel(entities: [list, reminder, place, tag, box, lock, order, line, folder])
}

/// Conflicts are settled when a pull has reached its head; deletes keep the model's rules.
struct SettlingTests {
  private func world(_ count: Int, pageBytes: Int? = nil) async throws -> World {
    var world = try await World(0)
    var options = SyncOptions()
    if let pageBytes { options.pullBytesMax = pageBytes }
    for index in 0..<count {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: taskModel(), options: options))
    }
    return world
  }

  private func reference(_ id: UUID, on replica: TestReplica) throws -> PropertyValue {
    .reference(try #require(try replica.store.read { try $0.key(of: id) }))
  }

  @Test("S3 A later edit stands when its value was once the zone's", arguments: [1, 1 << 20])
  func laterEditOfOneValue(pageBytes: Int) async throws {
    let world = try await world(3, pageBytes: pageBytes)
    let id = try world[0].insert("Reminder", ["done": .bool(false)])
    try await world.settle()
    try world[0].set(id, ["done": .bool(true)])
    try await world[0].sync()
    try world[0].set(id, ["done": .bool(false)])
    try await world[0].sync()
    try world[1].set(id, ["done": .bool(true)])
    try await world[1].sync()
    try await world.settle()
    #expect(try world[2].value(id, "done") == .bool(true))
  }

  @Test("S3 A later added element stands when the zone had it for a while")
  func laterElement() async throws {
    let world = try await world(3)
    let id = try world[0].insert("Reminder")
    let tag = try world[0].insert("Tag")
    try await world.settle()
    try world[0].tag(id, [tag])
    try await world[0].sync()
    try world[1].tag(id, [tag])
    // The second hears of the first's element, then of its removal.
    try await world[1].pull()
    try world[0].tag(id, [])
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    #expect(try world[2].tags(of: id) == [tag])
  }

  @Test(
    "One conflict is one entry of the journal, wherever pages are cut", arguments: [1, 1 << 20])
  func oneEntry(pageBytes: Int) async throws {
    let world = try await world(2, pageBytes: pageBytes)
    let id = try world[0].insert("Reminder", ["title": .string("a")])
    try await world.settle()
    try world[1].set(id, ["title": .string("mine")])
    for title in ["b", "c", "d"] {
      try world[0].set(id, ["title": .string(title)])
      try await world[0].sync()
    }
    try await world[1].sync()
    let conflict = try #require(try world[1].conflicts.first)
    #expect(try world[1].conflicts.count == 1)
    #expect(conflict.remote == "\"d\"")
    try await world.settle()
  }

  @Test("F46 An object that came and went between two pulls never was")
  func cameAndWent() async throws {
    let world = try await world(2)
    let identity = UUID()
    _ = try world[0].insert("Reminder", ["title": .string("theirs")], identity: identity)
    try await world[0].sync()
    try world[0].delete(identity)
    try await world[0].sync()
    _ = try world[1].insert("Reminder", ["title": .string("mine")], identity: identity)
    try await world[1].sync()
    try await world.settle()
    #expect(try world[0].value(identity, "title") == .string("mine"))
    #expect(try world[1].conflicts.isEmpty)
  }

  @Test("A pull that is cut before the head settles later, and nothing is pushed before")
  func cutPull() async throws {
    var options = SyncOptions()
    options.pullBytesMax = 1
    var world = try await world(1)
    let hook = CountedTransport(world.zone)
    world.replicas.append(
      try await TestReplica(
        "cut", zone: world.zone, clock: world.clock, model: taskModel(), transport: hook,
        options: options))
    let id = try world[0].insert("Reminder", ["title": .string("a")])
    try await world.settle()
    try world[0].set(id, ["title": .string("b")])
    try await world[0].sync()
    try world[0].set(id, ["title": .string("c")])
    try await world[0].sync()
    try world[1].set(id, ["title": .string("mine")])
    hook.pullsLeft = 1
    await #expect(throws: CountedTransport.Cut.self) { try await world[1].sync() }
    #expect(try world[1].value(id, "title") == .string("mine"))
    #expect(try world[1].conflicts.isEmpty)
    hook.pullsLeft = .max
    try await world[1].push()
    #expect(try world[1].conflicts.count == 1)
    try await world.settle()
    #expect(try world[0].value(id, "title") == .string("mine"))
  }

  @Test("F39 S4 A reference that a delete cuts is in the journal", arguments: [true, false])
  func cutReference(deleterFirst: Bool) async throws {
    let world = try await world(2)
    let place = try world[0].insert("Place")
    let id = try world[0].insert("Reminder")
    try await world.settle()
    try world[1].set(id, ["place": try reference(place, on: world[1])])
    try world[0].delete(place)
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    #expect(try world[0].reference(id, "place") == nil)
    let journal = try world.replicas.flatMap { try $0.conflicts }
    #expect(journal.contains { $0.property == "place" && $0.object == id })
  }

  @Test(
    "F39 S4 What refers to a deleted object goes with it by cascade, and the journal has it whole",
    arguments: [true, false])
  func cascade(deleterFirst: Bool) async throws {
    let world = try await world(3)
    let list = try world[0].insert("List")
    let moved = try world[0].insert("Reminder", ["title": .string("moved")])
    try await world.settle()
    try world[1].set(moved, ["list": try reference(list, on: world[1])])
    let new = try world[1].insert(
      "Reminder", ["title": .string("new"), "list": try reference(list, on: world[1])])
    try world[0].delete(list)
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.exists(list))
      #expect(try !replica.exists(moved))
      #expect(try !replica.exists(new))
    }
    let settler = world[deleterFirst ? 1 : 0]
    let entry = try #require(try settler.conflicts.first { $0.object == new })
    _ = try SyncEngine.undo(conflict: entry.number, of: settler.store)
    try await world.settle()
    #expect(try world[2].value(new, "title") == .string("new"))
  }

  @Test(
    "F39 S4 A delete that is denied by another replica's reference does not stand",
    arguments: [true, false])
  func deny(deleterFirst: Bool) async throws {
    let world = try await world(3)
    let box = try world[0].insert("Box", ["name": .string("b")])
    try await world.settle()
    let lock = try world[1].insert("Lock", ["box": try reference(box, on: world[1])])
    try world[0].delete(box)
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[2].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(box, "name") == .string("b"))
      #expect(try replica.reference(lock, "box") == box)
    }
    #expect(try !world.replicas.flatMap { try $0.conflicts }.isEmpty)
  }

  @Test("F39 S4 A required reference brings its target back", arguments: [true, false])
  func required(deleterFirst: Bool) async throws {
    let world = try await world(3)
    let order = try world[0].insert("Order", ["name": .string("o")])
    try await world.settle()
    let line = try world[1].insert("Line", ["order": try reference(order, on: world[1])])
    try world[0].delete(order)
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[2].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(order, "name") == .string("o"))
      #expect(try replica.reference(line, "order") == order)
    }
  }

  @Test(
    "F39 S4 An edit brings back all that the delete's cascade took, and the rest stays deleted",
    arguments: [true, false])
  func editWinsCascade(deleterFirst: Bool) async throws {
    let world = try await world(3)
    let list = try world[0].insert("List", ["name": .string("a")])
    let other = try world[0].insert("List", ["name": .string("other")])
    let reminders = try (0..<3).map {
      try world[0].insert(
        "Reminder",
        ["title": .string("\($0)"), "list": try reference($0 < 2 ? list : other, on: world[0])])
    }
    try await world.settle()
    try world[0].save { context in
      for id in [list, other] { context.delete(try #require(try context.object(withIdentity: id))) }
    }
    #expect(try !world[0].exists(reminders[0]))
    try world[1].set(list, ["name": .string("edited")])
    try await world[deleterFirst ? 0 : 1].sync()
    try await world[2].sync()
    try await world[deleterFirst ? 1 : 0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(list, "name") == .string("edited"))
      #expect(try replica.reference(reminders[0], "list") == list)
      #expect(try replica.reference(reminders[1], "list") == list)
      #expect(try !replica.exists(other))
      #expect(try !replica.exists(reminders[2]))
    }
  }

  @Test("F42 S6 A tree stays a tree, and the move that gives way is in the journal")
  func ring() async throws {
    let world = try await world(3)
    let folders = try ["root", "a", "b", "c"].map {
      try world[0].insert("Folder", ["name": .string($0)])
    }
    for id in folders[1...] {
      try world[0].set(id, ["parent": try reference(folders[0], on: world[0])])
    }
    try await world.settle()
    // a under b here, b under c and c under a there: any two of them are fine.
    try world[0].set(folders[1], ["parent": try reference(folders[2], on: world[0])])
    try world[1].set(folders[2], ["parent": try reference(folders[3], on: world[1])])
    try world[1].set(folders[3], ["parent": try reference(folders[1], on: world[1])])
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    #expect(try world[2].reference(folders[1], "parent") == folders[2])
    #expect(try world[2].reference(folders[2], "parent") == folders[3])
    // The later edit went back to what the zone has.
    #expect(try world[2].reference(folders[3], "parent") == folders[0])
    #expect(try world[1].conflicts.map(\.object) == [folders[3]])
  }

  @Test("S13 A move to an object whose delete an edit undoes stands", arguments: [true, false])
  func moveToRevived(moverFirst: Bool) async throws {
    let world = try await world(4)
    let place = try world[0].insert("Place", ["name": .string("a")])
    let old = try world[0].insert("Place", ["name": .string("old")])
    let id = try world[0].insert("Reminder", ["place": try reference(old, on: world[0])])
    try await world.settle()
    // One deletes, one moves to it, one edits it: the edit wins in the end.
    try world[0].delete(place)
    try world[1].set(id, ["place": try reference(place, on: world[1])])
    try world[2].set(place, ["name": .string("b")])
    try await world[0].sync()
    if moverFirst { try await world[1].sync() } else { try await world[1].pull() }
    #expect(try world[1].reference(id, "place") == nil)
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.reference(id, "place") == place) }
  }

  @Test("S12 A property that an insert does not name is no edit of it", arguments: [0, 1])
  func unnamedProperty(first: Int) async throws {
    let world = try await world(3)
    let identity = UUID()
    _ = try world[0].insert("Reminder", ["title": .string("titled")], identity: identity)
    _ = try world[1].insert("Reminder", ["done": .bool(true)], identity: identity)
    try await world[first].sync()
    try await world[1 - first].sync()
    try await world.settle()
    #expect(try world[2].value(identity, "title") == .string("titled"))
    #expect(try world[2].value(identity, "done") == .bool(true))
  }
}

/// Passes a number of pulls, then fails.
final class CountedTransport: SyncTransport, @unchecked Sendable {
  struct Cut: Error {}

  private let zone: any SyncTransport
  /// Set by the test's only task.
  var pullsLeft = Int.max

  init(_ zone: any SyncTransport) { self.zone = zone }

  func zoneInfo() async throws -> ZoneInfo { try await zone.zoneInfo() }
  func push(_ frame: Data) async throws -> PushReply { try await zone.push(frame) }
  func pull(_ request: PullRequest) async throws -> PullPage {
    guard pullsLeft > 0 else { throw Cut() }
    pullsLeft -= 1
    return try await zone.pull(request)
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await zone.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await zone.commonPlace(of: marks, generation: generation)
  }
}

extension TestReplica {
  fileprivate func tag(_ id: UUID, _ tags: [UUID]) throws {
    try save { context in
      let object = try #require(try context.object(withIdentity: id))
      try object.setValue(
        try tags.map { try #require(try context.object(withIdentity: $0)) }, forKey: "tags")
    }
  }

  fileprivate func tags(of id: UUID) throws -> [UUID] {
    try store.read { transaction in
      let key = try #require(try transaction.key(of: id))
      let relationship = try #require(
        store.schema.entity(numbered: key.entity)?.relationshipsByName["tags"])
      return try transaction.toManyKeys(of: key, relationship).map {
        try transaction.identity(of: $0)
      }
    }
  }
}
