import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What the objects of a context share: who has which key, and what changed.
struct ObjectGraphTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  @Test("A member that was removed, and is to leave as well, is back once its removal is given up")
  func hiddenRemoval() {
    let (member, other) = (ObjectKey(entity: 1, key: 1), ObjectKey(entity: 1, key: 2))
    let state = ToManyState(stored: nil)
    state.remove(member)
    state.read([member, other])
    state.hide([member.key])
    #expect(state.content == [other])
    state.forgetChange(of: member.key)
    #expect(state.content == [member, other])
  }

  @Test(
    "A temporary key that somebody may know leads to the saved object, and one that nobody asked for is forgotten"
  )
  func givenOutKeys() throws {
    let (known, unknown) = (try context.insert(Tag.self), try context.insert(Tag.self))
    let (id, key) = (known.objectID, unknown.key)
    #expect(id.isTemporaryID && context.graph.keys.object(temporary: key) === unknown)
    try context.save()
    #expect(context.graph.keys.permanentKey(for: id.key.key)?.key == known.objectKey)
    #expect(context.graph.keys.permanentKey(for: key) == nil)
    #expect(context.graph.keys.object(temporary: id.key.key) == nil)
    #expect(context.registeredObject(for: id) === known)
  }

  @Test("No temporary key is given twice, whatever becomes of the objects")
  func temporaryKeys() throws {
    var keys: Set<Int64> = []
    for round in 0..<4 {
      let objects = try (0..<3).map { _ in try context.insert(Tag.self) }
      for object in objects { #expect(object.key < 0 && keys.insert(object.key).inserted) }
      #expect(context.graph.keys.newObjects == objects)
      switch round {
      case 0: try context.save()
      case 1: context.rollback()
      case 2: context.reset()
      default: break
      }
      if round < 3 { #expect(context.graph.keys.newCount == 0) }
    }
    let other = library.container.newContext()
    #expect(keys.insert(try other.insert(Tag.self).key).inserted)
  }

  @Test("Objects that nobody holds take themselves out of the map")
  func lettingGo() throws {
    try context.insert(Author.self).name = "Eco"
    try context.save()
    #expect(context.graph.keys.savedObjects.isEmpty)
    let author = try context.fetch(Author.self).first
    #expect(author != nil && context.graph.keys.savedObjects.count == 1)
    context.retainsRegisteredObjects = true
    #expect(context.retainsRegisteredObjects)
    context.reset()
    #expect(context.graph.keys.objects.isEmpty && author?.graph == nil)
    #expect(context.retainsRegisteredObjects)
  }

  @Test(
    "The ledger lists an object once, from its first change to the save, and in each event anew")
  func listing() throws {
    let author = try context.insert(Author.self)
    author.name = "Eco"
    author.name = "Umberto Eco"
    #expect(context.graph.ledger.changed == [author] && context.graph.ledger.inEvent == [author])
    context.processPendingChanges()
    #expect(context.graph.ledger.changed == [author] && context.graph.ledger.inEvent.isEmpty)
    author.name = "U. Eco"
    #expect(context.graph.ledger.changed == [author] && context.graph.ledger.inEvent == [author])
    try context.save()
    #expect(context.graph.ledger.changed.isEmpty && context.graph.ledger.inEvent.isEmpty)
    author.name = "Eco"
    #expect(context.graph.ledger.changed == [author] && context.graph.ledger.inEvent == [author])
    context.rollback()
    #expect(context.graph.ledger.changed.isEmpty && context.graph.ledger.inEvent.isEmpty)
    author.name = "Umberto Eco"
    #expect(context.graph.ledger.changed == [author])
  }
}
