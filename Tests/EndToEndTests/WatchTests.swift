import DriftlessSQLite
import Foundation
import TestSupport
import Testing

/// `syncctl watch` as a program.
@Suite(.serialized) struct WatchTests {
  /// A watch in a process of its own, whose lines are in a file.
  private final class Watch {
    let process = Process()
    private let output: URL
    private let errors: URL

    init(_ arguments: [String], in directory: TemporaryDirectory) throws {
      let name = UUID().uuidString
      output = directory.file("\(name).out")
      errors = directory.file("\(name).err")
      for file in [output, errors] { try Data().write(to: file) }
      process.executableURL = Programs.url("syncctl")
      process.arguments = ["watch", "--every", "0.1"] + arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = try FileHandle(forWritingTo: output)
      process.standardError = try FileHandle(forWritingTo: errors)
      try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    var lines: [String] {
      (try? String(contentsOf: output, encoding: .utf8))?.split(separator: "\n").map(String.init)
        ?? []
    }

    /// How often it has read from a file: it does so whenever it looks.
    var reads: Int {
      get throws {
        let path = "/proc/\(process.processIdentifier)/io"
        let counts = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let line = try #require(counts.first { $0.hasPrefix("syscr: ") })
        return try #require(Int(line.dropFirst("syscr: ".count)))
      }
    }

    var notes: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    func end(by signal: Int32) -> Int32 {
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      return process.terminationReason == .exit ? process.terminationStatus : -1
    }
  }

  @Test("A line for each change, the same to two watchers, and Ctrl-C ends them with 130")
  func changes() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    let watches = try [[], ["--json"]].map {
      try Watch(["--store", replica.store.path] + $0, in: world.directory)
    }
    for watch in watches { try eventually("the first line is there") { watch.lines.count == 1 } }
    try replica.sync()
    for watch in watches { try eventually("it is in step") { watch.lines.count == 2 } }
    try replica.importLines([FaultWorld.insertion("1"), FaultWorld.insertion("2")])
    for watch in watches { try eventually("two are pending") { watch.lines.count == 3 } }
    for watch in watches {
      #expect(watch.end(by: SIGINT) == 130)
      #expect(watch.notes.isEmpty, "\(watch.notes)")
    }
    let text = watches[0].lines
    for (line, state) in zip(text, ["behind", "in-step", "pending"]) {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      #expect(fields[0].hasSuffix("Z") && fields[0].count == 24, "\(line)")
      #expect(fields[1] == state, "\(line)")
    }
    #expect(text[2].hasSuffix("pending 2, parked 0, quarantined 0, conflicts 0"), "\(text[2])")
    let object = try JSONSerialization.jsonObject(with: Data(watches[1].lines[2].utf8))
    let last = try #require(object as? [String: Any])
    #expect((last["pending"] as? [String: Any])?["objects"] as? Int == 2)
    #expect(last["state"] as? String == "pending" && last["error"] is NSNull)
  }

