import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files and folders that a user without rights may not use: each is refused by what is in the way.
struct ObstacleTests {
  /// A folder that only its owner may write, with a store whose log is not home, and nothing else beside it.
  private func prepare() throws -> (TemporaryDirectory, URL) {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    let image = try StoreImage(of: url)
    store.close()
    try image.lay(at: url)
    unlink(url.path + "-driftless-lock")
    for name in [url.path, url.path + "-wal"] { chmod(name, 0o644) }
    return (directory, url)
  }

  private func look(_ url: URL, in folder: URL) throws -> [String] {
    chmod(folder.path, 0o555)
    defer { chmod(folder.path, 0o755) }
    return try Probe.run("look", url).lines
  }

  @Test("A log that cannot be read in a folder that cannot be written is named, with the way out")
  func liveLog() throws {
    let (directory, url) = try prepare()
    let lines = try look(url, in: directory.url)
    #expect(lines.first == "cannotOpen")
    #expect(lines.last?.contains("\(url.path)-wal") == true, "\(lines)")
    // Who has it open has made what reading the log needs.
    let open = try PersistentStore.open(url: url)
    chmod(url.path + "-shm", 0o644)
    #expect(try look(url, in: directory.url) == ["1"])
    open.close()
    let closed = try look(url, in: directory.url)
    #expect(closed.first == "readOnly", "\(closed)")
    #expect(closed.last?.contains("with a log beside it") == true, "\(closed)")
    #expect(try PersistentStore.open(url: url, options: .inspecting(url)).check().isSound)
  }

  @Test("What lies beside a store and is no plain file is named before anybody opens it")
  func sideFiles() throws {
    for suffix in StoreSideFile.suffixes {
      let directory = try TemporaryDirectory()
      let url = directory.file("shop.sqlite")
      try PersistentStore.open(url: url, model: Shop.model()).close()
      let path = url.path + suffix
      for make in [
        { mkdir(path, 0o700) }, { mkfifo(path, 0o600) }, { symlink("nowhere/x", path) },
      ] {
        unlink(path)
        rmdir(path)
        #expect(make() == 0)
        for options in [StoreOptions(), .inspecting(url)] {
          #expect(
            performing: { try PersistentStore.open(url: url, options: options) },
            throws: { error in
              guard let error = error as? StoreError else { return false }
              return error.code == .cannotOpen && error.message.hasPrefix("\(path) is ")
                && error.suggestion.contains(path)
            })
        }
      }
    }
  }

  @Test(
    "What lies behind a link with the name of a side file is not written",
    arguments: StoreSideFile.suffixes)
  func linkedSideFile(suffix: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let other = directory.file("other")
    let content = Data(repeating: 7, count: 100)
    try content.write(to: other)
    unlink(url.path + suffix)
    #expect(symlink("other", url.path + suffix) == 0)
    for work in [
      { try PersistentStore.open(url: url, model: Shop.model()).close() },
      { try PersistentStore.vacuum(at: url) },
      { _ = try SyncLock(path: url.path + suffix) },
    ] {
      let error = #expect(throws: StoreError.self) { try work() }
      #expect(error?.code == .cannotOpen, "\(error as Any)")
    }
    #expect(try Data(contentsOf: other) == content)
  }

  @Test("What may not be read, lies in no folder, or may not be made there is refused as that")
  func rights() throws {
    let (directory, url) = try prepare()
    chmod(url.path, 0o200)
    #expect(
      try look(url, in: directory.url) == ["cannotOpen", "This process may not read \(url.path)."])
    let nowhere = directory.file("absent/shop.sqlite")
    #expect {
      _ = try PersistentStore.open(url: nowhere, model: Shop.model())
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .cannotOpen && error.message.contains("there is no folder")
    }
  }
}
