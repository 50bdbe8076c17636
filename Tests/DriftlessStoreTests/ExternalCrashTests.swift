import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The process ends, or the disk fails, at every step of a save that writes large values beside the store.
struct ExternalCrashTests {
  private func model() throws -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    photo.properties = [AttributeDescription("name", .string), image]
    return ManagedObjectModel(entities: [photo])
  }

  /// A store with two photos whose images lie in files.
  private func prepare(_ url: URL) throws {
    try? FileManager.default.removeItem(at: ExternalDataFolder(store: url.path).url)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: url.path + suffix)
    }
    let store = try PersistentStore.open(url: url, model: model())
    for byte: UInt8 in [1, 2] {
      try store.insert(
        "Photo",
        ["name": .string("\(byte)"), "image": .data(Data(repeating: byte, count: 200_000))])
    }
    store.close()
  }

  /// Every photo has its own image, whole, and no other file is left once the store was opened and closed.
  private func check(_ url: URL, _ label: Comment) throws -> Int {
    var store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
    let rows = try store.read { try $0.connection.rows("SELECT Z_PK, ZNAME FROM ZPHOTO") }
    for row in rows {
      guard case .integer(let key) = row[0], case .text(let name) = row[1] else { continue }
      let image = try store.values(ObjectKey(entity: 1, key: key))?["image"]
      let byte = try #require(UInt8(name))
      #expect(image == .data(Data(repeating: byte, count: 200_000)), label)
    }
    #expect(try store.check().findings == [], label)
    store.close()
    store = try PersistentStore.open(url: url)
    try store.vacuum()
    store.close()
    #expect(ExternalDataFolder(store: url.path).names.count == rows.count, label)
    return rows.count
  }

  @Test(
    "F5 Killed at any step, every row has its value, and no file is left that none names",
    arguments: ["kill", "torn"])
  func killed(kind: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += 1
      try prepare(url)
      let probe = try Probe.run("photos", url, (kind, number))
      wasKilled = probe.wasKilled
      let label: Comment = "\(kind) \(number)"
      // Before: 1 and 2; after: 2 anew and 3.
      #expect(try check(url, label) == 2, label)
      let names = try PersistentStore.open(url: url).read {
        try $0.connection.rows("SELECT ZNAME FROM ZPHOTO ORDER BY Z_PK").map { $0[0] }
      }
      if wasKilled {
        #expect(names == [.text("1"), .text("2")] || names == [.text("153"), .text("103")], label)
        if probe.lines.first == "done" { #expect(names.first == .text("153"), label) }
      }
    }
    EveryWrite.report("photos", kind, number - 1)
    #expect(number > 12, "two files, their folder, the log and the file were written")
  }

  @Test(
    "F10 F12 A disk that is full, broken or loses what it was given, at any step: the save says so and is undone, the next succeeds",
    arguments: ["full", "broken", "unsynced"])
  func failingDisk(kind: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    var number = 0
    var failures = 0
    var failed = true
    while failed {
      number += 1
      try prepare(url)
      let probe = try Probe.run("photos", url, (kind, number))
      let label: Comment = "\(kind) \(number): \(probe.lines)"
      failed = probe.lines.first != "done"
      #expect(probe.status == 0, label)
      #expect(probe.lines.count == 2, label)
      #expect(probe.lines.last == "done", label)
      if failed {
        failures += 1
        let code = kind == "full" ? "diskFull" : "readOrWriteFailed"
        #expect(probe.lines.first == code, label)
      }
      // What was saved is two photos, before as after.
      #expect(try check(url, label) == 2, label)
    }
    #expect(failures > 4)
  }

  @Test(
    "Where a save does not wait for the disk, it waits for the files of large values all the same")
  func unwaited() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    for number in 1...3 {
      try prepare(url)
      let probe = try Probe.run("photosUnwaited", url, ("unsynced", number))
      // Two files and their folder: the log is waited for when it is copied.
      #expect(probe.lines == ["readOrWriteFailed", "done"], "\(number)")
      #expect(try check(url, "\(number)") == 2)
    }
  }

  @Test("A file that a power cut left empty is told as a loss, and is no value")
  func emptyFile() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    try prepare(url)
    let store = try PersistentStore.open(url: url)
    let folder = ExternalDataFolder(store: url.path)
    for name in folder.names { try Data().write(to: folder.file(name)) }
    for key: Int64 in 1...2 {
      #expect(throws: StoreError.self) {
        try store.values(ObjectKey(entity: 1, key: key))
      }
    }
    let lost = try store.lostValues()
    #expect(lost.count == 2)
  }

  @Test(
    "F12 A disk that loses what it was given fails the save of small values as well, and nothing is half done"
  )
  func unsynced() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    var number = 0
    var failed = true
    while failed {
      number += 1
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: url.path + suffix)
      }
      try PersistentStore.open(url: url, model: Shop.model()).close()
      let probe = try Probe.run("save", url, ("unsynced", number))
      failed = probe.lines.first != "done"
      #expect(probe.lines == [failed ? "readOrWriteFailed" : "done", "done"], "\(number)")
      let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [])
      #expect(
        try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZITEM") }
          == .integer(failed ? 2 : 4))
      store.close()
    }
    #expect(number > 1)
  }

  @Test(
    "F13 A file that one may only read has its own error",
    .enabled(if: getuid() != 0, "root may write everywhere: nobodysRights"))
  func rights() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("album.sqlite")
    try prepare(url)
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: url.path)
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: url).insert("Photo")
    }
    #expect(error?.code == .readOnly || error?.code == .cannotOpen)
  }

  @Test(
    "F13 A file that another user may only read, and a folder where nothing may be made, have their own errors",
    .enabled(if: getuid() == 0, "not root: rights"))
  func nobodysRights() throws {
    let directory = try TemporaryDirectory()
    let manager = FileManager.default
    let program = directory.file("storeprobe")
    try manager.copyItem(at: try #require(Probe.program), to: program)
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.url.path)
    for (file, folder, code) in [(0o444, 0o555, "readOnly"), (0o000, 0o555, "cannotOpen")] {
      let place = directory.file("place")
      try? manager.removeItem(at: place)
      try manager.createDirectory(at: place, withIntermediateDirectories: true)
      let url = place.appendingPathComponent("album.sqlite")
      try prepare(url)
      for name in try manager.contentsOfDirectory(atPath: place.path) where !name.hasPrefix(".") {
        try manager.setAttributes(
          [.posixPermissions: file], ofItemAtPath: place.appendingPathComponent(name).path)
      }
      try manager.setAttributes([.posixPermissions: folder], ofItemAtPath: place.path)
      let probe = try ProgramRun([
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program.path, "photos",
        url.path,
      ])
      #expect(probe.output == code + "\n", "\(String(file, radix: 8))")
    }
  }
}
