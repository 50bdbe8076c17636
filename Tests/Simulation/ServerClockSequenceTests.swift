import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

/// Sequences of a server whose clock leapt ahead, was believed, and was put right again by its operator.
struct ServerClockSequenceTests {
  private static let day: Int64 = 24 * 3600 * 1000

  @Test(
    "What nobody had sent when a server's clock leapt goes, and what is edited afterwards stands",
    arguments: [false, true])
  func putRight(isRenewed: Bool) async throws {
    let stage = try await Stage()
    let item = try stage.insert(0, "Item", ["title": .string("first")])
    try await stage.settle()
    // Unsent before the leap, under it, and beside it.
    try stage.set(2, item, ["notes": .string("before the leap, unsent")])
    let early = try stage.insert(2, "Item", ["title": .string("made before the leap")])
    try stage.server.restart(ahead: 300 * Self.day)
    for host in 0...1 { try await stage.sync(host) }
    try stage.set(0, item, ["title": .string("under the leap")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["done": .bool(true)])
    let late = try stage.insert(1, "Item", ["title": .string("made under the leap, unsent")])
    // Right again: without the operator's word it would count on for years.
    try stage.server.restart(ahead: 0)
    let wrong = try await stage.server.zoneInfo().serverTimeMilliseconds
    #expect(Int64(wrong) > Int64(stage.clock.milliseconds) + 299 * Self.day)
    try stage.server.setClockBack()
    let right = try await stage.server.zoneInfo().serverTimeMilliseconds
    #expect(right <= stage.clock.milliseconds)
    if isRenewed { try stage.renew() }
    try await stage.settle()
    for host in 0...2 {
      #expect(stage.value(host, item, "title") == "\"under the leap\"")
      #expect(stage.value(host, item, "notes") == "\"before the leap, unsent\"")
      #expect(stage.value(host, item, "done") == "true")
      #expect(stage.value(host, early, "title") == "\"made before the leap\"")
      #expect(stage.value(host, late, "title") == "\"made under the leap, unsent\"")
    }
    // Who has pulled what is of the wrong time edits after it, and so it goes on from each to the next.
    for (number, host) in [2, 0, 1, 2].enumerated() {
      try stage.set(host, item, ["title": .string("later \(number)")])
      try await stage.settle()
      for other in 0...2 {
        #expect(stage.value(other, item, "title") == "\"later \(number)\"", "\(number)")
      }
    }
    // Of two that do not know of each other's edit, the later one stands.
    try stage.set(0, item, ["title": .string("earlier of two")])
    stage.clock.advance(milliseconds: 5000)
    try stage.set(1, item, ["title": .string("later of two")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(2, item, "title") == "\"later of two\"")
    #expect(stage.server.wentBack == nil)
  }
}
