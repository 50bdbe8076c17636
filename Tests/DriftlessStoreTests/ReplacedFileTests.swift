import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A store whose files are moved, removed or replaced while it is open.
@Suite(.timeLimit(.minutes(5))) struct ReplacedFileTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  private func file(_ suffix: String) -> String { url.path + suffix }

  private func begin(_ count: Int = 3) throws -> PersistentStore {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for number in 0..<count { try store.insert("Item", ["name": .string("item \(number)")]) }
    return store
  }

  private func count(_ store: PersistentStore) throws -> Int64 {
    let count = try store.read { try $0.connection.scalar("SELECT count(*) FROM ZITEM") }
    guard case .integer(let number)? = count else { return -1 }
    return number
  }

  private func expectRefused(
    _ store: PersistentStore, naming name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(store.isReplaced, sourceLocation: sourceLocation)
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
      try store.insert("Item", ["name": .string("into nowhere")])
    }
    #expect(error?.code == .fileReplaced, sourceLocation: sourceLocation)
    #expect(
      error?.message.contains(name) == true, "\(error as Any)", sourceLocation: sourceLocation)
    #expect(
      error?.suggestion.contains("pen the store") == true, "\(error as Any)",
      sourceLocation: sourceLocation)
    // Reads look some times a second.
    let end = ContinuousClock.now + .seconds(60)
    var code: StoreError.Code?
    while code == nil, ContinuousClock.now < end {
      do { _ = try count(store) } catch let error as StoreError { code = error.code }
    }
    #expect(code == .fileReplaced, sourceLocation: sourceLocation)
  }

  @Test(
    "What a log held that was removed is saved as the store is closed, and nothing is written after",
    arguments: ["-wal", "-shm", "-driftless-lock"])
  func removed(suffix: String) throws {
    let store = try begin()
    #expect(!store.isReplaced)
    unlink(file(suffix))
    try expectRefused(store, naming: file(suffix))
    store.close()
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 3)
    #expect(try again.lostCommits() == nil, "nothing is lost")
    try again.insert("Item", ["name": .string("after")])
    #expect(try again.check().isSound)
  }

  @Test(
    "What SQLite says of a file that took the store's place is told as that, and as no fault of the disk"
  )
  func otherFileMeanwhile() throws {
    let store = try begin()
    // A connection more is opened while one reads.
    let error = try store.read { _ in
      rename(url.path, file(".away"))
      try Data("no database at all, as anybody can see".utf8).write(to: url)
      return #expect(throws: StoreError.self) { _ = try count(store) }
    }
    #expect(error?.code == .fileReplaced, "\(error as Any)")
    #expect(error?.message.contains(url.path) == true)
  }

  @Test("What is put beside a store while it is opened is told from what its opening makes there")
  func lookBefore() throws {
    try begin().close()
    let (now, later) = (Date(timeIntervalSinceNow: -60), Date(timeIntervalSinceNow: 3_600))
    let made = OpenedFiles.Look(url: url, at: now)
    // Of before, when it is an hour later.
    let put = OpenedFiles.Look(url: url, at: later)
    let store = try PersistentStore.open(url: url)
    #expect(!made.isChanged && put.isChanged)
    store.close()
    #expect(!put.isChanged)
    rename(url.path, file(".away"))
    #expect(made.isChanged, "it is gone")
    let none = OpenedFiles.Look(url: url, at: now)
    let fresh = try begin()
    #expect(!none.isChanged && made.isChanged)
    fresh.close()
  }

  @Test("A store that another process has open since the log was removed is as it was for both")
  func removedUnderTwo() throws {
    let (first, second) = (try begin(), try PersistentStore.open(url: url))
    try second.insert("Item", ["name": .string("second")])
    unlink(file("-wal"))
    for store in [first, second] {
      #expect(throws: StoreError.self) { try store.insert("Item", ["name": .string("no")]) }
    }
    first.close()
    let third = try PersistentStore.open(url: url)
    #expect(try count(third) == 4)
    try third.insert("Item", ["name": .string("third")])
    second.close()
    #expect(try third.check().isSound)
    #expect(try count(third) == 5)
    #expect(try third.lostCommits() == nil)
  }

  @Test("Nobody opens a store whose log was removed before who has it open has saved what it held")
  func openedMeanwhile() throws {
    let store = try begin()
    unlink(file("-wal"))
    for options in [StoreOptions(), StoreOptions(isReadOnly: true, createsFile: false)] {
      let error = #expect(throws: StoreError.self) {
        try PersistentStore.open(url: url, options: options)
      }
      #expect(error?.code == .busy)
      #expect(error?.message.contains("was removed. This process itself has it") == true)
    }
    #expect(FileNumber.size(of: file("-wal")) ?? 0 == 0, "nobody has begun another log")
    store.close()
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 3)
    #expect(try again.lostCommits() == nil)
  }

  @Test(
    "An older content that is written into a file whose log is empty waits for nobody, and is told as lost saves"
  )
  func olderContent() throws {
    let store = try begin(1)
    store.checkpointNow()
    let older = try Data(contentsOf: url)
    try store.insert("Item", ["name": .string("lost")])
    store.checkpointNow()
    #expect(FileNumber.size(of: file("-wal")) == 0)
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: older)
    try handle.truncate(atOffset: UInt64(older.count))
    try handle.close()
    let again = try PersistentStore.open(url: url)
    #expect(try again.lostCommits()?.count == 1)
    #expect(try count(again) == 1)
  }

  /// Writes what another file has into the store's, as `cp` does, which changes neither its number nor its log.
  private func copyOver(_ bytes: Data) throws {
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: bytes)
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.close()
  }

  /// Another store of the same model, made in the same steps.
  private func bytesOfAnother() throws -> Data {
    let other = directory.file("other.sqlite")
    let store = try PersistentStore.open(url: other, model: Shop.model())
    for number in 0..<3 { try store.insert("Item", ["name": .string("other \(number)")]) }
    store.close()
    return try Data(contentsOf: other)
  }

  @Test(
    "Another store that is copied over the file in place is noticed by the next transaction, and stays as it is"
  )
  func anotherContent() throws {
    let store = try begin()
    store.checkpointNow()
    #expect(FileNumber.size(of: file("-wal")) == 0)
    #expect(try count(store) == 3)
    let bytes = try bytesOfAnother()
    try copyOver(bytes)
    #expect(store.isReplaced)
    for _ in 0..<2 {
      var error = #expect(throws: StoreError.self) {
        try store.insert("Item", ["name": .string("into another")])
      }
      #expect(error?.code == .fileReplaced)
      error = #expect(throws: StoreError.self) { try count(store) }
      #expect(error?.code == .fileReplaced)
    }
    store.close()
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("A transaction under which the file is copied over is taken back")
  func anotherContentMeanwhile() throws {
    let store = try begin()
    store.checkpointNow()
    let bytes = try bytesOfAnother()
    let error = #expect(throws: StoreError.self) {
      try store.write(TransactionInfo()) { transaction in
        let entity = try #require(store.model.entitiesByName["Item"])
        let key = try transaction.allocateKeys(entity, count: 1).lowerBound
        try transaction.insert(
          entity, key, values: entity.layout.slots.map { $0.isToMany ? .null : $0.defaultValue })
        try copyOver(bytes)
      }
    }
    #expect(error?.code == .fileReplaced)
    store.close()
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("Nothing is saved over another store either where the log has pages")
  func anotherContentBesideLog() throws {
    let store = try begin()
    store.checkpointNow()
    try store.insert("Item", ["name": .string("in the log")])
    let bytes = try bytesOfAnother()
    try copyOver(bytes)
    let error = #expect(throws: StoreError.self) {
      try store.insert("Item", ["name": .string("into another")])
    }
    #expect(error?.code == .fileReplaced)
    store.close()
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("An older content of the store that is copied over the file is noticed as well")
  func olderContentInPlace() throws {
    let store = try begin()
    store.checkpointNow()
    let older = try Data(contentsOf: url)
    try store.insert("Item", ["name": .string("lost")])
    store.checkpointNow()
    try copyOver(older)
    let error = #expect(throws: StoreError.self) {
      try store.insert("Item", ["name": .string("on nothing")])
    }
    #expect(error?.code == .fileReplaced)
    store.close()
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 3)
    #expect(try again.check().isSound)
  }

  @Test("A removed log of a copied file is saved, whatever the file itself noted of where it was")
  func removedOfCopy() throws {
    try begin(1).close()
    let copy = directory.file("copy.sqlite")
    try FileManager.default.copyItem(at: url, to: copy)
    let store = try PersistentStore.open(url: copy)
    try store.insert("Item", ["name": .string("in the copy")])
    unlink(copy.path + "-wal")
    store.close()
    let again = try PersistentStore.open(url: copy)
    #expect(try count(again) == 2)
    #expect(try again.lostCommits() == nil)
  }

  @Test("A log put in the place of the store's is not written, and the store says what is lost")
  func olderLog() throws {
    let store = try begin(1)
    let older = try Data(contentsOf: URL(fileURLWithPath: file("-wal")))
    for number in 0..<2 { try store.insert("Item", ["name": .string("lost \(number)")]) }
    unlink(file("-wal"))
    try older.write(to: URL(fileURLWithPath: file("-wal")))
    try expectRefused(store, naming: file("-wal"))
    store.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: file("-wal"))) == older)
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 1)
    #expect(try again.lostCommits()?.count == 2)
    #expect(try again.check().isSound)
  }

  @Test("A backup that is written into the file whose log was removed stands as it is")
  func writtenOver() throws {
    let store = try begin(1)
    let backup = directory.file("backup.sqlite")
    try store.backup(to: backup)
    try store.insert("Item", ["name": .string("after the backup")])
    unlink(file("-wal"))
    let bytes = try Data(contentsOf: backup)
    try bytes.write(to: url)
    store.close()
    #expect(try Data(contentsOf: url) == bytes)
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 1)
    #expect(try again.lostCommits()?.count == 1)
    #expect(try again.check().isSound)
  }

  @Test("F80 A store that is moved away is left as it is, and goes on when it is back")
  func moved() throws {
    let store = try begin()
    let away = directory.file("away.sqlite")
    for suffix in ["", "-wal", "-shm"] { rename(file(suffix), away.path + suffix) }
    let before = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: away.path + $0)) }
    try expectRefused(store, naming: url.path)
    for suffix in ["", "-wal", "-shm"] { rename(away.path + suffix, file(suffix)) }
    try store.insert("Item", ["name": .string("back")])
    for suffix in ["", "-wal", "-shm"] { rename(file(suffix), away.path + suffix) }
    #expect(before.count == 2)
    store.close()
    let there = try PersistentStore.open(url: away)
    #expect(try count(there) == 4)
    #expect(try there.check().isSound)
  }

  @Test("A store that is closed says so, and not that the files beside it are gone")
  func closed() throws {
    let store = try begin()
    store.close()
    #expect(!store.isReplaced)
    let end = ContinuousClock.now + StoreTuning.filesLookInterval * 3
    repeat {
      let error = #expect(throws: StoreError.self) { try count(store) }
      #expect(error?.code == .cannotOpen)
    } while ContinuousClock.now < end
    let error = #expect(throws: StoreError.self) { try store.insert("Item") }
    #expect(error?.code == .cannotOpen)
  }

  @Test("Who has a store's former file open does the one in its place no harm")
  func replaced() throws {
    let store = try begin()
    for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file"] {
      rename(file(suffix), directory.file("former").path + suffix)
    }
    let other = try PersistentStore.open(url: url, model: Shop.model())
    try other.insert("Item", ["name": .string("other")])
    other.checkpointNow()
    try expectRefused(store, naming: url.path)
    // SQLite would remove the log of the file that has the name now.
    store.close()
    #expect(!other.isReplaced)
    try other.insert("Item", ["name": .string("other")])
    #expect(try count(other) == 2)
    other.close()
    let again = try PersistentStore.open(url: url)
    #expect(try count(again) == 2)
    #expect(try again.check().isSound)
  }

  @Test("A connection that is made for one more reader does not read another file")
  func anotherReader() throws {
    let store = try begin()
    try store.read { _ in
      for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file"] {
        rename(file(suffix), directory.file("former").path + suffix)
      }
      let other = try PersistentStore.open(url: url, model: Shop.model())
      try other.insert("Item", ["name": .string("other")])
      let error = #expect(throws: StoreError.self) {
        try store.connections.withReader { _ in
          try store.connections.withReader { _ in }
        }
      }
      #expect(error?.code == .fileReplaced)
    }
  }
}
