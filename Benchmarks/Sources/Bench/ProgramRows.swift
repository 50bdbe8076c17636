import Driftless
import Foundation
import Glibc

/// The programs end to end, as a fleet's hosts and an operator run them: what each step costs in all processes that take
/// part, and how much memory the largest of them took.
struct ProgramRows {
  /// One step at one size.
  struct Row: Codable {
    var name: String
    var objects: Int
    /// Seconds of the processor, of the client and of the server.
    var client: Double
    var server: Double
    var wall: Double
    /// The most memory that a process had resident, in bytes.
    var clientPeak: Int
    var serverPeak: Int

    enum CodingKeys: String, CodingKey {
      case name, objects
      case client = "client_cpu_s"
      case server = "server_cpu_s"
      case wall = "wall_s"
      case clientPeak = "client_peak_bytes"
      case serverPeak = "server_peak_bytes"
    }
  }

  /// Where `syncctl` and `driftless-server` lie.
  let programs: URL
  let folder: URL

  func run(_ sizes: [Int]) throws -> [Row] { try sizes.flatMap(run) }

  private func run(_ objects: Int) throws -> [Row] {
    let work = folder.appendingPathComponent("programs-\(objects)", isDirectory: true)
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    let file = { (name: String) in work.appendingPathComponent(name).path }
    let model = URL(fileURLWithPath: file("graph.xcdatamodel"), isDirectory: true)
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try ModelDocument.xml(of: PackageGraph.model()).write(
      to: model.appendingPathComponent("contents"))
    try PackageGraph.write(objects, to: file("graph.jsonl"))
    let server = try ServerProgram(
      programs.appendingPathComponent("driftless-server"), folder: work)
    defer { server.stop() }
    var rows: [Row] = []
    func step(_ name: String, _ arguments: [String]) throws {
      let before = try server.processorSeconds()
      let start = ContinuousClock.now
      let use = try Program.run(programs.appendingPathComponent("syncctl"), arguments)
      rows.append(
        Row(
          name: name, objects: objects, client: use.processorSeconds,
          server: try server.processorSeconds() - before,
          wall: (ContinuousClock.now - start) / .seconds(1), clientPeak: use.peakBytes,
          serverPeak: try server.peakBytes()))
    }
    for store in ["a", "b", "c"] {
      _ = try Program.run(
        programs.appendingPathComponent("syncctl"),
        ["init", "--store", file("\(store).sqlite"), "--model", model.path])
    }
    let enrolment = ["--server", server.address, "--zone", "bench", "--token-file", file("token")]
    try step("import lines", ["import", "--store", file("a.sqlite"), file("graph.jsonl")])
    try step("enrol", ["enroll", "--store", file("a.sqlite")] + enrolment)
    try step("first push", ["push", "--store", file("a.sqlite"), "--allow-mass-delete"])
    _ = try Program.run(
      programs.appendingPathComponent("syncctl"),
      ["enroll", "--store", file("b.sqlite")] + enrolment)
    try step("pull into an empty replica", ["pull", "--store", file("b.sqlite")])
    try step("status", ["status", "--store", file("b.sqlite")])
    try server.fold()
    _ = try Program.run(
      programs.appendingPathComponent("syncctl"),
      ["enroll", "--store", file("c.sqlite")] + enrolment)
    try step("join by the zone's snapshot", ["pull", "--store", file("c.sqlite")])
    try step("verify", ["verify", "--store", file("c.sqlite")])
    return rows
  }

  static func table(_ rows: [Row]) -> String {
    func pad(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    func seconds(_ value: Double) -> String { pad(String(format: "%.2f s", value), 10) }
    func megabytes(_ value: Int) -> String {
      pad(String(format: "%.0f MB", Double(value) / 1e6), 9)
    }
    var lines = [
      "The programs end to end: seconds of the processor, peak memory",
      pad("objects", 9) + pad("client", 10) + pad("server", 10) + pad("wall", 10)
        + pad("client", 9) + pad("server", 9) + "  work",
    ]
    for row in rows {
      lines.append(
        pad("\(row.objects)", 9) + seconds(row.client) + seconds(row.server) + seconds(row.wall)
          + megabytes(row.clientPeak) + megabytes(row.serverPeak) + "  \(row.name)")
    }
    return lines.joined(separator: "\n")
  }
}

/// Packages, their maintainers and what they depend on: the shape of a distribution's graph, the same in each run.
private enum PackageGraph {
  static func model() -> ManagedObjectModel {
    let package = EntityDescription("Package")
    package.properties = [
      AttributeDescription("name", .string), AttributeDescription("version", .string),
      AttributeDescription("summary", .string), AttributeDescription("size", .integer64),
      AttributeDescription("price", .decimal), AttributeDescription("changed", .date),
      RelationshipDescription("maintainer", to: "Maintainer", inverse: "packages"),
      RelationshipDescription("depends", to: "Package", inverse: "dependents", toMany: true),
      RelationshipDescription("dependents", to: "Package", inverse: "depends", toMany: true),
    ]
    let maintainer = EntityDescription("Maintainer")
    maintainer.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("packages", to: "Package", inverse: "maintainer", toMany: true),
    ]
    return ManagedObjectModel(entities: [maintainer, package])
  }

