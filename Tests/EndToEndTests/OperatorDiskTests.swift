import Foundation
import TestSupport
import Testing

/// What an operator's commands say and leave when the disk is full.
struct OperatorDiskTests {
  @Test(
    "F10 A command on a folder whose disk is full, from any write on, says so, and is done when there is room",
    arguments: [["zone", "create", "shop"], ["token", "create", "--zone", "shop"]])
  func full(command: [String]) throws {
    let directory = try TemporaryDirectory()
    var number = 1
    var refused = 0
    while true {
      let data = directory.url.appendingPathComponent("data-\(number)")
      let folder = ["--data", data.path]
      if command[0] == "token" {
        let made = try Programs.run("driftless-server", ["zone", "create", "shop"] + folder)
        try #require(made.status == 0)
      }
      let outcome = try Programs.run(
        "driftless-server", command + folder,
        environment: try FileFault(.full, at: number, below: directory.url).environment())
      if outcome.status == 0 { break }
      refused += 1
      #expect(outcome.status == 74, "write \(number): \(outcome.errors)")
      #expect(outcome.errors.contains("no space left"), "write \(number): \(outcome.errors)")
      #expect(!outcome.errors.contains("SQLite"), "write \(number): \(outcome.errors)")
      let again = try Programs.run("driftless-server", command + folder)
      #expect(again.status == 0, "write \(number): \(again.errors)")
      number += 1
    }
    #expect(refused > 3)
  }
}
