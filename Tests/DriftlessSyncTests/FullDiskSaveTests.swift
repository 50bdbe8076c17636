import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// A disk of a replica that has no room for all that others pushed: what meets the rest waits by whole saves.
struct FullDiskSaveTests {
  @Test(
    "A save that meets what does not fit waits whole, nothing is set aside, and all else is sent",
    arguments: [false, true])
  func wholeSave(isNew: Bool) async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let last = try world[0].insert("Item", ["title": .string("two")])
    let other = try world[0].insert("Item", ["title": .string("three")])
    try await world.settle()
    try await FullDisk.pushLarge(world[0], item, last: last)
    var made: UUID?
    try world[1].save { context in
      try context.object(withIdentity: last)?.setValue("mine, later", forKey: "title")
      if isNew {
        try context.insert(entityNamed: "Shelf").setValue("of the save", forKey: "name")
      } else {
        try context.object(withIdentity: other)?.setValue("of the save", forKey: "note")
      }
    }
    if isNew {
      made = try world[1].identities(of: "Shelf").first
      // It refers to what waits.
      try world[1].save { context in
        let shelf = try context.object(withIdentity: try #require(made))
        try context.object(withIdentity: other)?.setValue(shelf, forKey: "shelf")
        try context.object(withIdentity: item)?.setValue("of another save", forKey: "note")
      }
    }
    try world[1].set(other, ["tag": .string("by itself")])
    var own: [UUID] = []
    for number in 0..<20 {
      own.append(try world[1].insert("Item", ["high": .integer(Int64(number))]))
    }
    disk.leave(64 << 10)
    for _ in 0..<2 {
      let error = await #expect(throws: StoreError.self) { try await world[1].sync() }
      #expect(error?.code == .diskFull)
      #expect(try SyncEngine.quarantine(of: world[1].store).isEmpty)
      #expect(try world[1].status.failure?.code == "disk-full")
    }
    try await world[0].sync()
    #expect(try world[0].value(other, "tag") == .string("by itself"))
    for item in own { #expect(try world[0].exists(item)) }
    #expect(try world[0].value(last, "title") == .string("zone's"))
    #expect(try world[0].value(other, "note") == .null)
    #expect(try world[0].value(item, "note") == .null)
    #expect(try world[0].identities(of: "Shelf").isEmpty)
    disk.leave(.max)
    try await world[1].sync()
    try await world.settle()
    #expect(try world[0].value(last, "title") == .string("mine, later"))
    if isNew {
      #expect(try world[0].reference(other, "shelf") == made)
      #expect(try world[0].value(item, "note") == .string("of another save"))
    } else {
      #expect(try world[0].value(other, "note") == .string("of the save"))
    }
  }

  @Test("More saves than are ever set aside in a row wait for room, and the error is the disk's")
  func manySaves() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let last = try world[0].insert("Item", ["title": .string("two")])
    var items: [UUID] = []
    for _ in 0..<60 { items.append(try world[0].insert("Item")) }
    try await world.settle()
    try await FullDisk.pushLarge(world[0], item, last: last)
    for item in items { try world[0].set(item, ["title": .string("zone's")]) }
    try await world[0].sync()
    for item in items { try world[1].set(item, ["title": .string("mine, later")]) }
    let own = try world[1].insert("Item", ["title": .string("own")])
    disk.leave(64 << 10)
    let error = await #expect(throws: StoreError.self) { try await world[1].sync() }
    #expect(error?.code == .diskFull)
    #expect(try SyncEngine.quarantine(of: world[1].store).isEmpty)
    try await world[0].sync()
    #expect(try world[0].exists(own))
    disk.leave(.max)
    try await world.settle()
    for item in items { #expect(try world[0].value(item, "title") == .string("mine, later")) }
  }

  @Test("What is kept of the log for a server that loses it does not grow while there is no room")
  func kept() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let last = try world[0].insert("Item", ["title": .string("two")])
    try await world.settle()
    try await FullDisk.pushLarge(world[0], item, last: last)
    disk.leave(64 << 10)
    func bytes() throws -> Int64 {
      let sum = try world[1].store.read {
        try $0.connection.scalar("SELECT coalesce(sum(length(frame)), 0) FROM ZDL_FRAME")
      }
      guard case .integer(let bytes)? = sum else { return .max }
      return bytes
    }
    for _ in 0..<20 {
      let text = (0..<400).map { _ in "\(UUID())" }.joined()
      try world[1].set(item, ["note": .string(text)])
      await #expect(throws: StoreError.self) { try await world[1].sync() }
      #expect(try bytes() < 80 << 10)
    }
    try await world[0].sync()
    #expect(try world[0].value(item, "note") == world[1].value(item, "note"))
    disk.leave(.max)
    try await world.settle()
  }
}
