import Foundation
import ProgramStart

/// Why a command failed, on standard error: for people, or as JSON with the names that `syncctl` has.
struct Complaint: Encodable {
  let code: String
  let message: String
  /// The exit code.
  let status: Int32
  let suggestion: String

  func put(json: Bool) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard json, let data = try? encoder.encode(["error": self]) else {
      let text = TerminalText.failure(
        of: "driftless-server", "\(message.inOneLine) (\(code))", try: suggestion)
      try? ProgramOutput.write(text, to: STDERR_FILENO)
      return
    }
    try? ProgramOutput.write(data + [0x0A], to: STDERR_FILENO)
  }
}
