import ProgramStart

/// Where a store stands, in one word. Words and exit codes are an interface: they stay.
enum StatusVerdict: String, Encodable, CaseIterable {
  /// Nothing is left to do, here or at the zone, as far as is known.
  case inStep = "in-step"
  /// Edits were not sent.
  case pending
  /// The zone has more than is here: change sets, or large values that somebody asked for.
  case behind
  /// The last sync failed for a reason that time may heal.
  case offline
  /// A person has to do something.
  case waiting
  /// The server or the store refuses.
  case refused
  case notEnrolled = "not-enrolled"

  /// How `status --check` ends.
  var exitCode: Int32 {
    switch self {
    case .inStep: 0
    case .pending: 10
    case .behind: 11
    case .offline: 12
    case .waiting: 13
    case .refused: 14
    case .notEnrolled: 15
    }
  }

  var colour: TerminalColour {
    switch self {
    case .inStep: .green
    case .pending, .behind, .offline, .notEnrolled: .yellow
    case .waiting, .refused: .red
    }
  }

  /// What the word means, for the help text.
  var meaning: String {
    switch self {
    case .inStep: "nothing is left to do, as of the last sync"
    case .pending: "edits were not sent"
    case .behind:
      "the zone has more, large values that were asked for or wait for room here too, what the model has again is still to come, or nothing was pulled so far"
    case .offline: "the last sync failed; time may heal it"
    case .waiting: "a person has to do something"
    case .refused: "the server or the store refuses"
    case .notEnrolled: "the store has no zone"
    }
  }
}
