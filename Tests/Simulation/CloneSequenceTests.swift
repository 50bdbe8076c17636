import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sequences of stores that were copied or put back: what both copies have counts once.
struct CloneSequenceTests {
  @Test(
    "S8 Base 10, a shared +5 of two clones, +3 here, +2 there: 20", arguments: [0, 2])
  func sharedIncrement(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    let clone = try stage.clone(0)
    try stage.count(0, item, by: 3)
    try stage.count(clone, item, by: 2)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "20")
  }

  @Test("Sync-rules 3: a clone and its original mint at once: every object is one")
  func clonesMint() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    try stage.insert(0, "Item", ["title": .string("first")])
    try await stage.settle()
    try stage.insert(0, "Item", ["title": .string("pending when it was cloned")])
    let clone = try stage.clone(0)
    for number in 0..<3 {
      try stage.insert(0, "Item", ["title": .string("original \(number)")])
      try stage.insert(clone, "Item", ["title": .string("clone \(number)")])
    }
    try await stage.settle()
    let titles = stage.hosts[1].image.things.values.compactMap { $0.values["title"] }
    #expect(titles.count == 8 && Set(titles).count == 8)
  }

  @Test(
    "Sync-rules 3: a store put back into its own file sends nothing twice, and loses no object")
  func putBackInPlace() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    let backup = try stage.backup(0)
    try await stage.sync(0)
    let lost = try stage.insert(0, "Item", ["title": .string("after the backup")])
    try await stage.sync(0)
    try await stage.restore(0, backup)
    // Nothing tells the store that it was put back: it mints the identity of the lost object again.
    try stage.insert(0, "Item", ["title": .string("after the restore")])
    try await stage.settle()
    for number in 0..<2 {
      #expect(stage.value(number, item, "stock") == "15")
      #expect(stage.value(number, lost, "title") == "\"after the backup\"")
      let titles = stage.hosts[number].image.things.values.compactMap { $0.values["title"] }
      #expect(titles.contains("\"after the restore\""), "\(titles)")
    }
  }

  @Test(
    "Sync-rules 3: a store put back into its own file mints an identity again, for an object of another entity"
  )
  func mintedUnderAnotherEntity() async throws {
    let model = Stage.model()
    let special = EntityDescription("Special")
    special.properties = [AttributeDescription("extra", .string)]
    model.entitiesByName["Item"]?.subentities = [special]
    let stage = try await Stage(
      .memory, hosts: 2, model: ManagedObjectModel(entities: model.entities + [special]))
    try await stage.settle()
    let backup = try stage.backup(0)
    let lost = try stage.insert(0, "Special", ["title": .string("after the backup")])
    try await stage.sync(0)
    try await stage.restore(0, backup)
    #expect(try stage.insert(0, "Item", ["title": .string("after the restore")]) == lost)
    try await stage.settle()
    // What is made from here on has identities of its own.
    for number in 0..<3 { try stage.insert(0, "Item", ["title": .string("later \(number)")]) }
    try await stage.settle()
    #expect(stage.hosts[1].image.things[lost]?.entity == "Special")
    let titles = stage.hosts[1].image.things.values.compactMap { $0.values["title"] }
    #expect(titles.contains("\"after the restore\""), "\(titles)")
    #expect(titles.count == 5)
  }

  @Test(
    "Sync-rules 3: a store put back before all that it sent mints no identity that the zone gave it back"
  )
  func mintedAgainLater() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    try await stage.settle()
    let backup = try stage.backup(0)
    for number in 0..<3 { try stage.insert(0, "Item", ["title": .string("lost \(number)")]) }
    try await stage.sync(0)
    try await stage.restore(0, backup)
    try await stage.sync(0)
    for number in 0..<5 { try stage.insert(0, "Item", ["title": .string("new \(number)")]) }
    try await stage.settle()
    #expect(stage.hosts[1].image.things.count == 8)
  }

  @Test(
    "Sync-rules 2: what a replica offered, lost with the server and another one gave back, it knows again"
  )
  func offeredAndGivenBack() async throws {
    let stage = try await Stage(.memory)
    try stage.server.backup()
    let item = try stage.insert(1, "Item", ["title": .string("made")])
    try await stage.sync(1)
    try await stage.sync(2)
    // Put back, the server has another entry in that place: the replica offers its object anew.
    try stage.server.restore(0)
    try stage.insert(0, "Box")
    try await stage.sync(0)
    try await stage.sync(1)
    // Put back once more, two days later, it has the first entry from the replica that knew it.
    stage.clock.advance(milliseconds: 2 * 86_400_000)
    try stage.server.restore(0)
    try await stage.sync(2)
    try await stage.settle()
    for number in 0..<3 { #expect(stage.value(number, item, "title") == "\"made\"") }
  }

  @Test(
    "Sync-rules 3: what was deleted after a clone was made does not come back from the clone",
    arguments: [0, 2])
  func deletedAfterTheClone(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("pending when it was cloned")])
    _ = try stage.clone(0)
    try stage.delete(0, item)
    try await stage.sync(first)
    try await stage.settle()
    let isNamed = try stage.hosts.contains { host in
      try host.conflicts.contains { $0.object == item }
    }
    #expect(stage.hosts[1].image.things[item] == nil || isNamed)
  }
  @Test("Sync-rules 3: a clone of a clone counts what all three share once", arguments: [0, 2, 3])
  func cloneOfClone(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    let clone = try stage.clone(0)
    try stage.count(0, item, by: 3)
    try stage.count(clone, item, by: 2)
    let other = try stage.clone(clone)
    try stage.count(clone, item, by: 20)
    try stage.count(other, item, by: 100)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "140")
  }

  @Test("Sync-rules 3: a clone that is put back to what it was counts once", arguments: [0, 2])
  func cloneThatIsPutBack(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    let clone = try stage.clone(0)
    try stage.count(clone, item, by: 2)
    let backup = try stage.backup(clone)
    try await stage.sync(clone)
    try await stage.restore(clone, backup)
    try stage.count(clone, item, by: 20)
    try stage.count(0, item, by: 3)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "40")
  }

  @Test("Sync-rules 3: what cancels out on one copy is counted on the other", arguments: [0, 2])
  func cancelled(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    let clone = try stage.clone(0)
    try stage.count(0, item, by: -5)
    try stage.count(clone, item, by: 2)
    try stage.count(1, item, by: 100)
    try await stage.sync(1)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "112")
  }

  @Test("Sync-rules 3: clones that share an insert count on from it", arguments: [0, 2])
  func sharedInsert(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(
      0, "Item", ["stock": .integer(10), "title": .string("made before the clone")])
    try stage.count(0, item, by: 5)
    let clone = try stage.clone(0)
    try stage.count(0, item, by: 3)
    try stage.count(clone, item, by: 2)
    try stage.set(0, item, ["title": .null])
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "20")
    #expect(stage.value(1, item, "title") == "null")
  }

  @Test("Sync-rules 3: words that two clones share stand once", arguments: [0, 2])
  func sharedWords(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(
      0, "Item", ["notes": .string("begin"), "words": .string("[\"a\",\"b\"]")])
    try await stage.settle()
    try stage.set(
      0, item, ["notes": .string("begin shared"), "words": .string("[\"b\",\"c\"]")])
    let clone = try stage.clone(0)
    try stage.set(
      0, item, ["notes": .string("begin shared here"), "words": .string("[\"b\",\"c\",\"d\"]")])
    try stage.set(
      clone, item,
      ["notes": .string("begin shared there"), "words": .string("[\"b\",\"c\",\"e\"]")])
    try await stage.sync(first)
    try await stage.settle()
    let notes = stage.value(1, item, "notes").split { !$0.isLetter }.sorted()
    #expect(notes == ["begin", "here", "shared", "there"])
    let words = stage.value(1, item, "words").filter(\.isLetter).sorted()
    #expect(words == ["b", "c", "d", "e"])
  }

  @Test(
    "Sync-rules 5: both copies' edits and another's, met in one pull, are settled in the log's order"
  )
  func editAfterTheShared() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("base")])
    let tags = [
      try stage.insert(0, "Tag"), try stage.insert(0, "Tag"), try stage.insert(0, "Tag"),
    ]
    try stage.relate(0, item, "tags", to: [tags[0]])
    try await stage.settle()
    try stage.set(0, item, ["title": .string("shared")])
    try stage.relate(0, item, "tags", to: [tags[0], tags[1]])
    let clone = try stage.clone(0)
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["title": .string("later")])
    try stage.relate(1, item, "tags", to: [tags[0], tags[1], tags[2]])
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(clone, item, "title") == "\"later\"")
  }

  @Test(
    "Of two copies that share an insert, the later edit of a property stands", arguments: [0, 2])
  func editsOfASharedInsert(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("made"), "done": .bool(false)])
    let clone = try stage.clone(0)
    try stage.set(clone, item, ["done": .bool(true)])
    stage.clock.advance(milliseconds: 1000)
    try stage.set(0, item, ["title": .string("later")])
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, item, "done") == "true")
    #expect(stage.value(1, item, "title") == "\"later\"")
  }

  @Test(
    "Of two imports of one object, what neither edited since is no edit of it", arguments: [0, 1])
  func editsOfTwoImports(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let identity = UUID()
    for number in 0..<2 {
      try stage.insert(
        number, "Item", ["title": .string("imported"), "done": .bool(false)], identity: identity)
    }
    try stage.set(1, identity, ["done": .bool(true)])
    stage.clock.advance(milliseconds: 1000)
    try stage.set(0, identity, ["title": .string("later")])
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(1, identity, "done") == "true")
    #expect(stage.value(1, identity, "title") == "\"later\"")
  }

  @Test("A save among hundreds that a server lost counts once, on a copy of the store too")
  func hundredsOfSharedCounts() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(0)])
    try await stage.settle()
    try stage.server.backup()
    for _ in 0..<100 { try stage.count(0, item, by: 1) }
    let clone = try stage.clone(0)
    // In one change set.
    let host = stage.hosts[0]
    _ = try await SyncEngine(store: host.store, transport: host.network).push()
    try await stage.sync(1)
    try await stage.partLogs()
    for number in [0, 1, clone] { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(1, item, "stock") == "100")
  }
}

