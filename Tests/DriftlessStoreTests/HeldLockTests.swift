import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// SQLite's locks on a store are the process's, and go when it closes any descriptor of the file: so nothing here opens one.
@Suite("A process's locks on a store")
struct HeldLockTests {
  private let directory: TemporaryDirectory
  private let url: URL
  private let store: PersistentStore

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
    store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item", ["name": .string("hammer")])
  }

  private func expectHeld(
    _ what: Comment, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) rethrows {
    let held = HeldLocks(on: url)
    #expect(held.locks.count >= 2, "the file's, and that of the index", sourceLocation: location)
    try body()
    #expect(held.lost == [], what, sourceLocation: location)
  }

  @Test("They are the same after saves, checks, a copy, and another look at the file")
  func kept() throws {
    try expectHeld("a save") { try store.insert("Item", ["name": .string("nail")]) }
    try expectHeld("the question which file it is") { try store.checkFileIdentity() }
    try expectHeld("the question whose log it is") { try store.checkLog() }
    try expectHeld("a check") { _ = try store.check() }
    try expectHeld("a copy") { try store.backup(to: directory.file("copy.sqlite")) }
    try expectHeld("a vacuum") { try store.vacuum() }
    try expectHeld("another opening") {
      try PersistentStore.open(url: url, options: StoreOptions(createsFile: false)).close()
      try PersistentStore.open(url: url, options: .inspecting(url)).close()
    }
    try expectHeld("a store put in the place of another") {
      try PersistentStore.replace(at: directory.file("other.sqlite"), withStoreAt: url)
    }
  }

  @Test("They are the same after a look at what the file is, and why it cannot be opened")
  func looks() {
    expectHeld("the question whether it is a database") {
      #expect(PersistentStore.isDatabase(url) == true)
    }
    expectHeld("the question whether it is cut off") {
      #expect(StoreObstacle.cutOff(url.path) == nil)
      _ = StoreError(SQLiteError(code: 11, message: "damaged"), path: url.path)
    }
    expectHeld("the question whether it is whole alone") {
      let failure = #expect(throws: StoreError.self) {
        try StoreObstacle.checkWholeWithoutLog(url)
      }
      #expect(failure?.code == .cannotOpen)
    }
    expectHeld("the making of a file that is there") { StoreFile.createPrivate(url) }
  }

  @Test("Another name of the file where a copy is begun is taken away, and not opened")
  func linked() throws {
    let (copy, partial) = (directory.file("copy"), directory.file(".copy.partial"))
    try FileManager.default.linkItem(at: url, to: partial)
    try expectHeld("a new file") {
      try NewFile.write(at: copy) { try Data("new".utf8).write(to: $0) }
    }
    #expect(try Data(contentsOf: copy) == Data("new".utf8))
    #expect(try store.check().objectCount == 1)
  }

  @Test("A file that is made is this user's alone")
  func made() throws {
    let new = directory.file("new.sqlite")
    StoreFile.createPrivate(new)
    let attributes = try FileManager.default.attributesOfItem(atPath: new.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(attributes[.type] as? FileAttributeType == .typeRegular)
  }
}
