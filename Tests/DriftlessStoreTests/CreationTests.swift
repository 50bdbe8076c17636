import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Processes that make a store at the same moment, or end while they do.
struct CreationTests {
  @Test("Processes that open a missing file at once make one store, and all of them write to it")
  func race() throws {
    let directory = try TemporaryDirectory()
    for round in 0..<12 {
      let url = directory.file("shop\(round).sqlite")
      let probes = try (0..<4).map { _ in try Probe.start(["create", url.path]) }
      for probe in probes { #expect(probe.line() == "ready") }
      for probe in probes { try probe.go() }
      let outcomes = probes.map { $0.line() }
      for probe in probes { #expect(probe.wait() == 0) }
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(outcomes == [String](repeating: store.identifier, count: 4))
      #expect(try store.check().findings == [])
      #expect(try store.check().objectCount == 4)
    }
  }

  @Test("Killed at any write while it makes a store, a process does not hinder the next")
  func killed() throws {
    let directory = try TemporaryDirectory()
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += 1
      let url = directory.file("shop\(number).sqlite")
      wasKilled = try Probe.run("create", url, ("kill", number)).wasKilled
      let next = try Probe.run("create", url)
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(next.lines == ["ready", store.identifier], "\(number)")
      #expect(try store.check().findings == [])
      let count = try store.check().objectCount
      #expect(wasKilled ? (1...2).contains(count) : count == 2)
    }
    #expect(number > 5)
  }
}
