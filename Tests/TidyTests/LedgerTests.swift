import Foundation
import Testing

/// The ledger of Core Data's symbols claims nothing that no test uses.
struct LedgerTests {
  @Test("Each symbol that the page of the module CoreData says is there is used by a test")
  func symbols() throws {
    let output = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", Pages.root.appendingPathComponent("Scripts/core-data-ledger").path, "--tests",
    ]
    process.standardOutput = output
    try process.run()
    let text = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lacking = text.split(separator: "\n").filter { $0.hasSuffix("\tNO TEST") }
    #expect(lacking == [] && process.terminationStatus == 0)
    #expect(text.split(separator: "\n").count > 1000)
  }
}