  /// Writes so many objects as lines that `syncctl import` takes, in pieces.
  static func write(_ count: Int, to path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw BenchError(description: "\(path) cannot be written") }
    defer { try? file.close() }
    let maintainers = max(1, count / 50)
    var text = ""
    func add(_ line: String) throws {
      text += line + "\n"
      guard text.utf8.count > 1 << 20 else { return }
      try file.write(contentsOf: Data(text.utf8))
      text = ""
    }
    for number in 0..<maintainers {
      try add(
        #"{"op":"insert","entity":"Maintainer","id":"m\#(number)","set":{"name":"Maintainer \#(number) of the archive"}}"#
      )
    }
    for number in 0..<(count - maintainers) {
      let depends = number < 3 ? [] : [number / 2, number / 3].map { "\"p\($0)\"" }
      try add(
        #"{"op":"insert","entity":"Package","id":"p\#(number)","set":{"name":"package-\#(number)","#
          + #""version":"1.\#(number % 97)-\#(number % 7)","summary":"Shared library number \#(number &* 7919 % 99991), runtime files","#
          + #""size":\#(number &* 7919 % 1_000_003),"price":"\#(number % 1000).\#(10 + number % 90)","#
          + #""changed":"2026-0\#(1 + number % 9)-1\#(number % 10)T0\#(number % 10):15:00Z","#
          + #""maintainer":"m\#(number % maintainers)","depends":[\#(depends.joined(separator: ","))]}}"#
      )
    }
    try file.write(contentsOf: Data(text.utf8))
  }
}

/// The server on a zone of its own, while it runs.
private final class ServerProgram {
  let address: String
  private let program: URL
  private let data: String
  private let process: pid_t
  /// What the server says; held open so that it can go on to.
  private let output: Int32

  init(_ program: URL, folder: URL) throws {
    self.program = program
    data = folder.appendingPathComponent("server").path
    let token = folder.appendingPathComponent("token").path
    _ = try Program.run(program, ["zone", "create", "bench", "--data", data])
    _ = try Program.run(
      program, ["token", "create", "--zone", "bench", "--data", data], output: .file(token))
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BenchError(description: "pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    output = ends[0]
    process = try Program.start(
      program, ["serve", "--data", data, "--listen", "127.0.0.1:0"], output: .pipe(ends[1]))
    // The pipe ends here when the server ends, so that the wait for its address does.
    close(ends[1])
    guard let address = Self.address(in: output) else {
      kill(process, SIGKILL)
      throw BenchError(description: "the server does not say its address")
    }
    self.address = address
  }

  /// Reads up to the line that says where the server listens; nil when there is no such line.
  private static func address(in output: Int32) -> String? {
    let start = "listening on "
    var line = ""
    var byte: UInt8 = 0
    while true {
      let count = read(output, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return nil }
      guard byte == UInt8(ascii: "\n") else {
        line.unicodeScalars.append(Unicode.Scalar(byte))
        continue
      }
      if line.hasPrefix(start) { return String(line.dropFirst(start.count)) }
      line = ""
    }
  }

  /// Adds the zone's log up. The server is at it by itself from time to time, and is waited for.
  func fold() throws {
    for _ in 0..<600 {
      let process = try Program.start(
        program, ["zone", "fold", "bench", "--data", data], output: .file("/dev/null"))
      if try Program.end(of: process).status == 0 { return }
      usleep(200_000)  // between two tries; the server says to nobody when it is done
    }
    throw BenchError(description: "the zone cannot be folded")
  }

  func processorSeconds() throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      throw BenchError(description: "/proc/\(process)/stat is not as it should be")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  func peakBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
  }

  func stop() {
    kill(process, SIGTERM)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    close(output)
  }
}
