import Foundation
import TestSupport
import Testing

/// `syncctl` ends, loses its power or finds its disk full at one change of its files after the other, and goes on from there.
@Suite(.serialized) struct KilledClientTests {
  private func counting(_ count: Int) -> String {
    count == 1
      ? #"{"op":"insert","entity":"Item","id":"shared","set":{"name":"shared","count":1}}"#
      : #"{"op":"update","entity":"Item","id":"shared","set":{"count":\#(count)}}"#
  }

  @Test(
    "F1 F5 F6 F16 Killed at any write of a push, and again while it recovers, a replica's edits have one effect",
    arguments: [FileFault.Kind.kill, .torn, .cut, .mangled])
  func push(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    let count = try FileFault.atEachChange { number, count in
      try replica.importLines([FaultWorld.insertion("item\(count)"), counting(count)])
      let outcome = try replica.attempt(["push"], kind, at: number)
      let isOver = !outcome.wasKilled
      // What finds the unfinished push ends as well, sooner and later.
      for again in [2, number] where !isOver {
        _ = try replica.attempt(["push"], kind, at: again)
      }
      if number < 4 || isOver { try replica.expectSound("\(kind) \(number)") }
      return isOver
    }
    for one in [replica, other] { try one.sync() }
    let export = try other.export()
    #expect(try replica.export() == export)
    #expect(export.split(separator: "\n").count == count + 1)
    #expect(export.contains("\"count\":\(count)"), "\(export.suffix(300))")
    #expect(try replica.pendingObjects == 0)
    try replica.expectSound("\(kind) at the end")
  }

  @Test(
    "F2 F5 F6 Killed at any write of a pull, a replica has a page with its cursor, or neither",
    arguments: [FileFault.Kind.kill, .torn, .cut, .mangled])
  func pull(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    let count = try FileFault.atEachChange { number, count in
      try other.importLines([FaultWorld.insertion("item\(count)"), counting(count)])
      try other.run(["push", "--store", other.store.path])
      let isOver = !(try replica.attempt(["pull"], kind, at: number)).wasKilled
      if number < 4 || isOver { try replica.expectSound("\(kind) \(number)") }
      // Every so often nothing goes wrong; else pages add up to what the next attempt takes.
      if count % 4 == 0 || isOver {
        try replica.sync()
        #expect(try replica.export() == other.export(), "\(kind) \(number)")
      }
      return isOver
    }
    #expect(try replica.export().contains("\"count\":\(count)"))
  }

