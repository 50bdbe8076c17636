import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The process ends, or the disk fails, at every write of a piece of work, one after the other.
struct CrashTests {
  /// A store with two objects and two transactions, in the log and not yet home.
  private func prepare(_ url: URL) throws -> StoreImage {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for name in ["a", "b"] {
      try store.insert(
        "Item", ["name": .string(name), "picture": .data(Data(repeating: 1, count: 5_000))])
    }
    let image = try StoreImage(of: url)
    store.close()
    return image
  }

  private func objects(_ store: PersistentStore) throws -> Int64 {
    guard
      case .integer(let count)? = try store.read({
        try $0.connection.scalar("SELECT COUNT(*) FROM ZITEM")
      })
    else { return -1 }
    return count
  }

  @Test(
    "F5 F16 Killed at any write, a piece of work is done or undone: the file is sound, rows and log agree",
    arguments: ["save", "purge", "vacuum", "checkpoint"], ["kill", "torn"])
  func killed(work: String, kind: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let image = try prepare(url)
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += 1
      try image.lay(at: url)
      let probe = try Probe.run(work, url, (kind, number))
      wasKilled = probe.wasKilled
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [], "\(work) \(kind) \(number)")
      let history = try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count
      let count = try objects(store)
      let isAcknowledged = probe.lines.first == "done"
      switch work {
      case "save":
        // Unharmed, the process saves a second time.
        #expect(count == 2 || count == 4 || (count == 6 && !wasKilled))
        #expect(history == 2 + (count - 2) / 2)
        if isAcknowledged { #expect(count >= 4, "an acknowledged save is lost") }
      case "purge":
        #expect(history == 2 || history == 0 || !wasKilled)
        if isAcknowledged, wasKilled { #expect(history == 0) }
      default: #expect(count == 2 || !wasKilled)
      }
      // Work goes on from there.
      try store.insert("Item")
      store.close()
    }
    EveryWrite.report(work, kind, number - 1)
    #expect(number > 3, "there were writes to be killed at")
  }

  @Test(
    "F5 Killed at any write, a backup or a store saved as another is there whole or not at all, and the next one succeeds",
    arguments: ["backup", "saveAs"], ["kill", "torn"])
  func killedBackup(work: String, kind: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let copy = url.appendingPathExtension("backup")
    _ = try prepare(url)
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += 1
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: copy.path + suffix)
      }
      wasKilled = try Probe.run(work, url, (kind, number)).wasKilled
      if FileManager.default.fileExists(atPath: copy.path) {
        let store = try PersistentStore.open(url: copy, options: .inspecting(copy))
        #expect(try store.check().findings == [])
        #expect(try objects(store) == 2)
      }
      let original = try PersistentStore.open(url: url, options: .inspecting(url))
      #expect(try objects(original) == 2 || !wasKilled)
      #expect(try original.check().findings == [])
    }
    EveryWrite.report(work, kind, number - 1)
    #expect(number > 3)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: copy.path + suffix)
    }
    #expect(try Probe.run(work, url).lines == ["done"])
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
  }

  @Test(
    "F10 F12 When the disk is full or broken at any write, the save says so, nothing is half done, and the next one succeeds",
    arguments: [("full", "diskFull"), ("broken", "readOrWriteFailed")])
  func failingDisk(kind: String, code: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let image = try prepare(url)
    var number = 0
    var failed = true
    while failed {
      number += 1
      try image.lay(at: url)
      let probe = try Probe.run("save", url, (kind, number))
      failed = probe.lines.first != "done"
      #expect(probe.lines == [failed ? code : "done", "done"], "\(kind) \(number)")
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [])
      #expect(try objects(store) == (failed ? 4 : 6))
      store.close()
    }
    #expect(number > 3)
  }

  @Test(
    "F7 A log that is cut anywhere gives the last whole transaction; without one, what came home")
  func tornLog() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    _ = try prepare(url)
    let store = try PersistentStore.open(url: url)
    for _ in 0..<3 { try store.insert("Item") }
    let image = try StoreImage(of: url)
    store.close()
    let wal = try #require(image.wal)
    var last: Int64 = 2
    for length in Array(stride(from: 0, to: wal.count, by: 1_019)) + [wal.count] {
      try image.lay(at: url)
      try wal.prefix(length).write(to: URL(fileURLWithPath: url.path + "-wal"))
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [])
      let count = try objects(store)
      #expect(count >= last && count <= 5)
      last = count
      store.close()
    }
    #expect(last == 5)
    try image.lay(at: url)
    try FileManager.default.removeItem(atPath: url.path + "-wal")
    let older = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
    #expect(try objects(older) == 2)
    #expect(try older.check().isSound)
  }

  @Test("F8 A flipped byte is found or does no harm; whatever is said is said by a StoreError")
  func flippedByte() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    _ = try prepare(url)
    let bytes = try Data(contentsOf: url)
    var found = 0
    for index in stride(from: 0, to: bytes.count, by: 521) {
      var flipped = bytes
      flipped[index] ^= 0xff
      try flipped.write(to: url)
      do {
        let store = try PersistentStore.open(url: url, options: .inspecting(url))
        if try !store.check().isSound { found += 1 }
      } catch let error as StoreError {
        found += 1
        #expect(!error.suggestion.isEmpty)
      } catch is ModelError {
        found += 1
      }
    }
    #expect(found > 3)
  }

  @Test("Each thing that is no store has its own error")
  func noStores() throws {
    let directory = try TemporaryDirectory()
    func code(_ url: URL, _ options: StoreOptions = StoreOptions(createsFile: false))
      -> StoreError.Code?
    {
      do {
        _ = try PersistentStore.open(url: url, options: options)
        return nil
      } catch { return (error as? StoreError)?.code }
    }
    let url = directory.file("shop.sqlite")
    #expect(code(url) == .cannotOpen, "missing")
    #expect(code(directory.url) == .cannotOpen, "a folder")
    try Data("no database, and long enough to be looked at".utf8).write(to: url)
    #expect(code(url) == .notADatabase)
    _ = try FileManager.default.removeItem(at: url)
    _ = try prepare(url)
    let bytes = try Data(contentsOf: url)
    try bytes.prefix(bytes.count / 2).write(to: url)
    #expect(code(url) == .damaged, "cut in half")
    try bytes.write(to: url)
    #expect(code(url, StoreOptions(isImmutable: true)) == nil)
  }
}
