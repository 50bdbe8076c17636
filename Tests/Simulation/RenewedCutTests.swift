import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Edits that no zone had heard of meet, in a zone that began anew, what the one of before had and a delete cut since.
struct RenewedCutTests {
  @Test(
    "An edit that a later word of the former zone had passed is named, where a delete cut that since",
    arguments: [DeletePolicy.deleteWins, .editWins], [[0, 1], [1, 0], [2, 0, 1], [2, 1, 0]])
  func passed(policy: DeletePolicy, order: [Int]) async throws {
    for isAnew in [true, false] {
      let model = Stage.model()
      model.entitiesByName["Box"]?.deletePolicy = policy
      let stage = try await Stage(.memory, model: model)
      let item = try stage.insert(0)
      let boxes = try (0..<2).map { _ in try stage.insert(0, "Box") }
      try await stage.settle()
      try stage.relate(0, item, "box", boxes[0])
      stage.clock.advance(milliseconds: 1000)
      try stage.relate(1, item, "box", boxes[1])
      try await stage.sync(1)
      if isAnew { try stage.renew() }
      stage.clock.advance(milliseconds: 1000)
      try stage.delete(1, boxes[1])
      for host in order { try await stage.sync(host) }
      try await stage.settle()
      let entries = try stage.hosts.flatMap { try $0.conflicts }
      let isThere = stage.value(0, item, "box").contains(boxes[0].uuidString.lowercased())
      #expect(isThere || entries.contains { $0.object == item && $0.property == "box" })
    }
  }

  @Test("Who edited a value finds no conflict with an older one that the former zone had as well")
  func known() async throws {
    let stage = try await Stage(.memory)
    let item = try stage.insert(0, "Item", ["title": .string("a")])
    try await stage.settle()
    stage.clock.advance(milliseconds: 1000)
    try stage.set(1, item, ["title": .string("b")])
    try await stage.sync(1)
    try stage.renew()
    try stage.set(1, item, ["title": .string("c")])
    // It offers what it knew, which is older than what the second one does.
    try await stage.sync(0)
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(2, item, "title") == "\"c\"")
    #expect(try stage.hosts[1].conflicts.isEmpty)
  }
}