  @Test(
    "F5 F6 F11 Killed at any write of an enrolment, or with a disk that is full or broken from there, a store enrols the next time and is one replica",
    arguments: [FileFault.Kind.kill, .mangled, .full, .broken])
  func enrol(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let other = try world.replica("other")
    try other.importLines([FaultWorld.insertion("theirs")])
    try other.sync()
    let empty = world.directory.file("empty.sqlite")
    let made = try Programs.run(
      "syncctl", ["init", "--store", empty.path, "--model", world.model.path])
    #expect(made.status == 0)
    var number = 1
    var isOver = false
    while !isOver {
      let folder = world.directory.file("\(kind)\(number)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let store = folder.appendingPathComponent("store.sqlite")
      try FileManager.default.copyItem(at: empty, to: store)
      let enrol = [
        "enroll", "--store", store.path, "--server", world.server.address, "--zone", "items",
      ]
      let outcome = try Programs.run(
        "syncctl", enrol,
        environment: FileFault(kind, at: number, below: folder).environment()
          .merging(["SYNCCTL_TOKEN": world.token]) { $1 })
      isOver = outcome.status == 0
      if !isOver, !outcome.wasKilled {
        #expect(outcome.errors.contains("Try:"), "\(kind) \(number): \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count <= 2, "\(outcome.errors)")
      }
      for arguments in [enrol, ["sync", "--store", store.path]] {
        let next = try Programs.run(
          "syncctl", arguments, environment: ["SYNCCTL_TOKEN": world.token])
        #expect(next.status == 0, "\(kind) \(number): \(next.errors)")
      }
      let export = try Programs.run("syncctl", ["export", "--store", store.path])
      #expect(try export.output == other.export(), "\(kind) \(number)")
      number = FileFault.next(after: number, every: 11)
    }
    #expect(number > 4, "there were writes to be killed at")
  }

  @Test(
    "F5 F6 F11 Killed at any write while it gets a new identity, or with a disk that is full or broken from there, a copy is the old store or a new one",
    arguments: [FileFault.Kind.kill, .mangled, .full, .broken])
  func rekey(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1"), counting(1)])
    try replica.sync()
    var (number, isOver) = (1, false)
    while !isOver {
      let folder = world.directory.file("\(kind)\(number)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let copy = folder.appendingPathComponent("store.sqlite")
      #expect(
        try Programs.run("syncctl", ["store", "backup", replica.store.path, copy.path]).status == 0)
      let outcome = try Programs.run(
        "syncctl", ["store", "rekey", copy.path],
        environment: FileFault(kind, at: number, below: folder).environment())
      isOver = outcome.status == 0
      if !isOver, !outcome.wasKilled {
        #expect(outcome.errors.contains("Try:"), "\(kind) \(number): \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count <= 2, "\(outcome.errors)")
      }
      let check = try Programs.run("syncctl", ["store", "check", copy.path])
      #expect(check.status == 0, "\(kind) \(number): \(check.output)")
      let export = try Programs.run("syncctl", ["export", "--store", copy.path])
      #expect(try export.output == replica.export(), "\(kind) \(number)")
      #expect(try Programs.run("syncctl", ["store", "rekey", copy.path]).status == 0)
      number = FileFault.next(after: number)
    }
    #expect(number > 3, "there were writes to be killed at")
  }

  @Test(
    "F11 F12 A disk that is full, broken or loses what it was given: a push and a pull end with it, and go on when it is whole",
    arguments: [FileFault.Kind.full, .broken, .unsynced])
  func failingDisk(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    var (number, count) = (1, 0)
    var failures = 0
    var isOver = false
    while !isOver {
      count += 1
      try replica.importLines([FaultWorld.insertion("a\(count)"), counting(count)])
      try other.importLines([FaultWorld.insertion("b\(count)")])
      try other.sync()
      let outcome = try replica.attempt(["sync"], kind, at: number)
      isOver = outcome.status == 0
      #expect(!outcome.wasKilled)
      if !isOver {
        failures += 1
        #expect(outcome.errors.contains("Try:"), "\(kind) \(number): \(outcome.errors)")
        // What it says is told by status too, where that could be written down.
        if count % 3 == 0 {
          try replica.expectSound("\(kind) \(number)")
          try replica.sync()
          #expect(try replica.pendingObjects == 0)
        }
      }
      number = FileFault.next(after: number)
    }
    #expect(failures > 3)
    for one in [replica, other] { try one.sync() }
    let export = try replica.export()
    #expect(try other.export() == export)
    #expect(export.split(separator: "\n").count == 2 * count + 1)
    #expect(export.contains("\"count\":\(count)"))
  }

  @Test(
    "F6 When the power goes, an import that was acknowledged is there, and of another whole saves")
  func importing() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    var saved = 0
    // The last number is beyond every write: the power goes just after the end.
    for (round, number) in [1, 2, 3, 5, 8, 12, 17, 23, 30, 38, 100_000].enumerated() {
      var lines: [String] = []
      for save in 0..<3 {
        for item in 0..<2 { lines.append(FaultWorld.insertion("r\(round)-\(save)-\(item)")) }
        lines.append(#"{"op":"save"}"#)
      }
      let file = replica.folder.appendingPathComponent("import.jsonl")
      try Data(lines.joined(separator: "\n").utf8).write(to: file)
      let outcome = try Programs.run(
        "syncctl", ["import", "--store", replica.store.path, file.path],
        environment: FileFault(.mangled, at: number, below: replica.folder).environment())
      try replica.expectSound("\(number)")
      let count = try replica.export().split(separator: "\n").count
      #expect((saved...(saved + 6)).contains(count) && count.isMultiple(of: 2), "\(number)")
      if !outcome.wasKilled {
        #expect(outcome.status == 0)
        #expect(count == saved + 6, "acknowledged, and not there: \(number)")
      }
      saved = count
    }
    try replica.sync()
    #expect(try replica.pendingObjects == 0)
  }

  @Test(
    "F13 With too few files to open, a program says so before it begins, loses nothing, and goes on with more"
  )
  func fewFiles() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("before")])
    try replica.sync()
    try replica.importLines([FaultWorld.insertion("after")])
    let configuration = world.directory.file("syncd.json")
    try Data("{\"stores\": [{\"path\": \"\(replica.store.path)\"}]}".utf8).write(to: configuration)
    for files in [4, 5, 6, 8, 16, 24, 32, 64] {
      for program in [
        ["syncctl", "sync", "--store", replica.store.path],
        ["syncd", "--check", "--config", configuration.path],
        ["driftless-server", "zone", "list", "--data", world.server.data.path],
      ] {
        let outcome = try Programs.run(program[0], Array(program.dropFirst()), filesMax: files)
        guard outcome.status != 0 || files < 32 else { continue }
        #expect(outcome.status == 71, "\(program[0]) with \(files): \(outcome)")
        #expect(outcome.errors.contains("more files, and it needs"), "\(program[0]) with \(files)")
        #expect(outcome.errors.contains("Try: Raise the limit"), "\(program[0]) with \(files)")
      }
    }
    #expect(try replica.pendingObjects == 0, "64 files are enough")
    try replica.expectSound("after all")
    try replica.sync()
    let other = try world.replica("b")
    try other.sync()
    #expect(try other.export() == replica.export())
    #expect(try other.export().split(separator: "\n").count == 2)
  }
}
