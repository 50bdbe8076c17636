import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Sequences of zones that began anew, once or twice, while replicas had edits and deletes that nobody had heard of.
struct RenewedZoneSequenceTests {
  static func model() -> ManagedObjectModel {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    return model
  }

  @Test("What was edited and deleted, unsent, and is kept by an edit, comes back with both edits")
  func editedAndDeleted() async throws {
    let stage = try await Stage(.memory, model: Self.model())
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try stage.set(1, item, ["title": .string("edited, unsent")])
    try stage.delete(1, item)
    try stage.set(0, item, ["done": .bool(true)])
    try stage.renew()
    try await stage.sync(0)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(2, item, "title") == "\"edited, unsent\"")
    #expect(stage.value(2, item, "done") == "true")
  }

  @Test("What is offered as it was known does not keep what was deleted; what was not known does")
  func offeredBeforeTheDelete() async throws {
    let stage = try await Stage(.memory, model: Self.model())
    let item = try stage.insert(0, "Item", ["title": .string("old")])
    let other = try stage.insert(0, "Item", ["title": .string("old")])
    try await stage.settle()
    try stage.set(0, item, ["title": .string("newer")])
    try await stage.sync(0)
    for id in [item, other] { try stage.delete(1, id) }
    try stage.set(2, item, ["done": .bool(true)])
    try stage.renew()
    try await stage.sync(0)
    try await stage.sync(2)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(1, item, "title") == "\"newer\"")
    #expect(stage.value(1, item, "done") == "true")
    #expect(stage.hosts[1].image.things[other] == nil)
  }

  @Test("An edit that whoever deletes an object never saw is named, also beside a later one")
  func editedLaterAndDeleted() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("old")])
    try await stage.settle()
    try stage.set(0, item, ["title": .string("never seen there")])
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    try stage.set(1, item, ["title": .string("later, unsent")])
    try stage.delete(1, item)
    try stage.renew()
    try await stage.settle()
    #expect(stage.hosts[0].image.things[item] == nil)
    let entries = try stage.hosts.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.object == item && $0.property == "title" })
  }

  @Test("What was told to be deleted stays so when the zone begins anew before others heard of it")
  func deletedBeforeTwoRenewals() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(1, "Item", ["title": .string("deleted")])
    try await stage.settle()
    try stage.delete(2, item)
    try stage.renew()
    try await stage.sync(2)
    try stage.renew()
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("What a person brought back stays when the zone begins anew, also on a copy of their store")
  func broughtBackAndCloned() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(2, "Item", ["title": .string("first")])
    try await stage.settle()
    try stage.set(1, item, ["title": .string("unsent")])
    try stage.delete(2, item)
    try stage.renew()
    try await stage.sync(2)
    try await stage.sync(1)
    #expect(stage.hosts[1].image.things[item] == nil)
    let lost = try #require(try stage.hosts[1].conflicts.first { $0.object == item })
    try SyncEngine.undo(conflict: lost.number, of: stage.hosts[1].store)
    try stage.renew()
    let copy = try stage.clone(1)
    try await stage.sync(2)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] != nil, "\(host.name)") }
    #expect(stage.value(copy, item, "title") == "\"unsent\"")
  }

  @Test(
    "What was sent and deleted stays so, though a copy of the store had not sent it",
    arguments: [[2, 3], [3, 2]])
  func deletedBesideACopy(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let (item, other) = (try stage.insert(2), try stage.insert(2, "Item", ["title": .string("b")]))
    let copy = try stage.clone(2)
    #expect(copy == 3)
    try await stage.push(2)
    try stage.delete(2, item)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    // Who comes after the tombstone cannot tell whether it is the same object: it stays, and is named.
    let stays = order == [2, 3]
    for host in stage.hosts {
      #expect(host.image.things[other] != nil, "\(host.name)")
      #expect((host.image.things[item] != nil) == stays, "\(host.name)")
    }
    #expect(
      try stage.hosts.contains { try $0.conflicts.contains { $0.object == item } } == stays)
  }

  @Test("An edit that keeps an object against a copy's delete is named as what it is")
  func editedBesideACopy() async throws {
    let stage = try await Stage(.memory, model: Self.model())
    let item = try stage.insert(2, "Item", ["title": .string("made")])
    // What is offered beside the delete names the saves that the zone had.
    try stage.insert(2, "Item", ["title": .string("other")])
    let copy = try stage.clone(2)
    try await stage.push(2)
    try stage.delete(2, item)
    try await stage.push(2)
    try stage.set(copy, item, ["title": .string("edited")])
    try stage.renew()
    try await stage.sync(2)
    try await stage.sync(copy)
    let entry = try #require(try stage.hosts[copy].conflicts.first { $0.object == item })
    #expect(entry.explanation == PageApplier.editWins)
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"edited\"")
  }

  @Test("A value that was settled in a zone keeps its time when the zone begins anew again")
  func timeOfWhatWasSettled() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(1, "Item", ["title": .string("first")])
    try await stage.settle()
    try stage.set(2, item, ["done": .bool(true)])
    try stage.set(1, item, ["title": .string("later")])
    try stage.renew()
    try await stage.sync(1)
    try await stage.sync(0)
    try stage.renew()
    try await stage.settle()
    #expect(stage.value(0, item, "done") == "true")
    #expect(stage.value(0, item, "title") == "\"later\"")
  }

  @Test("A set that was edited, unsent, is whole in a zone that began anew", arguments: [0, 1])
  func editedSet(first: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tags = try stage.tags(4)
    try stage.relate(0, item, "tags", to: [tags[0], tags[1], tags[2]])
    try await stage.settle()
    try stage.relate(1, item, "tags", to: [tags[0], tags[1], tags[3]])
    try stage.renew()
    try await stage.sync(first)
    try await stage.settle()
    stage.expect(item, has: [tags[0], tags[1], tags[3]], not: [tags[2]])
  }

  @Test(
    "A later set stands in a zone that began anew with what was edited on an earlier one",
    arguments: [[1, 0], [0, 1]])
  func laterSet(order: [Int]) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tags = try stage.tags(4)
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[1], tags[2]])
    try await stage.sync(0)
    try stage.relate(1, item, "tags", to: [tags[0], tags[1], tags[3]])
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    stage.expect(item, has: [tags[1], tags[2], tags[3]], not: [tags[0]])
  }

  @Test("What was to be offered to a zone is offered to its next generation, by its time alone")
  func offeredToTheNext() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["notes": .string("one")])
    try await stage.settle()
    try stage.set(0, item, ["notes": .string("one two")])
    try await stage.sync(0)
    try stage.renew()
    _ = try await stage.hosts[1].engine.pull()
    try stage.renew()
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.value(2, item, "notes") == "\"one two\"")
    #expect(try stage.hosts[1].conflicts.isEmpty == false)
  }

  @Test("What is brought back to a new zone from two sides is in the same sets everywhere")
  func bothBroughtBack() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(2, "Item", ["title": .string("item")])
    try await stage.settle()
    let tag = try stage.insert(0, "Tag", ["name": .string("tag")])
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.set(2, tag, ["name": .string("edited")])
    try stage.delete(2, item)
    try stage.delete(0, tag)
    try stage.set(0, item, ["title": .string("edited")])
    try await stage.sync(0)
    try stage.renew()
    try await stage.settle()
    #expect(stage.hosts[0].image == stage.hosts[2].image)
    #expect(stage.hosts[1].image == stage.hosts[2].image)
    #expect(stage.value(2, item, "title") == "\"edited\"")
    #expect(stage.value(2, tag, "name") == "\"edited\"")
  }

  @Test(
    "What is deleted while a store comes back to a zone that began anew stays deleted",
    arguments: 1...8)
  func deletedMeanwhile(moment: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(2, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try stage.renew()
    var count = 0
    let host = stage.hosts[1]
    nonisolated(unsafe) let delete = {
      count += 1
      if count == moment { try stage.delete(1, item) }
    }
    host.network.interlude = { _ in try delete() }
    try await stage.sync(1)
    host.network.interlude = nil
    if count < moment { try stage.delete(1, item) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }

  @Test("What is edited and then deleted, with nothing of it sent to a new zone, stays deleted")
  func editedAndDeletedMeanwhile() async throws {
    let stage = try await Stage(.memory)
    let box = try stage.insert(2, "Box", ["name": .string("everybody's")])
    try await stage.settle()
    try stage.set(1, box, ["name": .string("edited")])
    try stage.renew()
    _ = try await stage.hosts[1].engine.pull()
    try stage.delete(1, box)
    try await stage.settle()
    #expect(stage.hosts[0].image.things.isEmpty)
  }

  @Test("A set that was edited, of an object that an edit brings back, is sent in a new zone")
  func editedSetOfARevived() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let tags = try stage.tags(2)
    let item = try stage.insert(0)
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.relate(1, item, "tags", to: tags)
    try stage.renew()
    try await stage.sync(0)
    try await stage.sync(2)
    try stage.delete(2, item)
    try await stage.sync(2)
    try await stage.settle()
    stage.expect(item, has: tags)
  }

  @Test(
    "What is edited in a store that was put back, before its zone is renewed, is in the zone or named",
    arguments: [[1, 0, 2], [0, 1, 2], [2, 0, 1]], [false, true])
  func editedInOnePutBack(order: [Int], isHeard: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 3)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    let tags = try stage.tags(2)
    try await stage.settle()
    let image = try stage.backup(1)
    try stage.set(1, item, ["title": .string("sent"), "done": .bool(true)])
    try stage.relate(1, item, "tags", to: [tags[0]])
    try stage.count(1, item, by: 2)
    try await stage.sync(1)
    if isHeard { try await stage.sync(0) }
    try await stage.restore(1, image)
    try stage.set(1, item, ["notes": .string("one two"), "words": .string("w")])
    try stage.relate(1, item, "tags", to: [tags[1]])
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "notes") == "\"one two\"")
    #expect(stage.value(0, item, "words") == "\"w\"")
    stage.expect(item, has: [tags[1]])
  }

  @Test(
    "What is edited in a store that was put back to before it sent an object is in a renewed zone",
    arguments: [[1, 0, 2], [0, 1, 2], [0, 2, 1]], [false, true])
  func editedBeforeItWasSent(order: [Int], isEditedSince: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 3)
    let tags = try stage.tags(2)
    try await stage.settle()
    let item = try stage.insert(1, "Item", ["title": .string("made")])
    let box = try stage.insert(1, "Box", ["name": .string("old")])
    let image = try stage.backup(1)
    try await stage.sync(1)
    if isEditedSince {
      try stage.set(1, item, ["title": .string("sent"), "email": .string("e")])
      try stage.relate(1, item, "tags", to: [tags[0]])
      try await stage.sync(1)
    }
    for number in [0, 2] { try await stage.sync(number) }
    try await stage.restore(1, image)
    try stage.set(
      1, item, ["done": .bool(true), "notes": .string("one two"), "words": .string("w")])
    try stage.set(1, box, ["name": .string("new")])
    try stage.relate(1, item, "box", box)
    try stage.relate(1, item, "tags", to: [tags[1]])
    try stage.count(1, item, by: 2)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "done") == "true")
    #expect(stage.value(0, item, "notes") == "\"one two\"")
    #expect(stage.value(0, item, "words") == "\"w\"")
    #expect(stage.value(0, item, "stock") == "2")
    #expect(stage.value(0, box, "name") == "\"new\"")
    #expect(Image.identities(in: stage.value(0, item, "box")) == [box])
    stage.expect(item, has: isEditedSince ? tags : [tags[1]])
    if isEditedSince { #expect(stage.value(0, item, "title") == "\"sent\"") }
  }

  @Test(
    "Whoever has an object from a snapshot offers the one that a store has, which was put back to before it sent it",
    arguments: [[2, 1, 0], [1, 2, 0]])
  func offeredFromASnapshot(order: [Int]) async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    try stage.insert(0, "Box")
    try await stage.settle()
    let item = try stage.insert(1, "Item", ["title": .string("made"), "stock": .integer(5)])
    let image = try stage.backup(1)
    try await stage.sync(1)
    try await stage.server.fold()
    try await stage.addHost()
    try await stage.sync(2)
    #expect(stage.value(2, item, "title") == "\"made\"")
    try await stage.restore(1, image)
    try stage.set(1, item, ["done": .bool(true), "notes": .string("one two")])
    try stage.count(1, item, by: 2)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.hosts[0].image.things.values.count { $0.entity == "Item" } == 1)
    #expect(stage.value(0, item, "done") == "true")
    #expect(stage.value(0, item, "notes") == "\"one two\"")
    #expect(stage.value(0, item, "stock") == "7")
  }

  @Test(
    "Whoever has an object from a snapshot offers the one that a store, which was put back to before it sent it, deleted",
    arguments: [[2, 1, 0], [1, 2, 0]])
  func deletedBeforeItWasSent(order: [Int]) async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    try stage.insert(0, "Box")
    try await stage.settle()
    let item = try stage.insert(1, "Item", ["title": .string("made")])
    let image = try stage.backup(1)
    try await stage.sync(1)
    try await stage.server.fold()
    try await stage.addHost()
    try await stage.sync(2)
    try await stage.restore(1, image)
    try stage.delete(1, item)
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
  }
}
