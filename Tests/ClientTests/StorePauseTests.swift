import Foundation
import TestSupport
import Testing

@testable import SyncDaemon

struct StorePauseTests {
  @Test("A pause ends when the token is replaced, and some seconds after a save")
  func endsEarly() throws {
    let directory = try TemporaryDirectory()
    let entry = DaemonConfiguration.Store(path: directory.file("shop.sqlite"))
    let lock = URL(fileURLWithPath: entry.path.path + "-driftless-lock")
    try Data([1]).write(to: lock)
    let long = StorePause(after: StoreLooks(of: entry), secondsAfterSave: 600)
    let short = StorePause(after: StoreLooks(of: entry), secondsAfterSave: 0)
    #expect(long.endsEarly() == nil)
    #expect(short.endsEarly() == nil)
    // A file system may keep times by the tick.
    usleep(20_000)
    let file = try FileHandle(forWritingTo: lock)
    try file.write(contentsOf: Data([2]))
    try file.close()
    #expect(long.endsEarly() == nil)
    #expect(short.endsEarly() == .saved)
    try TokenFile.write("token", to: TokenFile.url(forStore: entry.path))
    #expect(long.endsEarly() == .access)
  }

  @Test(
    "A pause ends when the store's file becomes another, and when a log is moved out of its way")
  func changedFile() throws {
    let directory = try TemporaryDirectory()
    let entry = DaemonConfiguration.Store(path: directory.file("shop.sqlite"))
    let log = URL(fileURLWithPath: entry.path.path + "-wal")
    try Data([1]).write(to: entry.path)
    try Data([1]).write(to: log)
    let first = StorePause(after: StoreLooks(of: entry), secondsAfterSave: 0)
    #expect(first.endsEarly() == nil)
    try Data([1, 2]).write(to: entry.path)
    #expect(first.endsEarly() == .file)
    let second = StorePause(after: StoreLooks(of: entry), secondsAfterSave: 0)
    #expect(second.endsEarly() == nil)
    try FileManager.default.removeItem(at: log)
    #expect(second.endsEarly() == .file)
  }

  @Test("What is changed during the attempt before a pause ends it as well")
  func changedBefore() throws {
    let directory = try TemporaryDirectory()
    let entry = DaemonConfiguration.Store(path: directory.file("shop.sqlite"))
    let looks = StoreLooks(of: entry)
    #expect(!looks.isAccessChanged && !looks.isSaved)
    try Data([1]).write(to: URL(fileURLWithPath: entry.path.path + "-driftless-lock"))
    #expect(looks.isSaved)
    #expect(StorePause(after: looks, secondsAfterSave: 0).endsEarly() == .saved)
    try TokenFile.write("token", to: TokenFile.url(forStore: entry.path))
    #expect(StorePause(after: looks, secondsAfterSave: 600).endsEarly() == .access)
  }

  @Test("A command that cannot be started for want of files or processes is tried again")
  func fewProcesses() {
    for reason in [EMFILE, ENFILE, EAGAIN, ENOMEM] {
      let failure = Failure.noRoom(for: "The command", reason)
      #expect(failure.isTransient && failure.waitsForRoom)
    }
  }

  @Test("Too few files are a passing want, of a store and of what lies beside it")
  func fewFiles() {
    let failure = Failure.noFileLeft(for: "/a")
    #expect(failure.isTransient && failure.waitsForRoom)
    #expect("\(failure)".hasPrefix("/a cannot be opened"))
  }
}
