import Driftless
import DriftlessProtocol
import DriftlessSync
import ProgramStart
import SyncDaemon
import Testing

@testable import SyncControl

/// What went wrong, and what to do about it, in one line: two sentences, whatever each of them ends with.
struct FailureTextTests {
  private static let messages = ["It broke", "It broke."]

  @Test("A line of the log has a stop between what went wrong and what to try", arguments: messages)
  func line(message: String) {
    for advice in ["Mend it.", "Run: syncctl doctor", "syncctl doctor"] {
      let line = FailureText.line(message, try: advice)
      #expect(line.hasPrefix("It broke. Try: "), "\(line)")
      #expect(!line.contains("Run: ") && !line.contains(".."), "\(line)")
      let failure = Failure(.failed, code: "failed", message, suggestion: advice)
      #expect("\(failure)" == line)
      #expect(DoctorCheck("file", .bad, failure).detail == line)
    }
    #expect(FailureText.line("Is it?", try: "") == "Is it?")
  }

  @Test("An error as text has one stop before what to do, after its code", arguments: messages)
  func errors(message: String) {
    let store = StoreError(.readOrWriteFailed, message, suggestion: "Mend it.")
    #expect("\(store)" == "It broke [readOrWriteFailed]. Mend it.")
    let sync = SyncError(.brokenLog, message, suggestion: "Mend it.")
    #expect("\(sync)" == "It broke (broken-log). Mend it.")
    let wire = ProtocolError(.busy, message, suggestion: "Mend it.")
    #expect("\(wire)" == "It broke (busy). Mend it.")
    let object = ObjectError(.noStore, message, suggestion: "Mend it.")
    #expect("\(object)" == "It broke. Mend it.")
  }
}
