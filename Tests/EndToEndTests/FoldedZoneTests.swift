import DriftlessSync
import Foundation
import TestSupport
import Testing

/// `driftless-server zone fold` beside a server that serves the zone.
@Suite(.serialized) struct FoldedZoneTests {
  private let world: FaultWorld
  private let writer: EmbeddedReplica

  init() async throws {
    (world, writer) = try await FaultWorld.withLog()
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

  /// Folds with one change after the other gone wrong, from nothing each time.
  private func foldAtEachChange(
    _ kind: FileFault.Kind, few: Int = 4, every step: Int = 3,
    _ after: (Outcome, _ number: Int) async throws -> Void
  ) async throws {
    let rounds = try await FileFault.atEachChange(few: few, every: step) { number, _ in
      try forget()
      let outcome = try fold((kind, number))
      try await after(outcome, number)
      return outcome.status == 0
    }
    #expect(rounds > 5, "there were writes that could go wrong")
  }

  /// That the next fold makes the files that one makes to which nothing happens.
  private func expectGoesOn(to expected: [String: Data], _ comment: String) throws {
    let again = try fold()
    #expect(again.status == 0, "\(comment): \(again.errors)")
    #expect(try snapshot() == expected, "\(comment)")
  }

  @Test(
    "F6 Killed at any write, a fold goes on to the same files",
    arguments: [FileFault.Kind.kill, .torn, .cut, .mangled])
  func killed(kind: FileFault.Kind) async throws {
    #expect(try fold().status == 0)
    let expected = try snapshot()
    try await foldAtEachChange(kind) { _, number in
      try expectGoesOn(to: expected, "\(kind) \(number)")
    }
  }

  @Test(
    "F10 F12 A disk that is full or broken ends a fold with its reason; the next one goes on",
    arguments: [FileFault.Kind.full, .broken, .unsynced])
  func failingDisk(kind: FileFault.Kind) async throws {
    #expect(try fold().status == 0)
    let expected = try snapshot()
    try await foldAtEachChange(kind) { failed, number in
      if failed.status != 0 {
        #expect(failed.errors.contains("snapshots"), "\(failed.errors)")
        if kind == .full { #expect(try left() == [], "\(number): what a fold took is given back") }
      }
      try expectGoesOn(to: expected, "\(kind) \(number)")
    }
  }

  /// What lies in the zone's folder beside its lock.
  private func left() throws -> [String] {
    guard let zone = try? FileManager.default.contentsOfDirectory(atPath: folder.path).first else {
      return []
    }
    return try FileManager.default.contentsOfDirectory(
      atPath: folder.appendingPathComponent(zone).path
    ).filter { $0 != "fold.lock" }
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
    try await foldAtEachChange(.kill, few: 2, every: 3) { _, number in
      try writer.count("after \(number)")
      _ = try await writer.engine.sync()
      let again = try fold()
      #expect(again.status == 0, "\(number): \(again.errors)")
      let head = try SyncEngine.status(of: writer.store).cursor
      #expect(again.output.contains("through \(head): "), "\(number): \(again.output)")
    }
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
