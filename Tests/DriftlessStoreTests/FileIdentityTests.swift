import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Which file a store lies in.
struct FileIdentityTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  private func identity(_ key: ObjectKey, _ store: PersistentStore) throws -> UUID {
    try store.read { try $0.identity(of: key) }
  }

  private func prefix(_ store: PersistentStore) throws -> [UInt8] {
    try store.read { try $0.mintPrefix() }
  }

  private func isCopy(_ store: PersistentStore) throws -> Bool {
    try store.write(TransactionInfo()) { try $0.takeCopyNote() }.0
  }

  @Test(
    "A file that stays where it is stays what it is: opened again, under another name, migrated")
  func same() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let first = try prefix(store)
    store.close()
    for _ in 0..<2 {
      let again = try PersistentStore.open(url: url)
      #expect(try prefix(again) == first && !isCopy(again))
    }
    let moved = directory.file("moved.sqlite")
    try FileManager.default.moveItem(at: url, to: moved)
    #expect(try prefix(PersistentStore.open(url: moved)) == first)
    let model = try Shop.model().copy()
    model.entitiesByName["Tag"]?.properties.append(AttributeDescription("note", .string))
    let migrated = try PersistentStore.open(
      url: moved, model: model, options: StoreOptions(migratesAutomatically: true))
    #expect(try prefix(migrated) == first && !isCopy(migrated))
  }

  @Test(
    "In a copy, what is there keeps its identity, and what comes has one that the original never gives"
  )
  func copied() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let kept = try store.insert("Item")
    let copy = directory.file("copy.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: url.path + suffix, toPath: copy.path + suffix)
    }
    let second = try PersistentStore.open(url: copy)
    #expect(try identity(kept, second) == identity(kept, store))
    let (mine, theirs) = (try store.insert("Item"), try second.insert("Item"))
    #expect(mine == theirs, "the keys are the same")
    #expect(try identity(mine, store) != identity(theirs, second))
    #expect(try isCopy(second))
    #expect(try !isCopy(second), "it is noted once")
    #expect(try !isCopy(store))
    #expect(try second.check().isSound)
  }

  @Test(
    "F61 A backup that is put back is recognised, by whatever way it comes into the original's place",
    arguments: ["replace", "copied over", "moved"])
  func putBack(way: String) throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let kept = try store.insert("Item")
    let backup = directory.file("backup.sqlite")
    try store.backup(to: backup)
    let lost = try store.insert("Item")
    let (keptIdentity, lostIdentity) = (try identity(kept, store), try identity(lost, store))
    store.close()
    switch way {
    case "replace": try PersistentStore.replace(at: url, withStoreAt: backup)
    case "copied over":
      let bytes = try Data(contentsOf: backup)
      let file = try FileHandle(forWritingTo: url)
      try file.write(contentsOf: bytes)
      try file.truncate(atOffset: UInt64(bytes.count))
      try file.close()
    default:
      try FileManager.default.removeItem(at: url)
      try FileManager.default.moveItem(at: backup, to: url)
    }
    let restored = try PersistentStore.open(url: url)
    #expect(try identity(kept, restored) == keptIdentity)
    let next = try restored.insert("Item")
    // By a replacement the key that was given out since is not given out again: who has the store open may still use it.
    #expect(next.key == (way == "replace" ? lost.key + 1 : lost.key))
    #expect(try identity(next, restored) != lostIdentity)
    #expect(try isCopy(restored))
  }

  @Test("F61 An older content that is written back into the same file is recognised, once")
  func writtenBack() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let kept = try store.insert("Item")
    store.close()
    let bytes = try Data(contentsOf: url)
    let again = try PersistentStore.open(url: url)
    #expect(try !isCopy(again))
    let lost = try again.insert("Item")
    let (keptIdentity, lostIdentity) = (try identity(kept, again), try identity(lost, again))
    again.close()
    let file = try FileHandle(forWritingTo: url)
    try file.write(contentsOf: bytes)
    try file.truncate(atOffset: UInt64(bytes.count))
    try file.close()
    let restored = try PersistentStore.open(url: url)
    #expect(try identity(kept, restored) == keptIdentity)
    let next = try restored.insert("Item")
    #expect(next == lost)
    #expect(try identity(next, restored) != lostIdentity)
    #expect(try isCopy(restored))
    restored.close()
    for _ in 0..<2 {
      let later = try PersistentStore.open(url: url)
      #expect(try !isCopy(later))
      try later.deleteHistory(before: Date.distantFuture)
      later.close()
    }
    #expect(try !isCopy(PersistentStore.open(url: url)), "a purge puts nothing back")
  }
}
