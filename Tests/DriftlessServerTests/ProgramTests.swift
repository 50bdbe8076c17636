import DriftlessServer
import Foundation
import TestSupport
import Testing

/// The program itself, as scripts use it.
@Suite("driftless-server")
struct ProgramTests {
  private struct Outcome: Sendable {
    let status: Int32
    let output: String
    let errors: String
  }

  private static let program: URL? = ProgramFile.built("driftless-server")

  private static func run(_ arguments: [String]) async throws -> Outcome {
    let program = try #require(program)
    return try await blocking {
      let process = Process()
      process.executableURL = program
      process.arguments = arguments
      let output = Pipe()
      let errors = Pipe()
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      let text = output.fileHandleForReading.readDataToEndOfFile()
      let complaint = errors.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return Outcome(
        status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
        errors: String(decoding: complaint, as: UTF8.self))
    }
  }

  @Test(
    "Zones and tokens: the token stands alone on standard output; errors say what to try",
    .enabled(if: ProgramTests.program != nil))
  func administration() async throws {
    let directory = try TemporaryDirectory()
    let data = ["--data", directory.file("data").path]
    #expect(try await Self.run(["zone", "create", "shop"] + data).status == 0)
    let again = try await Self.run(["zone", "create", "shop"] + data)
    #expect(again.status == 1)
    #expect(again.errors.contains("Try: "))
    let bad = try await Self.run(["zone", "create", "../x"] + data)
    #expect(bad.status == 65)
    let token = try await Self.run(["token", "create", "--zone", "shop"] + data)
    #expect(token.status == 0)
    #expect(token.output.hasSuffix("\n"))
    let text = token.output.dropLast()
    let read = try #require(AccessToken(text: text))
    let listed = try await Self.run(["token", "list", "--json"] + data)
    #expect(listed.output.contains("\"id\":\"\(read.id)\""))
    #expect(!listed.output.contains(read.secret))
    #expect(try await Self.run(["token", "revoke", read.id] + data).status == 0)
    #expect(try await Self.run(["token", "revoke", "nobody"] + data).status == 1)
    #expect(try await Self.run(["token", "create", "--zone", "none"] + data).status == 1)
    #expect(try await Self.run(["token", "create"]).status == 64)
  }

  @Test(
    "A second server on one folder ends with 75 and names the first",
    .enabled(if: ProgramTests.program != nil))
  func secondServer() async throws {
    try await withServer { server in
      let second = try await Self.run([
        "serve", "--data", server.data.path, "--listen", "127.0.0.1:0",
      ])
      #expect(second.status == 75)
      #expect(second.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    }
  }

  @Test(
    "A taken port, and an address off loopback without TLS, refuse the start with a way out",
    .enabled(if: ProgramTests.program != nil))
  func refusedStart() async throws {
    try await withServer { server in
      let directory = try TemporaryDirectory()
      let data = ["--data", try directory.folder("data").path]
      let taken = try await Self.run(["serve", "--listen", "127.0.0.1:\(server.port)"] + data)
      #expect(taken.status == 1)
      #expect(taken.errors.contains("Try: "), "\(taken.errors)")
      #expect(
        taken.errors.contains("cannot listen on 127.0.0.1:\(server.port): Address already in use"),
        "\(taken.errors)")
      #expect(!taken.errors.contains("bind("), "\(taken.errors)")
      let open = try await Self.run(["serve", "--listen", "0.0.0.0:0"] + data)
      #expect(open.status == 1)
      #expect(open.errors.contains("--tls-certificate"), "\(open.errors)")
    }
  }
}
