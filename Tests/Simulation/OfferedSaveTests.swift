import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sequences of what is offered by who joined by a snapshot, and does not know which saves it is of.
struct OfferedSaveTests {
  /// One save of host 1's makes a box and edits an item that everybody has.
  private func saveBoth(_ stage: Stage, _ item: UUID, title: String) throws {
    try stage.save(1) { context in
      let box = try context.insert(entityNamed: "Box")
      try box.setValue("made", forKey: "name")
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(title, forKey: "title")
    }
  }

  /// Somebody joins by the snapshot, host 1 is put back to before it had sent its save, and the zone begins anew.
  private func putBackAndRenew(
    _ stage: Stage, _ image: [String: Data], order: [Int]
  ) async throws {
    try await stage.server.fold()
    try await stage.addHost()
    try await stage.sync(2)
    try await stage.restore(1, image)
    stage.hosts[1].network.refused = nil
    try stage.renew()
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.hosts[0].image.things.values.count { $0.entity == "Box" } == 1)
  }

  @Test(
    "An edit that was held back of a save whose new object was sent stands in a renewed zone",
    arguments: [[2, 1, 0], [1, 2, 0], [0, 2, 1]])
  func heldBack(order: [Int]) async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try saveBoth(stage, item, title: "refused")
    let image = try stage.backup(1)
    stage.hosts[1].network.refused = "refused"
    try await stage.sync(1)
    #expect(try stage.hosts[1].status.quarantined == 1)
    try await putBackAndRenew(stage, image, order: order)
    #expect(stage.value(0, item, "title") == "\"refused\"")
  }

  @Test(
    "An edit that lost, of a save whose new object was sent, is named by a store that was put back",
    arguments: [[2, 1, 0], [1, 2, 0], [0, 2, 1]])
  func lost(order: [Int]) async throws {
    let stage = try await Stage(.sqlite, hosts: 2)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try saveBoth(stage, item, title: "earlier")
    let image = try stage.backup(1)
    stage.clock.advance(milliseconds: 1000)
    try stage.set(0, item, ["title": .string("later")])
    try await stage.sync(0)
    try await stage.sync(1)
    try await putBackAndRenew(stage, image, order: order)
    #expect(stage.value(0, item, "title") == "\"later\"")
    let entries = try stage.hosts.flatMap { try $0.conflicts }.filter { $0.object == item }
    let told = entries.flatMap { [$0.local, $0.remote] }
    #expect(told.contains("\"earlier\""), "\(entries)")
  }

  @Test(
    "An edit of a save whose new object is offered beside an earlier value of what it edited stands",
    arguments: [false, true])
  func offeredBesideAnEarlierValue(isByTheLog: Bool) async throws {
    let stage = try await Stage(.sqlite, hosts: 3)
    let item = try stage.insert(0, "Item", ["title": .string("everybody's")])
    try await stage.settle()
    try stage.set(2, item, ["title": .string("between")])
    try await stage.sync(2)
    stage.clock.advance(milliseconds: 1000)
    try saveBoth(stage, item, title: "refused")
    let image = try stage.backup(1)
    stage.hosts[1].network.refused = "refused"
    try await stage.sync(1)
    // The last host has the box, and what the title was before the save; the first one has heard of neither.
    if isByTheLog {
      try await stage.sync(2)
    } else {
      try await stage.server.fold()
      try await stage.addHost()
      try await stage.sync(3)
    }
    try await stage.restore(1, image)
    stage.hosts[1].network.refused = nil
    try stage.renew()
    try await stage.sync(0)
    _ = try await stage.hosts[1].engine.pull()
    try await stage.sync(isByTheLog ? 2 : 3)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"refused\"")
    #expect(stage.hosts[0].image.things.values.count { $0.entity == "Box" } == 1)
  }
}
