import Driftless
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// By which rules the program before merged, where the model of now has one version with it and other rules.
@Suite struct MergeRulesTests {
  private func model(_ policy: ConflictPolicy?, _ deletes: DeletePolicy = .deleteWins)
    -> ManagedObjectModel
  {
    let item = EntityDescription("Item")
    item.deletePolicy = deletes
    item.properties = [
      AttributeDescription("name", .string),
      AttributeDescription("stock", .integer64, conflictPolicy: policy),
    ]
    return ManagedObjectModel(entities: [item])
  }

  @Test("A store that syncs knows by which rules, and a program with other ones finds out which")
  func noted() async throws {
    var fleet = try await Fleet(1, model(.counter))
    try fleet[0].insert("Item", ["name": .string("a")])
    try await fleet.sync(0)
    let former = try #require(try fleet[0].store.read { try MergeRules.load($0) })
    #expect(former == MergeRules(fleet[0].store.model))
    try await fleet.migrate(0, to: model(.max, .editWins))
    try await fleet.sync(0)
    let rules = try #require(try fleet[0].store.read { try MergeRules.load($0) })
    #expect(
      rules.changes(since: former)
        == ["Item.stock: max, was counter", "Item: editWins, was deleteWins"])
    #expect(try SyncEngine.check(fleet[0].store).isSound)
  }

  @Test("What only one of two models has is no change of its rule")
  func another() throws {
    let (one, two) = (model(nil), model(.counter))
    let more = EntityDescription("More")
    more.properties = [AttributeDescription("count", .integer64, conflictPolicy: .counter)]
    two.entities.append(more)
    for model in [one, two] { try model.freeze() }
    #expect(
      MergeRules(two).changes(since: MergeRules(one)) == ["Item.stock: counter, was lastWriterWins"]
    )
    #expect(
      MergeRules(one).changes(since: MergeRules(two)) == ["Item.stock: lastWriterWins, was counter"]
    )
  }
}
