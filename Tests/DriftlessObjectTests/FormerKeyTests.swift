import Foundation
import Testing

@testable import Driftless

/// Temporary keys that somebody may come with after the save.
struct FormerKeyTests {
  @Test("A context remembers former keys for those who have them, and not for ever")
  func remembered() throws {
    let library = try Library()
    let context = library.container.newContext()
    let first = try context.insert(Tag.self)
    let held = first.objectID
    let asked = try context.insert(Tag.self)
    let predicate = FetchPredicate.comparison(
      FetchComparison(
        .keyPath([]), .equal, .constant(.reference(asked.objectID.providedObjectKey))))
    try context.save()
    let (firstID, askedID) = (first.objectID, asked.objectID)
    #expect(held != firstID)
    for _ in 0..<30 {
      let tags = try (0..<100).map { _ in try context.insert(Tag.self) }
      #expect(Set(tags.map(\.objectID)).count == 100)
      try context.save()
      #expect(tags.allSatisfy { !$0.objectID.isTemporaryID })
    }
    #expect(context.graph.keys.permanentKeyCount <= 1200)
    #expect(context.object(with: held)?.objectID == firstID)
    let found = try context.fetch(FetchRequest<Tag>(entityName: "Tag", predicate: predicate))
    #expect(found.map(\.objectID) == [askedID])
  }
}
