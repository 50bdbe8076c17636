import Foundation
import TestSupport
import Testing

/// The server's status page as a browser shows it: `Tests/Browser/status_page_test.py`.
@Suite(.serialized) struct StatusPageBrowserTests {
  private static func run(_ arguments: [String]) throws -> Outcome {
    let directory = try TemporaryDirectory()
    let log = directory.file("log")
    try Data().write(to: log)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["DRIFTLESS_BIN": Programs.folder.path]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: log)
    process.standardError = process.standardOutput
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: log, encoding: .utf8)
    return Outcome(status: process.terminationStatus, output: text, errors: text)
  }

  /// A program of the name may be there only to say how the browser is installed.
  fileprivate static func isHere() throws -> Bool {
    try ["chromium", "chromium-browser", "google-chrome"].contains {
      try run(["timeout", "60", $0, "--version"]).status == 0
    }
  }

  @Test(
    "The status page in Chromium, light and dark, on a desk and on a phone",
    .enabled("no Chromium: Scripts/prepare chromium") { try StatusPageBrowserTests.isHere() })
  func browser() throws {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Browser/status_page_test.py")
    let outcome = try Self.run(["python3", "-B", script.path])
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.contains("all of it holds"), "\(outcome.output)")
  }
}
