import DriftlessTesting
import Foundation
import Testing

/// Seeded runs through all that befalls replicas, checked against the laws.
///
/// `DRIFTLESS_SEEDS=first-last` runs other seeds, `DRIFTLESS_SEEDS=none` leaves them to `make simulate`, and
/// `DRIFTLESS_SCENARIO=name` runs one scenario alone.
@Suite(.serialized) struct SimulationTests {
  @Test(
    "The laws hold, whatever happens",
    .enabled(if: Campaign.isWanted, "left to make simulate"), arguments: Scenario.all)
  func laws(scenario: Scenario) async {
    let report = await Campaign(scenario).run(Campaign.seeds ?? 1...6)
    for text in report.failures { Issue.record("\(text)") }
  }
}
