import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sequences of stores that came back to their zone, and of which there are two before they have read its log again: what both
/// have edited since is one edit.
struct ReturnedCopySequenceTests {
  enum Way: CaseIterable { case left, anew }
  enum Copy: CaseIterable { case clone, putBack }

  private func comeBack(_ way: Way, _ number: Int, on stage: Stage) async throws {
    switch way {
    case .left:
      try await stage.hosts[number].unenroll()
      try await stage.hosts[number].enroll(stage.server)
    case .anew: try await stage.hosts[number].beginAnew(stage.server)
    }
  }

  /// Host 1 has an item of host 0's, comes back, edits it, and is there twice. One of the two syncs, host 0 edits what that
  /// sent, and the other one syncs.
  private func value(
    of property: String, _ values: [String: PropertyValue], _ way: Way, _ copy: Copy,
    on stage: Stage, edit: (UUID) throws -> Void, then editAgain: (UUID) throws -> Void
  ) async throws -> String {
    let item = try stage.insert(0, "Item", values)
    try await stage.settle()
    try await comeBack(way, 1, on: stage)
    try edit(item)
    switch copy {
    case .clone:
      let clone = try stage.clone(1)
      try await stage.sync(1)
      try await stage.sync(0)
      try editAgain(item)
      try await stage.sync(0)
      try await stage.sync(clone)
    case .putBack:
      let backup = try stage.backup(1)
      try await stage.sync(1)
      try await stage.sync(0)
      try editAgain(item)
      try await stage.sync(0)
      try await stage.restore(1, backup)
      try await stage.sync(1)
    }
    try await stage.settle()
    return stage.value(0, item, property)
  }

  @Test(
    "A store that came back, counted, and is there twice before it syncs, counts once",
    arguments: Way.allCases, Copy.allCases)
  func count(way: Way, copy: Copy) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let value = try await value(
      of: "stock", ["stock": .integer(5)], way, copy, on: stage,
      edit: { try stage.count(1, $0, by: 14) }, then: { try stage.count(0, $0, by: 100) })
    #expect(value == "119")
  }

  @Test(
    "What each of two counts after they parted is counted beside what both have",
    arguments: Way.allCases)
  func ownCounts(way: Way) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(5)])
    try await stage.settle()
    try await comeBack(way, 1, on: stage)
    try stage.count(1, item, by: 14)
    let clone = try stage.clone(1)
    try stage.count(1, item, by: 100)
    try stage.count(clone, item, by: 1000)
    for number in [1, clone, 0] { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "stock") == "1119")
  }

  @Test(
    "What was edited after a store that came back had sent its text stands against the copy that did not know",
    arguments: Way.allCases, Copy.allCases)
  func text(way: Way, copy: Copy) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let value = try await value(
      of: "notes", ["notes": .string("one two")], way, copy, on: stage,
      edit: { try stage.set(1, $0, ["notes": .string("one plus two")]) },
      then: { try stage.set(0, $0, ["notes": .string("one two three")]) })
    #expect(value == "\"one two three\"")
  }

  @Test(
    "A word that was taken out after a store that came back had put it in stays out",
    arguments: Way.allCases, Copy.allCases)
  func union(way: Way, copy: Copy) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let value = try await value(
      of: "words", ["words": .string("a")], way, copy, on: stage,
      edit: { try stage.set(1, $0, ["words": .string("a b")]) },
      then: { try stage.set(0, $0, ["words": .string("a")]) })
    #expect(value == "\"a\"")
  }

  @Test(
    "An element that was taken out after a store that came back had put it in stays out",
    arguments: Way.allCases, Copy.allCases)
  func elements(way: Way, copy: Copy) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let tags = try stage.tags(2)
    let value = try await value(
      of: "tags", [:], way, copy, on: stage,
      edit: { try stage.relate(1, $0, "tags", to: tags) },
      then: { try stage.relate(0, $0, "tags", to: [tags[0]]) })
    #expect(Image.identities(in: value) == [tags[0]])
  }

  @Test(
    "Where two of a store knew a zone apart that began anew, each count is in the total once",
    arguments: [[1, 2], [2, 1]])
  func knewApart(order: [Int]) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let item = try stage.insert(0, "Item", ["stock": .integer(5)])
    try await stage.settle()
    try stage.count(1, item, by: 14)
    let clone = try stage.clone(1)
    // The clone alone knows a later total in the end, and both have one count that nobody heard of.
    let backup = try stage.backup(0)
    try stage.count(0, item, by: 100)
    try await stage.sync(0)
    _ = try await stage.hosts[clone].engine.pull()
    try stage.renew()
    try await stage.restore(0, backup)
    for number in order + [0] { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "stock") == "119")
  }
}
