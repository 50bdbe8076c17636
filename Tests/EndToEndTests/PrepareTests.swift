import Foundation
import TestSupport
import Testing

/// `Scripts/prepare` on machines that lack something: stand-ins for the system's programs say what they were asked.
@Suite struct PrepareTests {
  private static let script = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Scripts/prepare")

  /// A machine with some programs, as far as the script sees it.
  private struct Machine {
    let directory: TemporaryDirectory
    var programs: URL { directory.file("bin") }
    var asked: String {
      (try? String(contentsOf: directory.file("asked"), encoding: .utf8)) ?? ""
    }

    init(installed: [String], user: Int = 0, lacks: Set<String> = []) throws {
      directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
      let note = "echo \"$(basename \"$0\") $*\" >>'\(directory.file("asked").path)'"
      let all = [
        "swift": "", "id": "echo \(user)", "apt-get": note,
        "sudo": "\(note)\nexec \"$@\"",
        "dpkg-query":
          "for last; do :; done\ncase \" \(installed.joined(separator: " ")) \" in "
          + "*\" $last \"*) printf 'install ok installed\\n';; *) exit 1;; esac",
      ]
      for (name, body) in all where !lacks.contains(name) {
        let file = programs.appendingPathComponent(name)
        try Data("#!/bin/bash\n\(body)\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
      }
      for name in ["bash", "env", "grep", "basename"] {
        let found = ["/bin/", "/usr/bin/"].map { $0 + name }
          .first { FileManager.default.isExecutableFile(atPath: $0) }
        try FileManager.default.createSymbolicLink(
          atPath: programs.appendingPathComponent(name).path,
          withDestinationPath: try #require(found))
      }
    }

    func prepare() throws -> (status: Int32, errors: String) {
      let process = Process()
      process.executableURL = programs.appendingPathComponent("bash")
      process.arguments = [PrepareTests.script.path]
      process.environment = ["PATH": programs.path]
      let errors = Pipe()
      process.standardError = errors
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      let text = errors.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
  }

  private static let all = ["libsqlite3-dev", "libcurl4-openssl-dev", "zlib1g-dev"]

  @Test("Where all is there, nothing is asked for")
  func complete() throws {
    let machine = try Machine(installed: Self.all)
    #expect(try machine.prepare().status == 0)
    #expect(machine.asked.isEmpty)
  }

  @Test("What is missing is installed, and only that; through sudo for a user who is not root")
  func missing() throws {
    for user in [0, 1000] {
      let machine = try Machine(installed: ["zlib1g-dev"], user: user)
      let outcome = try machine.prepare()
      #expect(outcome.status == 0, "\(outcome.errors)")
      let asked = machine.asked.split(separator: "\n").filter { $0.hasPrefix("apt-get") }
      #expect(
        asked == [
          "apt-get update -qq", "apt-get install -y -qq libsqlite3-dev libcurl4-openssl-dev",
        ])
      #expect(machine.asked.contains("sudo") == (user != 0))
    }
  }

  @Test(
    "Without Swift, apt-get or sudo it says what to do",
    arguments: [
      ("swift", "swift.org/install"), ("apt-get", "headers"), ("sudo", "apt-get install"),
    ])
  func lacking(program: String, advice: String) throws {
    let machine = try Machine(installed: [], user: 1000, lacks: [program])
    let outcome = try machine.prepare()
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(advice), "\(outcome.errors)")
    #expect(machine.asked.isEmpty)
  }
}
