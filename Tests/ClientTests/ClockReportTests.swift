import Foundation
import Testing

@testable import DriftlessSync
@testable import SyncControl

/// What `doctor` says of clocks.
struct ClockReportTests {
  private func state(
    _ offset: Int64, _ change: (inout ClockState) -> Void = { _ in }
  ) -> ClockState {
    var state = ClockState(offset: offset, correction: nil, ahead: 0, lead: 0)
    change(&state)
    return state
  }

  @Test("A clock that is right and was never wrong needs no word")
  func right() { #expect(ClockText.report(state(300)) == nil) }

  @Test("A clock that is off is told with by how much, and what to do")
  func off() {
    #expect(
      ClockText.report(state(-3_600_000))
        == "60 min ahead of the zone's; edits carry the zone's time; set this host's clock")
  }

  @Test("Saves that wait with a time ahead are told with what becomes of them")
  func ahead() {
    let text = ClockText.report(
      state(0) {
        $0.ahead = 2
        $0.lead = 7_200_000
      })
    #expect(
      text
        == "2 saves not sent carry times up to 2 h ahead of the zone's: the next sync moves them back to it, in order"
    )
  }
}
