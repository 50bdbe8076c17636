import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Copies of stores that sync, made by the tools that people use.
struct CopiedFileTests {
  private let directory: TemporaryDirectory
  private let folder: URL
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("store")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("shop.sqlite")
  }

  private func run(_ script: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", script]
    process.currentDirectoryURL = directory.file("")
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(script)")
  }

  /// A store that syncs, closed.
  private func makeReplica() throws -> (kept: UUID, prefix: [UInt8]) {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let key = try store.insert("Item")
    _ = try store.write(TransactionInfo()) { try $0.setSyncing(true) }
    try store.checkFileIdentity()
    defer { store.close() }
    return try store.read { (try $0.identity(of: key), try $0.mintPrefix()) }
  }

  private func isCopy(_ store: PersistentStore) throws -> Bool {
    try store.write(TransactionInfo()) { try $0.takeCopyNote() }.0
  }

  @Test(
    "S7 A folder that is put back is recognised, whatever the file system says about inodes",
    arguments: [
      "cp -a store/. backup/ && :", "cp -r store/. backup/ && :", "tar -C store -cf b.tar . && :",
    ],
    ["same content", "one more save"])
  func putBack(copy: String, since: String) throws {
    try run("mkdir backup")
    let (kept, prefix) = try makeReplica()
    try run(copy)
    let later = try PersistentStore.open(url: url)
    #expect(try !isCopy(later), "it stays what it is")
    let lost = since == "one more save" ? try later.insert("Item") : nil
    let lostIdentity = try lost.map { key in try later.read { try $0.identity(of: key) } }
    later.close()
    try run(
      copy.hasPrefix("tar")
        ? "tar -C store -xf b.tar"
        : copy.replacingOccurrences(
          of: "store/. backup/", with: "backup/. store/"))
    let restored = try PersistentStore.open(url: url)
    #expect(try restored.read { try $0.key(of: kept) } != nil)
    #expect(try restored.read { try $0.mintPrefix() } != prefix)
    let next = try restored.insert("Item")
    #expect(try restored.read { try $0.identity(of: next) } != lostIdentity)
    #expect(try isCopy(restored))
    restored.close()
    #expect(try !isCopy(PersistentStore.open(url: url)), "once")
    #expect(try PersistentStore.open(url: url).check().isSound)
  }

  @Test("A store that several programs open at once, when it begins to sync, is nobody's copy")
  func openedAtOnce() async throws {
    for round in 0..<30 {
      let url = folder.appendingPathComponent("shop-\(round).sqlite")
      let stores = try (0..<4).map { _ in
        try PersistentStore.open(url: url, model: Shop.model())
      }
      defer { for store in stores { store.close() } }
      _ = try stores[0].write(TransactionInfo()) { try $0.setSyncing(true) }
      try await withThrowingTaskGroup { group in
        for store in stores { group.addTask { try store.checkFileIdentity() } }
        try await group.waitForAll()
      }
      #expect(try stores.allSatisfy { try !isCopy($0) })
    }
  }

  @Test(
    "F61 S7 A file that is removed and copied into its place is another one, also on a freed inode")
  func freedInode() throws {
    let (_, prefix) = try makeReplica()
    try run("cp store/shop.sqlite saved && rm store/shop.sqlite && cp saved store/shop.sqlite")
    let restored = try PersistentStore.open(url: url)
    #expect(try restored.read { try $0.mintPrefix() } != prefix)
    #expect(try isCopy(restored))
  }

  @Test(
    "S7 What changes owners, modes and places of a whole folder makes no copy",
    arguments: ["chmod -R go-w store", "chown -R $(id -u) store", "mv store s2 && mv s2 store"])
  func untouched(script: String) throws {
    let (_, prefix) = try makeReplica()
    try run(script)
    let store = try PersistentStore.open(url: url)
    #expect(try store.read { try $0.mintPrefix() } == prefix)
    #expect(try !isCopy(store))
  }

  @Test("S7 The machine and the time of a file's making tell, where they are known on both sides")
  func identities() throws {
    let one = try #require(FileIdentity(text: "7.100 aabb 9.50"))
    func isSame(_ text: String) -> Bool { FileIdentity(text: text).map(one.isSame) ?? false }
    #expect(isSame("7.100 aabb 9.50") && isSame("7. aabb 9.50") && isSame("7.100  9."))
    #expect(!isSame("7.101 aabb 9.50") && !isSame("8.100 aabb 9.50"))
    #expect(!isSame("7.100 ccdd 9.50") && !isSame("7.100 aabb 9.51") && !isSame("7.100 aabb "))
    #expect(isSame("64769:7") && !isSame("64769:8") && !isSame("copy") && !isSame(""))
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let present = try #require(FileIdentity(of: url.path))
    #expect(FileIdentity(text: present.text) == present)
    #expect(FileStatus(url.path)?.linkCount == 1 && FileStatus(url.path + "x") == nil)
  }

  @Test("F9 Commits that were acknowledged and went with the log are told, until somebody knows")
  func lostCommits() throws {
    let (_, prefix) = try makeReplica()
    let busy = try PersistentStore.open(url: url)
    try busy.insert("Item")
    try run("cp store/shop.sqlite saved")
    busy.close()
    // What is left in the file without its log.
    try run("cat saved > store/shop.sqlite")
    let store = try PersistentStore.open(url: url)
    let lost = try #require(try store.lostCommits())
    #expect(lost.count == 1)
    #expect(try store.read { try $0.mintPrefix() } != prefix)
    store.close()
    let again = try PersistentStore.open(url: url)
    #expect(try again.lostCommits() == lost)
    try again.forgetLostCommits()
    #expect(try again.lostCommits() == nil)
  }
}