/// Sequences of zones that began anew to be filled again by what replicas hold.
struct OfferSequenceTests {
  @Test(
    "Sync-rules 1: a zone that began anew to be filled again has all that replicas hold",
    arguments: [0, 1, 2])
  func renewedToOffer(first: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    try await stage.sync(0)
    try stage.count(1, item, by: 2)
    try stage.server.renew(.offer)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "17")
  }

  @Test(
    "Sync-rules 2: counts that are pending on two replicas are counted once each",
    arguments: [0, 1, 2, 3])
  func pendingOnTwo(first: Int) async throws {
    let stage = try await Stage(.memory, hosts: 4)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    try await stage.sync(0)
    try await stage.sync(3)
    try stage.count(0, item, by: 1)
    try stage.count(1, item, by: 2)
    try stage.server.renew(.offer)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == "18")
  }

  @Test(
    "Sync-rules 2: a replica that was away when its zone began anew brings what it counted",
    arguments: [false, true])
  func awayForLong(hasCounted: Bool) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["stock": .integer(10)])
    try await stage.settle()
    try stage.count(0, item, by: 5)
    try await stage.sync(0)
    if hasCounted { try stage.count(2, item, by: 2) }
    try stage.server.renew(.offer)
    for _ in 0..<2 { for number in 0..<2 { try await stage.sync(number) } }
    try stage.count(1, item, by: 100)
    for _ in 0..<2 { for number in 0..<2 { try await stage.sync(number) } }
    try await stage.settle()
    #expect(stage.value(2, item, "stock") == (hasCounted ? "117" : "115"))
  }

  @Test("Sync-rules 2: what was deleted before a zone began anew stays deleted", arguments: [0, 1])
  func deletedBefore(first: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("deleted")])
    try await stage.settle()
    try stage.delete(0, item)
    try await stage.sync(0)
    try stage.server.renew(.offer)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.hosts[2].image.things[item] == nil)
  }

  @Test(
    "Sync-rules 2: elements that were removed before a zone began anew stay removed",
    arguments: [0, 1])
  func removedBefore(first: Int) async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tags = [try stage.insert(0, "Tag"), try stage.insert(0, "Tag")]
    try stage.relate(0, item, "tags", to: tags)
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tags[1]])
    try await stage.sync(0)
    try stage.server.renew(.offer)
    try await stage.sync(first)
    try await stage.settle()
    #expect(stage.value(2, item, "tags").contains(tags[1].uuidString.lowercased()))
    #expect(!stage.value(2, item, "tags").contains(tags[0].uuidString.lowercased()))
  }
}
