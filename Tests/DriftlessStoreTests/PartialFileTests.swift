import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What lies where a backup is written until it is whole.
struct PartialFileTests {
  private let directory: TemporaryDirectory
  private let store: PersistentStore
  private let target: URL
  private let partial: URL

  init() throws {
    directory = try TemporaryDirectory()
    store = try PersistentStore.open(url: directory.file("shop.sqlite"), model: Shop.model())
    try store.insert("Item", ["name": .string("hammer")])
    target = directory.file("copy.sqlite")
    partial = directory.file(".copy.sqlite.partial")
  }

  private func expectCopy(at location: SourceLocation = #_sourceLocation) throws {
    try store.backup(to: target)
    let copy = try PersistentStore.open(url: target, options: StoreOptions(createsFile: false))
    #expect(try copy.check().objectCount == 1, sourceLocation: location)
    #expect(!FileManager.default.fileExists(atPath: partial.path), sourceLocation: location)
    let mode = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions]
    #expect((mode as? NSNumber)?.intValue == 0o600, sourceLocation: location)
  }

  @Test("A link there leads nobody's file into the copy")
  func link() throws {
    let other = directory.file("other")
    try Data("not to be lost".utf8).write(to: other)
    try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: other)
    try expectCopy()
    #expect(try Data(contentsOf: other) == Data("not to be lost".utf8))
  }

  @Test("A second name of a file there leaves the file as it is")
  func hardLink() throws {
    let other = directory.file("other")
    try Data("not to be lost".utf8).write(to: other)
    try FileManager.default.linkItem(at: other, to: partial)
    try expectCopy()
    #expect(try Data(contentsOf: other) == Data("not to be lost".utf8))
  }

  @Test("A pipe there is waited for by nobody", .timeLimit(.minutes(10)))
  func pipe() throws {
    #expect(mkfifo(partial.path, 0o600) == 0)
    try expectCopy()
  }

  @Test("What a killed one left for others to read is made anew for this user alone")
  func leftOver() throws {
    try Data("half a copy".utf8).write(to: partial)
    chmod(partial.path, 0o666)
    try expectCopy()
  }

  @Test("The lock that a killed one left is nobody's, and goes")
  func leftLock() throws {
    try Data().write(to: NewFile.lockURL(of: target))
    try expectCopy()
    let left = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
      .filter { $0.hasPrefix(".copy") }
    #expect(left == [])
  }

  @Test("While another one writes it, it is busy; a folder there is an error that names it")
  func others() throws {
    let descriptor = open(NewFile.lockURL(of: target).path, O_RDWR | O_CREAT, 0o600)
    #expect(flock(descriptor, LOCK_EX) == 0)
    let busy = #expect(throws: StoreError.self) { try store.backup(to: target) }
    #expect(busy?.code == .busy)
    close(descriptor)
    try expectCopy()
    let second = directory.file("second.sqlite")
    try FileManager.default.createDirectory(
      at: directory.file(".second.sqlite.partial"), withIntermediateDirectories: false)
    let failure = #expect(throws: StoreError.self) { try store.backup(to: second) }
    #expect(failure?.message.contains(".second.sqlite.partial") == true)
  }

  @Test("Who finds another one at the same file has no descriptor of what that one writes")
  func sameTarget() throws {
    try NewFile.write(at: target) { partial in
      let copy = try SQLiteConnection(path: partial.path, mode: .readWriteCreate)
      defer { copy.close() }
      try copy.execute("CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
      let held = HeldLocks(on: partial)
      #expect(!held.locks.isEmpty)
      let busy = #expect(throws: StoreError.self) { try store.backup(to: target) }
      #expect(busy?.code == .busy)
      // A lock that is gone is nobody's any more: another process could take it.
      #expect(held.lost == [])
      try copy.execute("COMMIT")
    }
    #expect(FileManager.default.fileExists(atPath: target.path))
  }

  @Test(
    "A store is not made under the name of another one's side file",
    arguments: ["-wal", "-shm", "-journal", "-driftless-lock"])
  func sideName(suffix: String) throws {
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: directory.file("other.sqlite\(suffix)"), model: Shop.model())
    }
    #expect(error?.code == .invalidArgument)
    #expect(try store.check().objectCount == 1)
  }
}