  @Test("Many that look at one store at once do not disturb each other")
  func atOnce() async throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try await withThrowingTaskGroup(of: Outcome.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<25 {
            let outcome = try replica.attempt("watch", ["--for", "0"])
            if outcome.status != 0 { return outcome }
          }
          return Outcome(status: 0, output: "", errors: "")
        }
      }
      for try await outcome in group { #expect(outcome.status == 0, "\(outcome)") }
    }
  }

  @Test("It ends with 0 when a state is reached, and with 75 when it was not in time")
  func until() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    let late = try replica.attempt("watch", ["--until", "in-step", "--for", "0.3"])
    #expect(late.status == 75, "\(late)")
    #expect(late.errors.contains("After 0.3 s \(replica.store.path) is behind, and not in-step"))
    #expect(try replica.attempt("watch", ["--for", "0"]).status == 0)
    #expect(try replica.attempt("watch", ["--until", "behind"]).status == 0)
    let watch = try Watch(
      ["--store", replica.store.path, "--until", "in-step"], in: world.directory)
    try eventually("it watches") { watch.lines.count == 1 }
    try replica.sync()
    watch.process.waitUntilExit()
    #expect(watch.process.terminationStatus == 0 && watch.lines.count == 2, "\(watch.lines)")
  }

  @Test("A store that is put aside, replaced and locked is watched on")
  func replaced() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.sync()
    let backup = world.directory.file("backup.sqlite")
    let made = try Programs.run("syncctl", ["store", "backup", replica.store.path, backup.path])
    #expect(made.status == 0, "\(made)")
    let watch = try Watch(["--store", replica.store.path], in: world.directory)
    try eventually("it watches") { watch.lines.count == 1 }
    for name in try FileManager.default.contentsOfDirectory(atPath: replica.folder.path)
    where name.hasPrefix("a.sqlite") {
      unlink(replica.folder.appendingPathComponent(name).path)
    }
    try eventually("it tells that there is none") {
      watch.lines.last?.contains("unreadable    There is no store") == true
    }
    try Data("no store".utf8).write(to: replica.store)
    try eventually("it tells that it is none") { watch.lines.count == 3 }
    try FileManager.default.removeItem(at: replica.store)
    try FileManager.default.copyItem(at: backup, to: replica.store)
    try eventually("it goes on") {
      watch.lines.last.map { !$0.contains("unreadable") } == true
    }
    #expect(watch.process.isRunning)
    let database = try SQLiteConnection(path: replica.store.path, mode: .readWrite)
    defer { database.close() }
    let count = watch.lines.count
    try database.execute("BEGIN EXCLUSIVE")
    for _ in 0..<3 {
      let reads = try watch.reads
      try eventually("it looks, for all that") { try watch.reads > reads }
    }
    try database.execute("ROLLBACK")
    #expect(watch.end(by: SIGINT) == 130)
    #expect(watch.lines.count == count, "\(watch.lines)")
  }

  @Test("All stores of a daemon are watched, and on when it was killed")
  func daemon() throws {
    let world = try FaultWorld()
    let (first, second) = (try world.replica("a"), try world.replica("b c"))
    let daemon = try DaemonProcess(stores: [first.store, second.store], in: world.directory.url)
    let socket = world.directory.file("syncd.sock").path
    try eventually("it answers") {
      try Programs.run("syncctl", ["status", "--socket", socket]).status == 0
    }
    let reached = try Programs.run(
      "syncctl", ["watch", "--socket", socket, "--until", "in-step", "--for", "60"])
    #expect(reached.status == 0, "\(reached)")
    let watch = try Watch(["--socket", socket], in: world.directory)
    try eventually("it watches both") { watch.lines.count == 2 }
    #expect(watch.lines[0].hasSuffix(first.store.path), "\(watch.lines)")
    kill(daemon.pid, SIGKILL)
    try eventually("it tells that nobody answers") { watch.notes.contains("watched on") }
    try first.importLines([FaultWorld.insertion("1")])
    try eventually("it goes on") { watch.lines.last?.contains("pending 1, ") == true }
    let again = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try eventually("it tells that one answers again, and what it keeps") {
      watch.notes.contains("answers again")
        && watch.notes.contains("the daemon keeps \(second.store.path) no more")
    }
    #expect(watch.end(by: SIGINT) == 130)
    #expect(again.stop() == 0)
  }

  @Test("Who reads no more ends it, though nothing changes")
  func closedPipe() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    let outcome = try Programs.run(
      "syncctl", ["watch", "--store", replica.store.path],
      script: #"{ timeout 60 "$0" "$@"; echo "ended with $?" >&2; } | head -n 1"#)
    #expect(outcome.output.contains("behind"), "\(outcome)")
    #expect(outcome.errors == "ended with 0\n", "\(outcome)")
  }
}
