import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Sequences of stores whose model gave an entity or a property another name.
struct RenamedSequenceTests {
  /// - Parameter renamesEntity: The new model has another name for items too.
  private static func model(isNew: Bool, renamesEntity: Bool) throws -> ManagedObjectModel {
    let item = EntityDescription(isNew && renamesEntity ? "Article" : "Item")
    item.renamingIdentifier = "Item"
    let title = AttributeDescription(isNew ? "name" : "title", .string)
    title.renamingIdentifier = "title"
    let stock = AttributeDescription(
      isNew ? "count" : "stock", .integer64, isOptional: false, defaultValue: .integer(0),
      conflictPolicy: .counter)
    stock.renamingIdentifier = "stock"
    let tags = RelationshipDescription(
      isNew ? "labels" : "tags", to: "Tag", inverse: "items", toMany: true)
    tags.renamingIdentifier = "tags"
    let box = RelationshipDescription(isNew ? "crate" : "box", to: "Box", inverse: "items")
    box.renamingIdentifier = "box"
    item.properties = [title, stock, tags, box]
    let tag = EntityDescription("Tag")
    tag.properties = [
      RelationshipDescription("items", to: item.name, inverse: tags.name, toMany: true)
    ]
    let crate = EntityDescription("Box")
    crate.deletePolicy = .editWins
    crate.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: item.name, inverse: box.name, toMany: true),
    ]
    let model = ManagedObjectModel(entities: [item, tag, crate])
    try model.freeze()
    return model
  }

  @Test(
    "What a server lost is offered under the names of the model that a store has by now",
    arguments: [false, true])
  func lostUnderFormerNames(isMadeAfter: Bool) async throws {
    // Who comes late with the new model knows nothing of an object that the log has under the former entity.
    let stage = try await Stage(
      .memory, hosts: 1, model: Self.model(isNew: false, renamesEntity: isMadeAfter))
    var item = UUID()
    let tag = try stage.insert(0, "Tag")
    if !isMadeAfter { item = try stage.insert(0, "Item", ["title": .string("made")]) }
    try await stage.sync(0)
    try stage.server.backup()
    if isMadeAfter { item = try stage.insert(0, "Item", ["title": .string("made")]) }
    try await stage.push(0)
    try stage.set(0, item, ["title": .string("lost")])
    try stage.set(0, item, ["stock": .integer(7)])
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.push(0)
    let new = try Self.model(isNew: true, renamesEntity: isMadeAfter)
    try await stage.hosts[0].reopen(new)
    try await stage.partLogs()
    try await stage.sync(0)
    let late = try await stage.addHost(of: new)
    try await stage.sync(late.number)
    #expect(stage.value(late.number, item, "name") == "\"lost\"")
    #expect(stage.value(late.number, item, "count") == "7")
    #expect(stage.value(late.number, item, "labels").contains(tag.uuidString.lowercased()))
  }

  @Test(
    "Who enrols late with the new names alone has all that was written under the old ones",
    arguments: [false, true])
  func late(renamesEntity: Bool) async throws {
    let stage = try await Stage(
      .sqlite, hosts: 2, model: Self.model(isNew: false, renamesEntity: renamesEntity))
    let tag = try stage.insert(0, "Tag")
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    let gone = try stage.insert(0, "Item", ["title": .string("gone")])
    try await stage.sync(0)
    try stage.set(0, item, ["stock": .integer(7)])
    try stage.relate(0, item, "tags", to: [tag])
    try stage.delete(0, gone)
    try await stage.sync(0)
    try await stage.sync(1)
    let new = try Self.model(isNew: true, renamesEntity: renamesEntity)
    try await stage.hosts[1].reopen(new)
    let late = try await stage.addHost(of: new).number
    for number in [late, 1] {
      try await stage.sync(number)
      #expect(stage.value(number, item, "name") == "\"made\"")
      #expect(stage.value(number, item, "count") == "7")
      #expect(stage.value(number, item, "labels").contains(tag.uuidString.lowercased()))
      #expect(try SyncEngine.parked(of: stage.hosts[number].store).isEmpty)
    }
    #expect(stage.hosts[late].image == stage.hosts[1].image)
    // The program of before goes on.
    try stage.set(0, item, ["title": .string("old program")])
    try await stage.sync(0)
    for number in [late, 1] {
      try await stage.sync(number)
      #expect(stage.value(number, item, "name") == "\"old program\"")
    }
    try stage.set(late, item, ["name": .string("new program")])
    try await stage.sync(late)
    try await stage.sync(1)
    #expect(stage.value(1, item, "name") == "\"new program\"")
    #expect(stage.hosts[late].image == stage.hosts[1].image)
  }

  @Test("An edit under the new name that crosses one under the old name is settled, not laid over")
  func crossing() async throws {
    let stage = try await Stage(
      .sqlite, hosts: 3, model: Self.model(isNew: false, renamesEntity: false))
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    for number in [0, 1, 2] { try await stage.sync(number) }
    let new = try Self.model(isNew: true, renamesEntity: false)
    try await stage.hosts[1].reopen(new)
    try await stage.hosts[2].reopen(new)
    try stage.set(0, item, ["title": .string("old program")])
    try stage.set(1, item, ["name": .string("new program")])
    try await stage.push(0)
    // It has not seen that.
    try await stage.push(1)
    try await stage.sync(2)
    try await stage.sync(1)
    #expect(stage.value(1, item, "name") == "\"new program\"")
    #expect(stage.hosts[1].image == stage.hosts[2].image)
    #expect(try stage.hosts[1].conflicts.contains { $0.remote == "\"old program\"" })
  }

  @Test(
    "What was parked for a name that the model has now is laid under what came later, by whichever name",
    arguments: [false, true])
  func parked(oldIsLater: Bool) async throws {
    let old = try Self.model(isNew: false, renamesEntity: false)
    let new = try Self.model(isNew: true, renamesEntity: false)
    let stage = try await Stage(.sqlite, hosts: 2, model: old)
    let item = try stage.insert(0, "Item", ["title": .string("made")])
    for number in [0, 1] { try await stage.sync(number) }
    try await stage.hosts[1].reopen(new)
    func edit(old isOld: Bool) async throws {
      try stage.set(
        isOld ? 0 : 1, item, [isOld ? "title" : "name": .string(isOld ? "old" : "new")])
      for number in isOld ? [0, 1] : [1, 0] { try await stage.sync(number) }
    }
    try await edit(old: !oldIsLater)
    try await edit(old: oldIsLater)
    #expect(stage.value(0, item, "title") == "\"old\"")
    #expect(try !SyncEngine.parked(of: stage.hosts[0].store).isEmpty)
    try await stage.hosts[0].reopen(new)
    try await stage.sync(0)
    #expect(stage.value(1, item, "name") == (oldIsLater ? "\"old\"" : "\"new\""))
    #expect(stage.hosts[0].image == stage.hosts[1].image)
    #expect(try SyncEngine.parked(of: stage.hosts[0].store).isEmpty)
  }

  @Test(
    "What was edited under the old name and not sent goes on under the new one, also in the middle of a push"
  )
  func pendingAcrossTheChange() async throws {
    let stage = try await Stage(
      .sqlite, hosts: 2, model: Self.model(isNew: false, renamesEntity: false))
    let tag = try stage.insert(0, "Tag")
    let item = try stage.insert(0, "Item", ["title": .string("made"), "stock": .integer(5)])
    for number in [0, 1] { try await stage.sync(number) }
    try stage.set(0, item, ["title": .string("unsent")])
    try stage.count(0, item, by: 2)
    try stage.relate(0, item, "tags", to: [tag])
    // The answer is lost: the change set stays in flight, under the old names.
    stage.hosts[0].network.isDeaf = true
    _ = try? await stage.hosts[0].engine.push()
    stage.hosts[0].network.isDeaf = false
    let new = try Self.model(isNew: true, renamesEntity: false)
    for number in [0, 1] { try await stage.hosts[number].reopen(new) }
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(0, item, ["count": .integer(8)])
    try stage.relate(0, item, "labels", to: [])
    for number in [0, 1, 0] { try await stage.sync(number) }
    for number in [0, 1] {
      #expect(stage.value(number, item, "name") == "\"unsent\"")
      #expect(stage.value(number, item, "count") == "8")
      #expect(!stage.value(number, item, "labels").contains(tag.uuidString.lowercased()))
    }
    #expect(stage.hosts[0].image == stage.hosts[1].image)
    #expect(try stage.hosts[0].store.check().isSound)
  }

  /// Has the answer of a push lost, so that a change set is in flight under the old names.
  private func pushUnanswered(_ stage: Stage, _ number: Int) async {
    stage.hosts[number].network.isDeaf = true
    _ = try? await stage.hosts[number].engine.push()
    stage.hosts[number].network.isDeaf = false
  }

  @Test(
    "What was counted under the old name is told once its change set is answered under the new one",
    arguments: [false, true])
  func countedAcrossTheChange(renamesEntity: Bool) async throws {
    let old = try Self.model(isNew: false, renamesEntity: renamesEntity)
    let new = try Self.model(isNew: true, renamesEntity: renamesEntity)
    let stage = try await Stage(.sqlite, hosts: 2, model: old)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    for number in [0, 1] { try await stage.sync(number) }
    try stage.count(0, item, by: 2)
    await pushUnanswered(stage, 0)
    for number in [0, 1] { try await stage.hosts[number].reopen(new) }
    try stage.set(0, item, ["count": .integer(15)])
    // The answer comes, and nothing after it goes out.
    let host = stage.hosts[0]
    host.network.interlude = { moment in if moment == .afterServer { host.network.isCut = true } }
    _ = try? await host.engine.push()
    let key = try host.store.read { transaction in
      let key = try #require(try transaction.key(of: item))
      return try #require(try transaction.concreteKey(root: key))
    }
    #expect(
      try host.store.read { try $0.deltas(of: key, "count").map(\.value) } == [.integer(3)])
    (host.network.interlude, host.network.isCut) = (nil, false)
    try stage.set(1, item, ["count": .integer(17)])
    for number in [1, 0, 1] { try await stage.sync(number) }
    for number in [0, 1] { #expect(stage.value(number, item, "count") == "22") }
    #expect(stage.hosts[0].image == stage.hosts[1].image)
  }

  @Test("A reference to what is deleted, answered under a new name, is there when that comes back")
  func referenceAcrossTheChange() async throws {
    let stage = try await Stage(
      .sqlite, hosts: 3, model: Self.model(isNew: false, renamesEntity: false))
    let item = try stage.insert(0, "Item", ["title": .string("item")])
    let box = try stage.insert(0, "Box", ["name": .string("box")])
    for number in [0, 1, 2] { try await stage.sync(number) }
    try stage.set(2, box, ["name": .string("edited")])
    try stage.relate(0, item, "box", box)
    try stage.delete(1, box)
    try await stage.sync(1)
    _ = try await stage.hosts[0].engine.pull()
    await pushUnanswered(stage, 0)
    let new = try Self.model(isNew: true, renamesEntity: false)
    for number in [0, 1, 2] { try await stage.hosts[number].reopen(new) }
    try await stage.push(0)
    try await stage.sync(2)
    for number in [1, 0, 2, 1, 0] { try await stage.sync(number) }
    for number in [0, 1, 2] {
      #expect(stage.value(number, item, "crate").contains(box.uuidString.lowercased()))
      #expect(stage.hosts[number].image == stage.hosts[0].image)
    }
  }

  @Test("An edit that is answered under a new name takes the place of what was parked for it")
  func parkedAcrossTheChange() async throws {
    func model(_ name: String, _ type: AttributeType) throws -> ManagedObjectModel {
      let item = EntityDescription("Item")
      let size = AttributeDescription(name, type)
      size.renamingIdentifier = "size"
      item.properties = [AttributeDescription("title", .string), size]
      let model = ManagedObjectModel(entities: [item])
      try model.freeze()
      return model
    }
    let stage = try await Stage(.sqlite, hosts: 1, model: model("size", .integer16))
    let item = try stage.insert(0, "Item", ["title": .string("item")])
    try await stage.sync(0)
    let wide = try await stage.addHost(of: model("size", .integer64)).number
    try await stage.sync(wide)
    try stage.set(wide, item, ["size": .integer(100_000)])
    try await stage.sync(wide)
    try await stage.sync(0)
    try stage.set(0, item, ["size": .integer(5)])
    await pushUnanswered(stage, 0)
    try await stage.hosts[0].reopen(model("extent", .integer16))
    try await stage.push(0)
    #expect(stage.value(0, item, "extent") == "5")
    #expect(try stage.hosts[0].store.read { try ParkedValues.count(on: $0.connection) } == 0)
    try await stage.hosts[0].reopen(model("extent", .integer64))
    try await stage.sync(0)
    #expect(stage.value(0, item, "extent") == "5")
  }
}
