import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Both sides did one thing to a set, and then one of them did another.
struct SetSequenceTests {
  /// Two hosts added one pair, the second later, and it has heard of the first's.
  private func addedOnBothSides() async throws -> (Stage, item: UUID, tag: UUID) {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(1, item, "tags", to: [tag])
    _ = try await stage.hosts[1].engine.pull()
    try stage.hosts[1].look()
    return (stage, item, tag)
  }

  @Test("What is made again comes back into a set that is edited here and there")
  func madeAgainIntoAnEditedSet() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tag = UUID()
    try stage.insert(0, "Tag", identity: tag)
    let other = try stage.insert(0, "Tag")
    try await stage.settle()
    // Deleted by somebody who does not know that it is in the set.
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.sync(0)
    try stage.delete(2, tag)
    try await stage.settle()
    try stage.relate(1, item, "tags", to: [other])
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(0, item, "tags", to: [other])
    try await stage.sync(1)
    try stage.insert(1, "Tag", identity: tag)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(0, item, "tags") == stage.value(1, item, "tags"))
  }

  @Test("History says of both ends of a pair that they changed, whatever changed it")
  func historyOfPairs() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let tag = UUID()
    try stage.insert(0, "Tag", identity: tag)
    let item = try stage.insert(0)
    let kept = try stage.insert(0, "Tag")
    try await stage.settle()
    let reader = ManagedObjectContext(stage.hosts[1].coordinator)
    let object = try #require(try reader.object(withIdentity: item))
    let other = try #require(try reader.object(withIdentity: kept))
    var token: PersistentHistoryToken?
    /// How many a context shows that follows history.
    func count(_ object: ManagedObject, _ name: String) throws -> Int? {
      let transactions = try stage.hosts[1].store.fetchHistory(.fetchHistory(after: token))
      token = transactions.last?.token ?? token
      try reader.mergeChanges(fromHistory: transactions)
      return try (object.value(forKey: name) as? any Collection)?.count
    }
    // Deleted by somebody who does not know that it is in a set, and made again.
    try stage.relate(1, item, "tags", to: [tag])
    #expect(try count(object, "tags") == 1)
    #expect(try count(other, "items") == 0)
    try stage.delete(0, tag)
    try await stage.sync(1)
    try await stage.settle()
    #expect(try count(object, "tags") == 0)
    try stage.insert(0, "Tag", identity: tag)
    try await stage.settle()
    #expect(try count(object, "tags") == 1)
    // Named by a new object.
    try stage.save(0) { context in
      let item = try context.insert(entityNamed: "Item")
      try item.setValue([try #require(try context.object(withIdentity: kept))], forKey: "tags")
    }
    try await stage.settle()
    #expect(try count(other, "items") == 1)
  }

  @Test("What comes back into an ordered relationship comes back where it was")
  func placeOfWhatComesBack() async throws {
    let model = Stage.model()
    for name in ["Tag", "Item"] { model.entitiesByName[name]?.deletePolicy = .editWins }
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let item = try stage.insert(0)
    let tags = [
      try stage.insert(0, "Tag"), try stage.insert(0, "Tag"), try stage.insert(0, "Tag"),
    ]
    try await stage.settle()
    // Deleted there, put first here.
    try stage.relate(0, item, "tags", to: tags)
    try stage.set(0, tags[0], ["name": .string("edited")])
    try stage.delete(1, tags[0])
    try await stage.sync(0)
    try await stage.settle()
    for number in 0..<2 {
      #expect(Image.identities(in: stage.value(number, item, "tags")) == tags)
    }
    // The whole object deleted there, and put in another order here.
    try stage.relate(0, item, "tags", to: tags.reversed())
    try stage.delete(1, item)
    try await stage.sync(0)
    try await stage.settle()
    for number in 0..<2 {
      #expect(Image.identities(in: stage.value(number, item, "tags")) == tags.reversed())
    }
  }

  @Test("What left a set with its delete does not come back into it alone")
  func removedByDelete() async throws {
    let model = Stage.model()
    model.entitiesByName["Tag"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    // Two put it in: the one who comes later says it again.
    try stage.relate(0, item, "tags", to: [tag])
    try stage.relate(1, item, "tags", to: [tag])
    try await stage.sync(0)
    _ = try await stage.hosts[1].engine.pull()
    try await stage.push(1)
    try stage.delete(0, tag)
    try await stage.sync(0)
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.settle()
    #expect(stage.value(0, item, "tags") == stage.value(1, item, "tags"))
  }

  @Test("An element that both added, and one of them removed then, is gone everywhere")
  func addedTwiceThenRemoved() async throws {
    let (stage, item, _) = try await addedOnBothSides()
    try stage.relate(1, item, "tags", to: [])
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [])
  }

  @Test(
    "An element that both added, and one of them deleted then, is in the set when an edit brings it back"
  )
  func addedTwiceThenDeleted() async throws {
    let (stage, item, tag) = try await addedOnBothSides()
    try stage.delete(1, tag)
    try stage.set(2, tag, ["name": .string("edited")])
    try await stage.sync(2)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(1, item, "tags")) == [tag])
  }

  @Test("An element that both added stays when a third removes the earlier of the two")
  func addedTwiceAndRemoved() async throws {
    let (stage, item, tag) = try await addedOnBothSides()
    try await stage.sync(2)
    try stage.relate(2, item, "tags", to: [])
    try await stage.sync(2)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }

  @Test(
    "An object and an element of its set, both deleted, are together again when edits bring both back"
  )
  func bothDeletedApart() async throws {
    let stage = try await Stage(.memory, model: Stage.tagged())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.delete(0, item)
    try stage.delete(0, tag)
    try stage.set(1, item, ["title": .string("edited")])
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }

  @Test(
    "An element that both copies had added, and one of them has removed since, is removed",
    arguments: [false, true], [false, true])
  func sharedElement(isSent: Bool, isRemovalFirst: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 2, model: Stage.tagged())
    let tags = try stage.tags(2)
    if isSent { try await stage.settle() }
    let item = try stage.insert(0, "Item")
    if isSent { try await stage.sync(0) }
    try stage.relate(0, item, "tags", to: tags)
    let clone = try stage.clone(0)
    try stage.relate(0, item, "tags", to: [tags[1]])
    try await stage.sync(isRemovalFirst ? 0 : clone)
    try await stage.settle()
    stage.expect(item, has: [tags[1]], not: [tags[0]])
  }

  /// A tag's delete is pending while the delete of an item that had it is answered, or is heard of from a copy of the store.
  /// Then both come back, and the item's set without the tag.
  @Test(
    "A set of what comes back is what the zone says, whatever it was before the delete",
    arguments: [false, true])
  func setOfWhatWasDeleted(isSentByACopy: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 2, model: Stage.tagged())
    let tag = try stage.insert(1, "Tag")
    let item = try stage.insert(1)
    try stage.relate(1, item, "tags", to: [tag])
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [])
    try stage.set(0, tag, ["name": .string("edited")])
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(1, item)
    if isSentByACopy {
      let clone = try stage.clone(1)
      try await stage.push(clone)
    } else {
      stage.hosts[1].network.isDeaf = true
      try? await stage.push(1)
      stage.hosts[1].network.isDeaf = false
    }
    try stage.delete(1, tag)
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.hosts[1].image.things[item] != nil)
    #expect(stage.hosts[1].image.things[tag] != nil)
    #expect(Image.identities(in: stage.value(1, item, "tags")).isEmpty)
  }

  @Test("What is put into a set after the save that made its object is not known to a copy of then")
  func addedAfterTheCopy() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try stage.relate(0, item, "tags", to: [])
    let clone = try stage.clone(0)
    // More than goes in one push: the item is told before the set.
    for _ in 0..<3 { try stage.insert(0, "Box") }
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.sync(0)
    try await stage.sync(clone)
    try await stage.settle()
    stage.expect(item, has: [tag])
  }

  @Test(
    "An element that was taken out after the copy is out, also where the save that put it in is told before"
  )
  func removedAfterTheCopy() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.save(0) { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue("x", forKey: "title")
      try object.setValue([try #require(try context.object(withIdentity: tag))], forKey: "tags")
    }
    let clone = try stage.clone(0)
    for _ in 0..<3 { try stage.insert(0, "Box") }
    try stage.relate(0, item, "tags", to: [])
    try await stage.sync(0)
    try await stage.sync(clone)
    try await stage.settle()
    stage.expect(item, has: [], not: [tag])
  }
}
