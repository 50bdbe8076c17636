import Driftless
import DriftlessSQLite
import Foundation
import Testing

@testable import DriftlessSync

/// What one row of the journal holds: all that it has together is below a bound.
struct JournalBoundsTests {
  private func entry(_ outcome: JournalEntry.Outcome) -> JournalEntry {
    JournalEntry(
      number: 0, object: UUID(), entity: "Photo", property: "image", policy: "p",
      base: "", local: String(repeating: "l", count: 10),
      remote: String(repeating: "r", count: 10), kept: "k", outcome: outcome, origin: UUID(),
      localTime: HybridTime(rawValue: 1), remoteTime: HybridTime(rawValue: 2), transaction: 0,
      sequence: 1, explanation: "e")
  }

  private func data(_ count: Int) -> PropertyValue { .data(Data(repeating: 7, count: count)) }

  @Test(
    "Of two values that do not fit together the one that lost is kept",
    arguments: [JournalEntry.Outcome.local, .remote, .combined])
  func together(_ outcome: JournalEntry.Outcome) {
    var entry = entry(outcome)
    var values = Journal.Values(local: data(600), remote: data(601), row: [data(5), data(400)])
    JournalBounds(bytesMax: 900).leaveOut(of: &entry, &values)
    #expect(values.local == (outcome == .local ? nil : data(600)))
    #expect(values.remote == (outcome == .local ? data(601) : nil))
    #expect(values.row == [data(5), MissingValue.lost])
  }

  @Test("What fits stays, and one value that does not fit alone leaves the entry")
  func alone() {
    var entry = entry(.remote)
    var values = Journal.Values(local: data(300), remote: data(300), row: [data(200)])
    let (whole, all) = (entry, values)
    JournalBounds(bytesMax: 900).leaveOut(of: &entry, &values)
    #expect(entry == whole && values.local == all.local && values.remote == all.remote)
    #expect(values.row == all.row)
    values = Journal.Values(local: data(1000), remote: data(1001))
    JournalBounds(bytesMax: 900).leaveOut(of: &entry, &values)
    #expect(values.local == nil && values.remote == nil)
    #expect(entry.explanation == "e")
  }
}
