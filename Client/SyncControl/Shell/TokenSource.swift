import Foundation
import SyncDaemon

/// Where `enroll` takes the token from: a file, the environment, or the person at the terminal.
struct TokenSource {
  static let variable = "SYNCCTL_TOKEN"

  var file: String?

  func token() throws(Failure) -> String {
    if let file { return try TokenFile.read(URL(fileURLWithPath: file)) }
    if let text = ProcessInfo.processInfo.environment[Self.variable], !text.isEmpty {
      return try TokenFile.token(in: text, from: Self.variable)
    }
    guard let typed = TokenPrompt.answer(to: "Token: ") else {
      throw Failure(
        .usage, code: "no-token", "There is no token, and no terminal to ask for it.",
        suggestion: "syncctl enroll … --token-file FILE, or set \(Self.variable)")
    }
    return try TokenFile.token(in: typed, from: "The answer")
  }
}
