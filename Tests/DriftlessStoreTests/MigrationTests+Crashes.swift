import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The process ends, or the disk fills, at every write of a migration.
extension MigrationTests {
  private func newModelFile(_ directory: TemporaryDirectory) throws -> URL {
    let model = directory.file("New.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try ModelDocument.xml(of: new()).write(to: model.appendingPathComponent("contents"))
    return model
  }

  /// What the ways give that a probe migrates by.
  private func checkMigrated(_ url: URL, _ way: String, _ sample: Sample) throws {
    let store = try PersistentStore.open(url: url, model: new())
    defer { store.close() }
    #expect(try store.check().findings == [])
    #expect(try store.check().objectCount == 5)
    let ann = try store.values(sample.people[0])
    #expect(ann?["fullName"] == .string("Anna"))
    #expect(ann?["nick"] == .string(way == "migrate" ? "ann" : "ANN"))
    let keys = sample.people + sample.cars
    #expect(try store.read { try keys.map($0.identity(of:)) } == sample.identities)
    #expect(try store.read { try $0.setting("syncing") } == .integer(1))
    #expect(try store.historyReaders().map(\.name) == ["app"])
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.count == (way == "migrate" ? 9 : 10))
  }

  @Test(
    "F5 F73 Killed at any write, a store has the one model or the other, whole; the next attempt ends",
    arguments: ["migrate", "map", "stage"], ["kill", "torn"])
  func killed(way: String, fault: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let image = try StoreImage(of: url)
    let model = try newModelFile(directory)
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += EveryWrite.stride(after: number)
      try image.lay(at: url)
      let probe = try Probe.run(way, url, (fault, number), model: model)
      wasKilled = probe.wasKilled
      if !wasKilled { #expect(probe.lines == ["done"]) }
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [], "\(number)")
      #expect(
        store.model.entitiesByName["Person"] != nil || store.model.entitiesByName["Human"] != nil)
      store.close()
      // Not killed, the next attempt finds the store migrated, or starts over.
      #expect(try Probe.run(way, url, ("kill", .max), model: model).lines == ["done"])
      try checkMigrated(url, way, sample)
    }
    EveryWrite.report(way, fault, number - 1)
    #expect(number > 40)
    #expect(!(try partialFiles(directory)))
  }

  private func partialFiles(_ directory: TemporaryDirectory) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
      .contains { $0.contains("partial") }
  }

  @Test(
    "F10 F73 With a full disk the store stays as it is, and is migrated when there is room",
    arguments: ["migrate", "map", "stage"])
  func fullDisk(way: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let image = try StoreImage(of: url)
    let model = try newModelFile(directory)
    var number = 0
    var isDone = false
    while !isDone {
      number += EveryWrite.stride(after: number)
      try image.lay(at: url)
      let probe = try Probe.run(way, url, ("full", number), model: model)
      isDone = probe.lines == ["done"]
      if !isDone {
        #expect(probe.lines == ["diskFull"], "\(number)")
        #expect(!(try partialFiles(directory)))
        let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
        #expect(try store.check().findings == [], "\(number)")
        store.close()
      }
      #expect(try Probe.run(way, url, ("kill", .max), model: model).lines == ["done"])
      try checkMigrated(url, way, sample)
    }
    EveryWrite.report(way, "full", number - 1)
    #expect(number > 40)
  }
}
