import DriftlessSync
import Foundation
import TestSupport
import Testing

/// `driftless-server zone fold` beside a server that serves the zone.
@Suite(.serialized) struct FoldedZoneTests {
  private let world: FaultWorld
  private let writer: EmbeddedReplica

  init() async throws {
    world = try FaultWorld()
    writer = try await world.embedded("writer")
    for number in 0..<12 {
      try writer.count("item\(number)")
      _ = try await writer.engine.sync()
    }
  }

  private var folder: URL { world.server.data.appendingPathComponent("snapshots") }

  private func fold(_ fault: (kind: FileFault.Kind, number: Int)? = nil) throws -> Outcome {
    let environment = try fault.map {
      try FileFault($0.kind, at: $0.number, below: world.server.data).environment()
    }
    return try Programs.run(
      "driftless-server", ["zone", "fold", world.zone, "--data", world.server.data.path],
      environment: environment ?? [:])
  }

  /// The files of the snapshot, and what says so.
  private func snapshot() throws -> [String: Data] {
    let zone = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    let own = folder.appendingPathComponent(zone)
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: own.path)
    where name.hasSuffix(".segment") || name.hasSuffix(".json") {
      files[name] = try Data(contentsOf: own.appendingPathComponent(name))
    }
    return files
  }

  private func forget() throws {
    if FileManager.default.fileExists(atPath: folder.path) {
      try FileManager.default.removeItem(at: folder)
    }
  }

  @Test("A zone is folded while it is served, and the list tells it")
  func folds() async throws {
    let first = try fold()
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.hasPrefix("folded zone items through 12: 2 files, "))
    try writer.count("one more")
    _ = try await writer.engine.sync()
    #expect(try fold().output.hasPrefix("folded zone items through 13: "))
    #expect(try fold().output.hasPrefix("folded zone items through 13: "), "nothing to do")
    let list = try Programs.run(
      "driftless-server", ["zone", "list", "--data", world.server.data.path])
    #expect(list.output.contains("\tsnapshot 13, "))
    let unknown = try Programs.run(
      "driftless-server", ["zone", "fold", "other", "--data", world.server.data.path])
    #expect(unknown.status == 1)
    #expect(unknown.errors.contains("there is no zone other"))
  }

  @Test(
    "F6 Killed at any write, a fold goes on to the same files",
    arguments: [FileFault.Kind.kill, .torn, .cut, .mangled])
  func killed(kind: FileFault.Kind) throws {
    #expect(try fold().status == 0)
    let expected = try snapshot()
    var number = 0
    var isOver = false
    while !isOver {
      number += 1
      try forget()
      isOver = try fold((kind, number)).status == 0
      let again = try fold()
      #expect(again.status == 0, "\(kind) \(number): \(again.errors)")
      #expect(try snapshot() == expected, "\(kind) \(number)")
    }
    #expect(number > 10, "there were writes to be killed at")
  }

  @Test(
    "F10 F12 A disk that is full or broken ends a fold with its reason; the next one goes on",
    arguments: [FileFault.Kind.full, .broken, .unsynced])
  func failingDisk(kind: FileFault.Kind) throws {
    #expect(try fold().status == 0)
    let expected = try snapshot()
    var number = 0
    var isOver = false
    while !isOver {
      number += 1
      try forget()
      let failed = try fold((kind, number))
      isOver = failed.status == 0
      if !isOver { #expect(failed.errors.contains("snapshots"), "\(failed.errors)") }
      #expect(try fold().status == 0, "\(kind) \(number)")
      #expect(try snapshot() == expected, "\(kind) \(number)")
    }
    #expect(number > 5)
  }

  @Test("A server that was put back has its zone folded anew")
  func putBack() async throws {
    let database = world.server.data.appendingPathComponent("driftless.sqlite")
    world.server.kill()
    var copy: [String: Data] = [:]
    for suffix in ["", "-wal"] {
      copy[suffix] = try? Data(contentsOf: URL(fileURLWithPath: database.path + suffix))
    }
    try world.server.start()
    try writer.count("lost")
    _ = try await writer.engine.sync()
    #expect(try fold().output.hasPrefix("folded zone items through 13: "))
    world.server.kill()
    for suffix in ["", "-wal", "-shm"] {
      let file = URL(fileURLWithPath: database.path + suffix)
      try? FileManager.default.removeItem(at: file)
      try copy[suffix]?.write(to: file)
    }
    #expect(try fold().output.hasPrefix("folded zone items through 12: "))
  }

  @Test("Stopped at any write, a fold goes on beside a log that has grown since")
  func stoppedAndGrown() async throws {
    var number = 1
    var isOver = false
    while !isOver {
      try forget()
      isOver = try fold((.kill, number)).status == 0
      try writer.count("after \(number)")
      _ = try await writer.engine.sync()
      let again = try fold()
      #expect(again.status == 0, "\(number): \(again.errors)")
      let head = try SyncEngine.status(of: writer.store).cursor
      #expect(again.output.contains("through \(head): "), "\(number): \(again.output)")
      number = FileFault.next(after: number, few: 2, every: 3)
    }
    #expect(number > 10, "there were writes to be killed at")
  }

  @Test("What is damaged of a snapshot is made anew from the log, and stops nobody")
  func damagedFiles() async throws {
    #expect(try fold().status == 0)
    let expected = try snapshot()
    let zone = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    for name in expected.keys.sorted() {
      let file = folder.appendingPathComponent(zone).appendingPathComponent(name)
      try Data("no such thing".utf8).write(to: file)
      let list = try Programs.run(
        "driftless-server", ["zone", "list", "--data", world.server.data.path])
      #expect(list.status == 0, "\(name): \(list.errors)")
      let newcomer = try await world.embedded("beside damaged \(name.prefix(12))")
      _ = try await newcomer.engine.sync()
      try writer.count("one more")
      _ = try await writer.engine.sync()
      let again = try fold()
      #expect(again.status == 0, "\(name): \(again.errors)")
    }
  }
}
