import Foundation
import TestSupport
import Testing

/// The ledger of Core Data's symbols claims nothing that no test uses.
struct LedgerTests {
  @Test("Each symbol that the page of the module CoreData says is there is used by a test")
  func symbols() throws {
    let ledger = try ProgramRun([
      "python3", Pages.root.appendingPathComponent("Scripts/core-data-ledger").path, "--tests",
    ])
    let lacking = ledger.lines.filter { $0.hasSuffix("\tNO TEST") }
    #expect(lacking == [] && ledger.status == 0)
    #expect(ledger.lines.count > 1000)
  }
}
